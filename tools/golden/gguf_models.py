"""Small random GGUF models: what transformers computes from the same weights, and how tokenizers encodes texts.

Run by tools/golden/make, or on its own in its environment:

    .cache/golden/venv/bin/python tools/golden/gguf_models.py tests/golden/gguf
"""

import json
import sys
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers
from gguf_file import write_gguf
from golden_io import write_json, write_npz
from texts import CABINETS, ORIGIN, SCRIPTS

WORDS = 40  # more than bytes and special tokens: merged pieces
POSITIONS = 512
SHORT, LONG = 24, 300  # tokens; the library's chunks have 128
# Rows of the long case to keep: next to the ends of chunks.
ROWS = [0, 1, 126, 127, 128, 129, 255, 256, 298, 299]
CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are small.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CHATS = [
    [{"role": "user", "content": "Where is the key?"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
    [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "And?"},
    ],
]
TEXTS = {
    "plain": CABINETS,
    "contractions": "I'm sure they'll say it's Sara's: 1859, 20 or 7.",
    "scripts": SCRIPTS,
    "spaces": "  two  spaces\n\n and\ta tab \u3000wide ",
    "one_space": " ",
    "empty": "",
    "punctuation": 'Wait... what?! (Really) -- "yes", §3: 5 € → 10 %',
    "digits": "2024-01-31 and ٣٤ and x86",
}
# Texts with spelled-out special tokens, by the name of the tokenizer.
SPELLED = {
    "bpe": "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n",
    "spm": "Hello</s>",
}

CONTROL, BYTE, NORMAL, UNKNOWN = 3, 6, 1, 2  # tokenizer.ggml.token_type


def byte_level_tokenizer():
    """As in SmolLM: digits split off, then GPT-2's byte-level BPE. Returns it and its part of the metadata."""
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=len(specials) + len(alphabet) + WORDS,
        special_tokens=specials,
        initial_alphabet=sorted(alphabet),
        show_progress=False,
    )
    tokenizer.train_from_iterator([ORIGIN], trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
    )
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    merges = tokenizers_merges(tokenizer)
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": [piece for piece, _ in pieces],
        "tokenizer.ggml.token_type": [CONTROL if piece in specials else NORMAL for piece, _ in pieces],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.chat_template": CHATML,
    }
    return tokenizer, metadata


def tokenizers_merges(tokenizer):
    """A BPE tokenizer's merges as spelled in GGUF."""
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]


def sentence_piece_tokenizer():
    """SentencePiece BPE as in Llama 2 and Gemma: "▁" for spaces, bytes for unknown characters, a space in front."""
    specials = ["<unk>", "<s>", "</s>"]
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    characters = sorted(set(ORIGIN.replace(" ", "▁")) | {"▁"})
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=len(characters) + WORDS, initial_alphabet=characters, show_progress=False
    )
    trained.train_from_iterator([ORIGIN], trainer)
    learned = [piece for piece, _ in sorted(trained.get_vocab().items(), key=lambda item: item[1])]
    merges = tokenizers_merges(trained)
    byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    pieces = specials + byte_pieces + learned
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            vocab=vocabulary,
            merges=[tuple(merge.split(" ")) for merge in merges],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    # As Hugging Face writes such tokenizers: spaces are replaced before anything is split, so merges may cross words.
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")]
    )
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    # The first merges have the highest scores.
    rank = {"".join(merge.split(" ")): index for index, merge in enumerate(merges)}
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(learned)
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.scores": [-float(rank.get(piece, len(pieces))) for piece in pieces],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_space_prefix": True,
    }
    return tokenizer, metadata


