"""SmolLM2 by transformers, from the weights of its GGUF file: the reference for both backends.

Run by tools/golden/make, or on its own in its environment:

    .cache/golden/venv/bin/python tools/golden/smollm2.py SmolLM2-135M-Instruct.Q4_1.gguf tests/golden/smollm2

The file's quantized blocks are converted to float32 by the package `gguf` (NumPy), not by ggml; query and key rows are
reordered for Hugging Face here as well; the tokenizer is built by `tokenizers` from the file's vocabulary. So neither
attnflow nor libllama takes part. float32, eager attention, one thread.
"""

import sys
from pathlib import Path

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from golden_io import write_json, write_npz
from prompts import PROMPTS

TOP = 5
# The logit of every id that is a multiple of this is kept for each prompt, including numbers far from the top.
SAMPLE_STEP = 769
# Prompts whose attention is kept in full.
ATTENTION = (8, 26)


class Metadata:
    def __init__(self, reader):
        self.reader = reader

    def __getitem__(self, name):
        return self.reader.fields[name].contents()


def tokenizer_of(metadata):
    """Digits split off, then GPT-2's byte-level BPE: this is what "smollm" means in the file."""
    if (metadata["tokenizer.ggml.model"], metadata["tokenizer.ggml.pre"]) != ("gpt2", "smollm"):
        raise AssertionError("expected the tokenizer of SmolLM2")
    pieces = metadata["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    control = gguf.TokenType.CONTROL
    kinds = metadata["tokenizer.ggml.token_type"]
    tokenizer.add_special_tokens([piece for piece, kind in zip(pieces, kinds, strict=True) if kind == control])
    return tokenizer


def turn_halves(weight, heads):
    """From GGUF's order, in which the numbers that are rotated together are adjacent, to that of Hugging Face."""
    return weight.reshape(heads, weight.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def model_of(reader, metadata):
    config = transformers.LlamaConfig(
        vocab_size=metadata["llama.vocab_size"],
        hidden_size=metadata["llama.embedding_length"],
        intermediate_size=metadata["llama.feed_forward_length"],
        num_hidden_layers=metadata["llama.block_count"],
        num_attention_heads=metadata["llama.attention.head_count"],
        num_key_value_heads=metadata["llama.attention.head_count_kv"],
        max_position_embeddings=metadata["llama.context_length"],
        rms_norm_eps=float(metadata["llama.attention.layer_norm_rms_epsilon"]),
        rope_parameters={"rope_type": "default", "rope_theta": float(metadata["llama.rope.freq_base"])},
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    state = {}
    for tensor in reader.tensors:
        weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if tensor.name == "token_embd.weight":
            state["model.embed_tokens.weight"] = state["lm_head.weight"] = torch.from_numpy(weight)
            continue
        if tensor.name == "output_norm.weight":
            state["model.norm.weight"] = torch.from_numpy(weight)
            continue
        _, layer, part, _ = tensor.name.split(".")
        if part == "attn_q":
            weight = turn_halves(weight, config.num_attention_heads)
        elif part == "attn_k":
            weight = turn_halves(weight, config.num_key_value_heads)
        state[f"model.layers.{layer}.{NAMES[part]}.weight"] = torch.from_numpy(np.ascontiguousarray(weight))
    model = transformers.LlamaForCausalLM(config)
    model.load_state_dict(state, strict=True)
    return model.eval()


def run(model, ids):
    with torch.no_grad():
        output = model(torch.tensor([ids]), output_attentions=True, use_cache=False)
    attention = torch.stack(output.attentions)[:, 0]  # [layer, head, query, key]
    return attention.numpy(), output.logits[0, -1].numpy()


def generate(file, folder):
    folder.mkdir(parents=True, exist_ok=True)
    reader = gguf.GGUFReader(file)
    metadata = Metadata(reader)
    tokenizer = tokenizer_of(metadata)
    model = model_of(reader, metadata)
    sample = np.arange(0, model.config.vocab_size, SAMPLE_STEP)
    prompts, sampled, arrays = [], [], {}
    for number, text in enumerate(PROMPTS):
        ids = tokenizer.encode(text).ids
        attention, logits = run(model, ids)
        order = np.argsort(-logits.astype(np.float64), kind="stable")[:TOP]
        prompts.append(
            {
                "name": f"{number}",
                "text": text,
                "ids": ids,
                "top": [int(i) for i in order],
                "logits": [float(logits[i]) for i in order],
            }
        )
        sampled.append(logits[sample])
        if number in ATTENTION:
            # Values above the diagonal are 0.
            below = np.tril_indices(len(ids))
            arrays[f"attention_{number}"] = np.ascontiguousarray(attention[:, :, below[0], below[1]])
    write_json(folder / "prompts.json", {"file": file.name, "prompts": prompts})
    write_npz(
        folder / "logits.npz",
        {"ids": sample.astype(np.int64), "logits": np.stack(sampled)},
    )
    write_npz(folder / "attention.npz", arrays)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    generate(Path(sys.argv[1]), Path(sys.argv[2]))
