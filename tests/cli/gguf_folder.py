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

LAYER = {
    "llama": {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    },
    "gpt2": {
        "ln_1": "attn_norm",
        "attn.c_attn": "attn_qkv",
        "attn.c_proj": "attn_output",
        "ln_2": "ffn_norm",
        "mlp.c_fc": "ffn_up",
        "mlp.c_proj": "ffn_down",
    },
}
LAYER["qwen2"] = LAYER["llama"]
OTHER = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
OTHER |= {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}


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


def rope_factors(rope, width):
    """The factors by which Llama 3's scaling divides the frequencies, as written by llama.cpp's convert_hf_to_gguf."""
    low, high, length = rope["low_freq_factor"], rope["high_freq_factor"], rope["original_max_position_embeddings"]
    factors = []
    for i in range(0, width, 2):
        wave = 2 * np.pi * rope["rope_theta"] ** (i / width)
        smooth = np.clip((length / wave - low) / (high - low), 0, 1)
        factors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(factors, np.float32)


def settings_of(config, kind):
    if kind == "gpt2":
        hidden, heads, layers = config["n_embd"], config["n_head"], config["n_layer"]
        return {
            "context_length": config["n_positions"],
            "embedding_length": hidden,
            "block_count": layers,
            "feed_forward_length": config.get("n_inner") or 4 * hidden,
            "attention.head_count": heads,
            "attention.layer_norm_epsilon": config["layer_norm_epsilon"],
        }
    rope = config["rope_parameters"]
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    settings = {
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"],
        "feed_forward_length": config["intermediate_size"],
        "attention.head_count": config["num_attention_heads"],
        "attention.head_count_kv": config["num_key_value_heads"],
        "attention.key_length": width,
        "attention.value_length": width,
        "attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        "rope.dimension_count": width,
        "rope.freq_base": float(rope["rope_theta"]),
        "vocab_size": config["vocab_size"],
    }
    if rope["rope_type"] == "linear":
        settings |= {"rope.scaling.type": "linear", "rope.scaling.factor": float(rope["factor"])}
    return settings


def vocabulary_of(folder: Path) -> dict:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    pieces = dict(tokenizer["model"]["vocab"])
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    pieces |= added
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    end = next(iter(added.values()))
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": sorted(pieces, key=pieces.get),
        "tokenizer.ggml.token_type": [3 if piece in added else 1 for piece in sorted(pieces, key=pieces.get)],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": end,
        "tokenizer.ggml.eos_token_id": end,
    }


def as_gguf(folder: Path) -> tuple[dict, dict]:
    """Metadata and tensors for write_gguf."""
    config = json.loads((folder / "config.json").read_text())
    kind = config["model_type"]
    heads = {"attn_q": config.get("num_attention_heads"), "attn_k": config.get("num_key_value_heads")}
    tensors = {}
    for name, array in weights_of(folder).items():
        parts = name.removeprefix("model.").rsplit(".", 1)
        if parts[0] in OTHER:
            tensors[f"{OTHER[parts[0]]}.{parts[1]}"] = array
            continue
        _, layer, part = parts[0].split(".", 2)
        part = LAYER[kind][part]
        if kind == "llama" and part in heads:
            array = pairs(array, heads[part])
        if kind == "gpt2" and array.ndim == 2:
            array = array.T
        tensors[f"blk.{layer}.{part}.{parts[1]}"] = array
    rope = config.get("rope_parameters") or {}
    if rope.get("rope_type") == "llama3":
        tensors["rope_freqs.weight"] = rope_factors(rope, config["head_dim"])
    metadata = {"general.architecture": kind, "general.name": folder.name, "general.license": "apache-2.0"}
    metadata |= {f"{kind}.{key}": value for key, value in settings_of(config, kind).items()}
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
