"""A small Hugging Face decoder as a GGUF file: the inverse of `attnflow model -o`, independent of its code."""

import json
import struct
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "golden"))

from gguf_file import write_gguf  # noqa: E402

__all__ = ["as_gguf", "read_gguf", "read_safetensors", "weights_of", "write_gguf"]

# GGUF's names of a layer's parts, for all families of which a Hugging Face name means one thing,
LAYER = {
    "attn_norm": "input_layernorm ln_1",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj attn.c_attn attention.query_key_value self_attention.query_key_value",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj self_attn.dense attn.c_proj attention.dense self_attention.dense",
    "ffn_norm": "post_attention_layernorm pre_feedforward_layernorm ln_2",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj mlp.gate_up_proj mlp.fc1 mlp.c_fc mlp.dense_h_to_4h",
    "ffn_down": "mlp.down_proj mlp.fc2 mlp.c_proj mlp.dense_4h_to_h",
    "post_ffw_norm": "post_feedforward_layernorm",
}
LAYER = {name: part for part, names in LAYER.items() for name in names.split()}
# Likewise in mixtures of experts, whose maps are stacked.
EXPERTS = {
    "ffn_gate_inp": "block_sparse_moe.gate mlp.gate mlp.router",
    "ffn_gate_exps": "w1 gate_proj",
    "ffn_up_exps": "w3 up_proj",
    "ffn_down_exps": "w2 down_proj",
}
EXPERTS = {name: part for part, names in EXPERTS.items() for name in names.split()}
# and for the others.
OWN = {
    **dict.fromkeys(("gemma2", "gemma3_text", "olmo2"), {"post_attention_layernorm": "post_attention_norm"}),
    "falcon": {"ln_attn": "attn_norm_2", "ln_mlp": "attn_norm"},
    "gpt_oss": {"post_attention_layernorm": "post_attention_norm"},
}
OTHER = {
    "token_embd": "embed_tokens wte embed_in word_embeddings",
    "token_embd_norm": "word_embeddings_layernorm",
    "position_embd": "wpe",
    "output_norm": "norm ln_f final_layernorm final_layer_norm",
    "output": "lm_head embed_out",
}
OTHER = {name: part for part, names in OTHER.items() for name in names.split()}
# GGUF's architectures, where they are not named like the model type.
ARCHITECTURES = {
    "mistral": "llama",
    "phi": "phi2",
    "gpt_neox": "gptneox",
    "cohere": "command-r",
    "gemma3_text": "gemma3",
    "mixtral": "llama",
    "gpt_oss": "gpt-oss",
    "qwen3_moe": "qwen3moe",
}
PAIRED = ("llama", "mistral", "mixtral", "smollm3", "granite")  # the halves that rotate together become adjacent
WINDOWED = ("gemma2", "gemma3_text", "cohere2", "phi3", "gpt_oss")
# Numbers whose names differ, and only some architectures have.
NUMBERS = {
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.layer_norm_epsilon": "layer_norm_epsilon layer_norm_eps norm_epsilon",
    "attention.scale": "attention_multiplier",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "embedding_scale": "embedding_multiplier",
    "expert_count": "num_experts num_local_experts",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_used_count": "num_experts_per_tok",
    "final_logit_softcapping": "final_logit_softcapping",
    "logit_scale": "logits_scaling logit_scale",
    "residual_scale": "residual_multiplier",
    "vocab_size": "vocab_size",
}


def read_safetensors(path) -> dict:
    """name -> float32 array, from F32, F16 and BF16."""
    data = Path(path).read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    arrays = {}
    for name, tensor in header.items():
        begin, end = (8 + length + offset for offset in tensor["data_offsets"])
        if tensor["dtype"] == "BF16":
            values = (np.frombuffer(data[begin:end], "<u2").astype("<u4") << 16).view("<f4")
        else:
            kind = {"F32": "<f4", "F16": "<f2"}[tensor["dtype"]]
            values = np.frombuffer(data[begin:end], kind).astype("<f4")
        arrays[name] = values.reshape(tensor["shape"])
    return arrays


def weights_of(folder: Path) -> dict:
    """Weights by their names below "transformer.", without the masks in old files of GPT-2."""
    arrays = {}
    for path in sorted(folder.glob("*.safetensors")):
        arrays |= read_safetensors(path)
    masks = (".attn.bias", ".attn.masked_bias")
    return {name.removeprefix("transformer."): array for name, array in arrays.items() if not name.endswith(masks)}