def fill(model, seed):
    """Random weights, large enough that attention is far from uniform."""
    random = np.random.RandomState(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = random.standard_normal(parameter.shape)
            scale = 0.1 if parameter.ndim == 1 else 1.6 / np.sqrt(parameter.shape[-1])
            offset = 1.0 if "norm" in name else 0.0
            parameter.copy_(torch.from_numpy((offset + scale * values).astype(np.float32)))
    return model.eval()


def rotate_pairs(weight, heads):
    """Rows of a query or key matrix in GGUF's order for Llama: numbers that are rotated together are adjacent."""
    rows = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
    return rows.swapaxes(1, 2).reshape(weight.shape)


def common_settings(architecture, config):
    return {
        "general.architecture": architecture,
        "general.name": f"small random {architecture}",
        f"{architecture}.context_length": config.max_position_embeddings,
        f"{architecture}.embedding_length": config.hidden_size,
        f"{architecture}.block_count": config.num_hidden_layers,
        f"{architecture}.feed_forward_length": config.intermediate_size,
        f"{architecture}.attention.head_count": config.num_attention_heads,
        f"{architecture}.attention.head_count_kv": config.num_key_value_heads,
        f"{architecture}.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
    }


MATRICES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def tensors_of(model, norms, convert=lambda name, value: value):
    """A model's weights under GGUF's names; `norms` gives the names of a layer's norms, `convert` changes values."""
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    if not model.config.tie_word_embeddings:
        names["lm_head.weight"] = "output.weight"
    for layer in range(model.config.num_hidden_layers):
        for theirs, ours in (MATRICES | norms).items():
            names[f"model.layers.{layer}.{theirs}.weight"] = f"blk.{layer}.{ours}.weight"
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    if missing := weights.keys() - names.keys():
        raise AssertionError(f"weights without a place in the GGUF file: {sorted(missing)}")
    return {ours: convert(ours, weights[theirs]) for theirs, ours in names.items() if theirs in weights}


def llama(folder):
    tokenizer, metadata = byte_level_tokenizer()
    config = transformers.LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=POSITIONS,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
    )
    model = fill(transformers.LlamaForCausalLM(config), 1)
    settings = common_settings("llama", config) | {
        "llama.rope.dimension_count": 8,
        "llama.rope.freq_base": 10000.0,
        "llama.vocab_size": config.vocab_size,
    }

    def convert(name, value):
        if "attn_q." in name:
            return rotate_pairs(value, config.num_attention_heads)
        return rotate_pairs(value, config.num_key_value_heads) if "attn_k." in name else value

    norms = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    write_gguf(folder / "llama.gguf", settings | metadata, tensors_of(model, norms, convert))
    return model, tokenizer


def olmo3(folder):
    """Four layers, of which the first three have a sliding window."""
    tokenizer, metadata = byte_level_tokenizer()
    config = transformers.Olmo3Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=24,
        intermediate_size=32,
        num_hidden_layers=4,
        num_attention_heads=3,
        num_key_value_heads=3,
        max_position_embeddings=POSITIONS,
        rms_norm_eps=1e-6,
        sliding_window=20,
        tie_word_embeddings=False,
    )
    model = fill(transformers.Olmo3ForCausalLM(config), 2)
    settings = common_settings("olmo2", config) | {
        "olmo2.rope.dimension_count": 8,
        "olmo2.rope.freq_base": float(config.rope_parameters["full_attention"]["rope_theta"]),
        "olmo2.attention.sliding_window": config.sliding_window,
    }
    norms = {"post_attention_layernorm": "post_attention_norm", "post_feedforward_layernorm": "post_ffw_norm"}
    write_gguf(folder / "olmo3.gguf", settings | metadata, tensors_of(model, norms))
    return model, tokenizer


def gemma2(folder):
    """Scores capped by tanh, every other layer with a sliding window, a head width that is not hidden / heads."""
    tokenizer, metadata = sentence_piece_tokenizer()
    config = transformers.Gemma2Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=24,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=16,
        query_pre_attn_scalar=16,
        max_position_embeddings=POSITIONS,
        sliding_window=20,
        attn_logit_softcapping=5.0,
        final_logit_softcapping=10.0,
        rms_norm_eps=1e-6,
    )
    model = fill(transformers.Gemma2ForCausalLM(config), 3)
    settings = common_settings("gemma2", config) | {
        "gemma2.attention.key_length": config.head_dim,
        "gemma2.attention.value_length": config.head_dim,
        "gemma2.attention.sliding_window": config.sliding_window,
        "gemma2.attn_logit_softcapping": config.attn_logit_softcapping,
        "gemma2.final_logit_softcapping": config.final_logit_softcapping,
    }
    norms = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "post_attention_norm",
        "pre_feedforward_layernorm": "ffn_norm",
        "post_feedforward_layernorm": "post_ffw_norm",
    }
    # Gemma's norms multiply by 1 + weight; GGUF stores the sum.
    convert = lambda name, value: value + 1 if "norm" in name else value  # noqa: E731
    write_gguf(folder / "gemma2.gguf", settings | metadata, tensors_of(model, norms, convert))
    return model, tokenizer


