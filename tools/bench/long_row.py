"""The rollout row of one output token over a prompt of 4,096 tokens, compared with the forward pass that it needs.

A decoder of SmolLM2-135M's shape with random float32 weights (540 MB in a temporary folder), torch backend. Checks on a
short prompt that the row is the full rollout's, then runs both in turn, each in a separate process, and prints times
and peak memory. The memory goal is that of the weights, of the cache of keys and values, and 384 MiB.
"""

import json
import os
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np
from measured import PROGRAM, in_turn, machine, median, run_json, store

BENCHMARK = PROGRAM.parent / "attnflow_long_row_benchmark"
TOKENS = 4096
CHECKED_TOKENS = 300  # more than one chunk
RUNS = int(os.environ.get("ATTNFLOW_BENCH_RUNS", "5"))
THREADS = (1, 2)
MIB = 1 << 20
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "max_position_embeddings": 8192,
    "num_attention_heads": 9,
    "num_hidden_layers": 30,
    "num_key_value_heads": 3,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100000,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "vocab_size": 49152,
}


def shapes() -> dict[str, tuple[int, ...]]:
    hidden, inside = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    keys = hidden // CONFIG["num_attention_heads"] * CONFIG["num_key_value_heads"]
    found = {"model.embed_tokens.weight": (CONFIG["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for layer in range(CONFIG["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        found[name + "input_layernorm.weight"] = (hidden,)
        found[name + "post_attention_layernorm.weight"] = (hidden,)
        found[name + "self_attn.q_proj.weight"] = (hidden, hidden)
        found[name + "self_attn.k_proj.weight"] = (keys, hidden)
        found[name + "self_attn.v_proj.weight"] = (keys, hidden)
        found[name + "self_attn.o_proj.weight"] = (hidden, hidden)
        found[name + "mlp.gate_proj.weight"] = (inside, hidden)
        found[name + "mlp.up_proj.weight"] = (inside, hidden)
        found[name + "mlp.down_proj.weight"] = (hidden, inside)
    return found


def write_model(folder: Path) -> int:
    """Writes a Hugging Face folder, one tensor at a time; returns the bytes of the weights."""
    (folder / "config.json").write_text(json.dumps(CONFIG))
    header, offset = {}, 0
    for name, shape in shapes().items():
        end = offset + 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.default_rng(1)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for shape in shapes().values():
            # Norms are one; linear maps preserve the size of their input.
            weights = np.ones(shape, np.float32)
            if len(shape) == 2:
                weights = random.standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[1]))
            file.write(weights.tobytes())
    return offset


def measure(folder: str, threads: int, allowed: float) -> dict:
    def take(mode: str) -> dict:
        return run_json([str(BENCHMARK), folder, mode, str(TOKENS), str(threads)])

    samples = in_turn({mode: lambda mode=mode: take(mode) for mode in ("plain", "row")}, RUNS)
    for one in samples["row"]:
        if not abs(one["row_sum"] - 1) < 1e-4:
            sys.exit(f"the row's sum is {one['row_sum']}")
    results = {
        mode: {key: median(of, key) for key in ("seconds", "cpu_seconds", "peak_memory_kib")}
        for mode, of in samples.items()
    }
    pairs = [
        {key: row[key] / plain[key] for key in ("seconds", "cpu_seconds")}
        for plain, row in zip(samples["plain"], samples["row"], strict=True)
    ]
    results["ratio"] = {key: median(pairs, key) for key in ("seconds", "cpu_seconds")}
    peak = results["row"]["peak_memory_kib"] * 1024
    results["memory_over_weights_and_cache_mib"] = (peak - allowed) / MIB + 384
    print(f"{TOKENS} tokens, {threads} thread{'s' * (threads > 1)}, median of {RUNS}")
    for mode in ("plain", "row"):
        print(
            f"  {mode:6} {results[mode]['cpu_seconds']:6.2f} s CPU, {results[mode]['seconds']:6.2f} s wall, "
            f"peak {results[mode]['peak_memory_kib'] / 1024:.0f} MiB"
        )
    print(
        f"  ratio  {results['ratio']['cpu_seconds']:.2f} CPU, {results['ratio']['seconds']:.2f} wall; peak "
        f"{peak / MIB:.0f} of {allowed / MIB:.0f} MiB: weights + cache + "
        f"{results['memory_over_weights_and_cache_mib']:.0f} MiB"
    )
    return results


def main() -> None:
    results = {"machine": machine(), "tokens": TOKENS, "runs": RUNS}
    with tempfile.TemporaryDirectory(prefix="attnflow.") as folder:
        weights = write_model(Path(folder))
        width = CONFIG["hidden_size"] // CONFIG["num_attention_heads"]
        cache = 2 * 4 * CONFIG["num_hidden_layers"] * TOKENS * CONFIG["num_key_value_heads"] * width
        check = run_json([str(BENCHMARK), folder, "check", str(CHECKED_TOKENS), "1"])
        if not check["largest_difference"] < 1e-6:
            sys.exit(f"the row is not the full rollout's: {check}")
        print(
            f"{CHECKED_TOKENS} tokens: largest difference from the full rollout's row "
            f"{check['largest_difference']:.1e} (largest value {check['largest_value']:.3g})"
        )
        print(f"weights {weights / MIB:.0f} MiB, keys and values {cache / MIB:.0f} MiB")
        results |= {"check": check, "weights_mib": weights / MIB, "cache_mib": cache / MIB}
        for threads in THREADS:
            results[f"threads_{threads}"] = measure(folder, threads, weights + cache + 384 * MIB)
    store("long_row", results)


if __name__ == "__main__":
    main()