def pairs(rows, heads):
    """Query or key rows reordered so that the halves that rotate together are adjacent."""
    width = rows.shape[0] // heads
    order = [head * width + i + j * (width // 2) for head in range(heads) for i in range(width // 2) for j in (0, 1)]
    return rows[order]


def side_by_side(rows, heads, key_value_heads):
    """A map's rows, which are queries, a key and a value for each key-value head, as all queries, all keys and all
    values."""
    groups = rows.reshape(key_value_heads, heads // key_value_heads + 2, -1, *rows.shape[1:])
    parts = (groups[:, :-2], groups[:, -2], groups[:, -1])
    return np.concatenate([part.reshape(-1, *rows.shape[1:]) for part in parts])


def rope_factors(rope, width):
    """The factors by which Llama 3's scaling divides the frequencies, as written by llama.cpp's convert_hf_to_gguf."""
    low, high, length = rope["low_freq_factor"], rope["high_freq_factor"], rope["original_max_position_embeddings"]
    factors = []
    for i in range(0, width, 2):
        wave = 2 * np.pi * rope["rope_theta"] ** (i / width)
        smooth = np.clip((length / wave - low) / (high - low), 0, 1)
        factors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(factors, np.float32)


def first(config, names):
    """The first of these settings that is there."""
    return next((config[name] for name in names.split() if config.get(name) is not None), None)


def heads_of(config):
    """Heads, and those of keys and values."""
    heads = first(config, "num_attention_heads n_head")
    if config["model_type"] == "falcon" and not config["new_decoder_architecture"]:
        return heads, 1 if config["multi_query"] else heads
    return heads, first(config, "num_kv_heads num_key_value_heads") or heads


def settings_of(config, kind):
    hidden = first(config, "hidden_size n_embd")
    heads, key_value_heads = heads_of(config)
    width = config.get("head_dim") or hidden // heads
    settings = {
        "context_length": first(config, "max_position_embeddings n_positions seq_length") or 2048,
        "embedding_length": hidden,
        "block_count": first(config, "num_hidden_layers n_layer"),
        "feed_forward_length": first(config, "intermediate_size n_inner ffn_hidden_size") or 4 * hidden,
        "attention.head_count": heads,
        "attention.head_count_kv": key_value_heads,
    }
    for name, theirs in NUMBERS.items():
        if (value := first(config, theirs)) is not None:
            settings[name] = value
    if kind in WINDOWED and config["sliding_window"]:
        settings["attention.sliding_window"] = config["sliding_window"]
    if kind == "gpt_oss":
        settings["expert_feed_forward_length"] = config["intermediate_size"]
    if kind == "gpt_neox":
        settings["use_parallel_residual"] = config["use_parallel_residual"]
    both = config.get("rope_parameters") or {}
    rope = both.get("full_attention", both)
    if not rope:
        return settings
    share = rope.get("partial_rotary_factor") or config.get("partial_rotary_factor") or 1.0
    settings |= {
        "attention.key_length": width,
        "attention.value_length": width,
        "rope.dimension_count": int(width * share),
        "rope.freq_base": float(rope["rope_theta"]),
    }
    if "sliding_attention" in both:
        settings["rope.freq_base_swa"] = float(both["sliding_attention"]["rope_theta"])
    if rope["rope_type"] == "linear":
        settings |= {"rope.scaling.type": "linear", "rope.scaling.factor": float(rope["factor"])}
    if rope["rope_type"] == "yarn":
        settings |= {
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": float(rope["factor"]),
            "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
            "rope.scaling.yarn_beta_fast": float(rope["beta_fast"]),
        }
    if rope["rope_type"] == "longrope":
        length = first(config, "original_max_position_embeddings") or rope["original_max_position_embeddings"]
        ratio = settings["context_length"] / length
        settings["rope.scaling.original_context_length"] = length
        settings["rope.scaling.attn_factor"] = float(np.sqrt(1 + np.log(ratio) / np.log(length)))
    return settings


def of_gpt_oss(layer, part, array):
    """GGUF's tensors for what only gpt-oss's folders have: sinks, and stacks of all experts' maps, [expert, in, out]."""
    if part == "self_attn.sinks":
        return {f"blk.{layer}.attn_sinks.weight": array}
    name, kind = (part.removesuffix("_bias"), "bias") if part.endswith("_bias") else (part, "weight")
    if kind == "weight":
        array = np.swapaxes(array, 1, 2)
    if name == "mlp.experts.down_proj":
        return {f"blk.{layer}.ffn_down_exps.{kind}": array}
    rows = {"ffn_gate_exps": array[:, 0::2], "ffn_up_exps": array[:, 1::2]}  # these alternate
    return {f"blk.{layer}.{half}.{kind}": np.ascontiguousarray(one) for half, one in rows.items()}


def vocabulary_of(folder: Path) -> dict:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    pieces = dict(tokenizer["model"]["vocab"])
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    pieces |= added
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    end = next(iter(added.values()), 2)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": sorted(pieces, key=pieces.get),
        "tokenizer.ggml.token_type": [3 if piece in added else 1 for piece in sorted(pieces, key=pieces.get)],
        "tokenizer.ggml.merges": merges or ["<s> </s>"],  # which never occurs
        "tokenizer.ggml.bos_token_id": end,
        "tokenizer.ggml.eos_token_id": end,
    }


def as_gguf(folder: Path) -> tuple[dict, dict]:
    """Metadata and tensors for write_gguf."""
    config = json.loads((folder / "config.json").read_text())
    kind = config["model_type"]
    count, shared = heads_of(config)
    heads = {"attn_q": count, "attn_k": shared}
    tensors = {}
    stacks = {}
    for name, array in weights_of(folder).items():
        parts = name.removeprefix("model.").removeprefix("gpt_neox.").rsplit(".", 1)
        if parts[0] in OTHER:
            tensors[f"{OTHER[parts[0]]}.{parts[1]}"] = array + (kind.startswith("gemma") and parts[0] == "norm")
            continue
        _, layer, part = parts[0].split(".", 2)
        if kind == "gpt_oss" and (parts[1] == "sinks" or part == "mlp.experts"):
            tensors |= of_gpt_oss(layer, f"{part}.{parts[1]}", array)
            continue
        if ".experts." in part:
            _, _, expert, part = part.rsplit(".", 3)
            stacks.setdefault(f"blk.{layer}.{EXPERTS[part]}.{parts[1]}", {})[int(expert)] = array
            continue
        part = EXPERTS.get(part) or OWN.get(kind, {}).get(part) or LAYER[part]
        if kind in PAIRED and part in heads:
            array = pairs(array, heads[part])
        if part == "attn_qkv" and kind in ("gpt_neox", "falcon", "bloom"):
            array = side_by_side(array, count, shared)
        if kind.startswith("gemma") and part.endswith("norm"):
            array = array + np.float32(1)
        if kind == "gpt2" and array.ndim == 2:
            array = array.T
        tensors[f"blk.{layer}.{part}.{parts[1]}"] = array
    for name, stack in stacks.items():
        tensors[name] = np.stack([stack[expert] for expert in sorted(stack)])
    rope = config.get("rope_parameters") or {}
    if rope.get("rope_type") == "llama3":
        tensors["rope_freqs.weight"] = rope_factors(rope, config["head_dim"])
    if rope.get("rope_type") == "longrope":
        for length in ("long", "short"):
            tensors[f"rope_factors_{length}.weight"] = np.array(rope[f"{length}_factor"], np.float32)
    architecture = ARCHITECTURES.get(kind, kind)
    metadata = {"general.architecture": architecture, "general.name": folder.name, "general.license": "apache-2.0"}
    metadata |= {f"{architecture}.{key}": value for key, value in settings_of(config, kind).items()}
    return metadata | vocabulary_of(folder), tensors


FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read_gguf(path, with_tensors=True) -> tuple[dict, dict]:
    """Metadata and tensors of a GGUF file; if tensors are requested, all must be float32."""
    data = Path(path).read_bytes()
    at = 4

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values

    def text():
        nonlocal at
        (length,) = take("Q")
        at += length
        return data[at - length : at].decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            kind, count = take("IQ")
            return [value(kind) for _ in range(count)]
        return take(FORMATS[kind])[0]

    _, tensor_count, entry_count = take("IQQ")
    metadata = {}
    for _ in range(entry_count):
        name = text()
        metadata[name] = value(take("I")[0])
    if not with_tensors:
        return metadata, {}
    places = []
    for _ in range(tensor_count):
        name = text()
        extents = take(f"{take('I')[0]}Q")
        kind, offset = take("IQ")
        assert kind == 0, name
        places.append((name, extents[::-1], offset))
    begin = (at + 31) // 32 * 32
    tensors = {
        name: np.frombuffer(data, "<f4", int(np.prod(shape)), begin + offset).reshape(shape)
        for name, shape, offset in places
    }
    return metadata, tensors