def refused(folder):
    """Models without expected arrays: two to be refused (no attention, another direction), one with learned sinks."""
    _, metadata = byte_level_tokenizer()
    vocabulary = len(metadata["tokenizer.ggml.tokens"])
    random = np.random.RandomState(4)

    def tensors(shapes):
        return {name: random.standard_normal(shape) * 0.2 for name, shape in shapes.items()}

    n = 8
    mamba = {"token_embd.weight": (vocabulary, n), "output_norm.weight": (n,)}
    inner, state, rank = 2 * n, 4, 1
    mamba |= {
        "blk.0.attn_norm.weight": (n,),
        "blk.0.ssm_in.weight": (2 * inner, n),
        "blk.0.ssm_conv1d.weight": (inner, 4),
        "blk.0.ssm_conv1d.bias": (inner,),
        "blk.0.ssm_x.weight": (rank + 2 * state, inner),
        "blk.0.ssm_dt.weight": (inner, rank),
        "blk.0.ssm_dt.bias": (inner,),
        "blk.0.ssm_a": (inner, state),
        "blk.0.ssm_d": (inner,),
        "blk.0.ssm_out.weight": (n, inner),
    }
    settings = {
        "general.architecture": "mamba",
        "mamba.context_length": 64,
        "mamba.embedding_length": n,
        "mamba.block_count": 1,
        "mamba.feed_forward_length": 0,
        "mamba.attention.head_count": 0,
        "mamba.attention.layer_norm_rms_epsilon": 1e-5,
        "mamba.ssm.conv_kernel": 4,
        "mamba.ssm.inner_size": inner,
        "mamba.ssm.state_size": state,
        "mamba.ssm.time_step_rank": rank,
    }
    write_gguf(folder / "mamba.gguf", settings | metadata, tensors(mamba))

    bert = {
        "token_embd.weight": (vocabulary, n),
        "token_types.weight": (2, n),
        "position_embd.weight": (64, n),
        "token_embd_norm.weight": (n,),
        "token_embd_norm.bias": (n,),
    }
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        bert |= {f"blk.0.{part}.weight": (n, n), f"blk.0.{part}.bias": (n,)}
    for part in ("attn_output_norm", "layer_output_norm"):
        bert |= {f"blk.0.{part}.weight": (n,), f"blk.0.{part}.bias": (n,)}
    bert |= {"blk.0.ffn_up.weight": (n, n), "blk.0.ffn_up.bias": (n,)}
    bert |= {"blk.0.ffn_down.weight": (n, n), "blk.0.ffn_down.bias": (n,)}
    settings = {
        "general.architecture": "bert",
        "bert.context_length": 64,
        "bert.embedding_length": n,
        "bert.block_count": 1,
        "bert.feed_forward_length": n,
        "bert.attention.head_count": 2,
        "bert.attention.layer_norm_epsilon": 1e-5,
        "bert.attention.causal": False,
        "tokenizer.ggml.token_type_count": 2,
    }
    write_gguf(folder / "bert.gguf", settings | metadata, tensors(bert))

    n, heads, experts, width = 16, 2, 2, 8
    gpt_oss = {
        "token_embd.weight": (vocabulary, n),
        "output_norm.weight": (n,),
        "output.weight": (vocabulary, n),
        "blk.0.attn_norm.weight": (n,),
        "blk.0.post_attention_norm.weight": (n,),
        "blk.0.attn_sinks.weight": (heads,),
        "blk.0.ffn_gate_inp.weight": (experts, n),
        "blk.0.ffn_gate_inp.bias": (experts,),
    }
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        gpt_oss |= {f"blk.0.{part}.weight": (n, n), f"blk.0.{part}.bias": (n,)}
    for part in ("ffn_gate_exps", "ffn_up_exps"):
        gpt_oss |= {f"blk.0.{part}.weight": (experts, width, n), f"blk.0.{part}.bias": (experts, width)}
    gpt_oss |= {"blk.0.ffn_down_exps.weight": (experts, n, width), "blk.0.ffn_down_exps.bias": (experts, n)}
    settings = {
        "general.architecture": "gpt-oss",
        "gpt-oss.context_length": 64,
        "gpt-oss.embedding_length": n,
        "gpt-oss.block_count": 1,
        "gpt-oss.feed_forward_length": width,
        "gpt-oss.expert_feed_forward_length": width,
        "gpt-oss.expert_count": experts,
        "gpt-oss.expert_used_count": 1,
        "gpt-oss.attention.head_count": heads,
        "gpt-oss.attention.head_count_kv": heads,
        "gpt-oss.attention.key_length": n // heads,
        "gpt-oss.attention.value_length": n // heads,
        "gpt-oss.attention.layer_norm_rms_epsilon": 1e-5,
        "gpt-oss.attention.sliding_window": 32,
        "gpt-oss.rope.dimension_count": n // heads,
        "gpt-oss.rope.freq_base": 10000.0,
    }
    write_gguf(folder / "gpt_oss.gguf", settings | metadata, tensors(gpt_oss))


def run(model, ids):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(torch.tensor([ids]), output_attentions=True, use_cache=False)
    attention = torch.stack(output.attentions)[:, 0]  # [layer, head, query, key]
    return attention.numpy(), output.logits[0].numpy()


def describe_text(tokenizer, text):
    encoding = tokenizer.encode(text)
    specials = {index for index, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    template = encoding.special_tokens_mask
    return {
        "text": text,
        "ids": encoding.ids,
        "special": [int(i in specials) for i in encoding.ids],
        "template": template,
        "word_ids": encoding.word_ids,
        "offsets_bytes": [
            None if outside else [len(text[:begin].encode()), len(text[:end].encode())]
            for (begin, end), outside in zip(encoding.offsets, template, strict=True)
        ],
    }


def generate(folder):
    folder.mkdir(parents=True, exist_ok=True)
    models = []
    for make, kind in ((llama, "bpe"), (olmo3, "bpe"), (gemma2, "spm")):
        model, tokenizer = make(folder)
        name = make.__name__
        long_ids = tokenizer.encode(ORIGIN).ids
        repeats = LONG // len(long_ids) + 1
        ids = (long_ids * repeats)[:LONG]
        attention, logits = run(model, ids[:SHORT])
        long_attention, long_logits = run(model, ids)
        arrays = {
            "ids": np.array(ids, dtype=np.int64),
            "attention": attention,
            "logits": logits,
            "rows": np.array(ROWS, dtype=np.int64),
            "row_attention": np.ascontiguousarray(long_attention[:, :, ROWS]),
            "row_logits": np.ascontiguousarray(long_logits[[ROWS[3], ROWS[-1]]]),
            "logit_rows": np.array([ROWS[3], ROWS[-1]], dtype=np.int64),
        }
        write_npz(folder / f"{name}.npz", arrays)
        texts = TEXTS | {"spelled": SPELLED[kind]}
        config = model.config
        models.append(
            {
                "name": name,
                "tokenizer": kind,
                "layers": config.num_hidden_layers,
                "heads": config.num_attention_heads,
                "key_value_heads": config.num_key_value_heads,
                "hidden": config.hidden_size,
                "vocabulary": config.vocab_size,
                "parameters": model.num_parameters(),
                "short": SHORT,
                "texts": {key: describe_text(tokenizer, text) for key, text in texts.items()},
            }
        )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level_tokenizer()[0], bos_token="<|endoftext|>", eos_token="<|im_end|>"
    )
    chats = [
        {
            "messages": messages,
            "text": fast.apply_chat_template(
                messages, chat_template=CHATML, add_generation_prompt=True, tokenize=False
            ),
        }
        for messages in CHATS
    ]
    write_json(folder / "index.json", {"models": models, "chats": chats})
    refused(folder)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    generate(Path(sys.argv[1]))
