"""The libtorch backend on a GPU: is it correct, and how does its time compare with the CPU's?

    gpu.py [families] [MODEL]...      everything, or the parts named; MODEL: see SIZES

Needs a machine with a GPU, PyTorch and transformers, and a build with ATTNFLOW_PYTORCH (docs/building.md).

First, every family in tests/families is compared with transformers on the CPU. Then models of realistic size with
random weights: each command in turn on CPU and GPU, as whole processes, so that loading the model and starting CUDA are
included. Threads: all processors.
"""

import concurrent.futures
import itertools
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers
from measured import PROGRAM, ROOT, in_turn, machine, median, run_json, run_timed, store

sys.path.append(str(ROOT / "tests" / "families"))
import families  # noqa: E402

TOLERANCE = 2e-5  # as in the tests on the CPU
LONG_ROW = PROGRAM.parent / "attnflow_long_row_benchmark"
RUNS = int(os.environ.get("ATTNFLOW_BENCH_RUNS", "3"))
PROSE = (Path(__file__).parent / "prose.txt").read_text()
DEVICES = ("cpu", "cuda")
ROWS = {"plain": "the forward pass alone", "row": "the forward pass and one rollout row"}

LLAMA = {"num_key_value_heads": 3, "rope_theta": 100000.0, "tie_word_embeddings": True}
SIZES: dict[str, tuple[str, dict[str, Any]]] = {
    "SmolLM2-135M": (
        "llama",
        {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9} | LLAMA,
    ),
    "Llama-3.2-1B": (
        "llama",
        {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "tie_word_embeddings": True,
        },
    ),
    "BERT base": ("bert", {}),
}


def difference_of(name: str) -> float | str:
    """The largest difference for a family, or a description of what went wrong."""
    torch.set_num_threads(1)
    families.DEVICE = "cuda"
    try:
        return families.outcome_of(families.FAMILIES[name]).worst
    except Exception as problem:  # one family's failure should not hide the others'
        return f"{type(problem).__name__}: {problem}"


def check_families() -> dict[str, float | str]:
    names = list(families.FAMILIES)
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(8, os.cpu_count() or 1), spawn) as pool:
        return dict(zip(names, pool.map(difference_of, names), strict=True))


def write(name: str, folder: Path) -> families.Family:
    kind, given = SIZES[name]
    family = families.FAMILIES[kind]
    config = transformers.CONFIG_MAPPING[kind](
        vocab_size=49152 if family.is_decoder else 30522, max_position_embeddings=4096, **given
    )
    classes = transformers.AutoModelForCausalLM if family.is_decoder else transformers.AutoModelForMaskedLM
    torch.manual_seed(0)
    families.save(classes.from_config(config), family, folder)
    return family


def timed(command: list[str]) -> dict[str, float]:
    samples = in_turn(
        {device: lambda device=device: run_timed([*command, "--device", device]) for device in DEVICES}, RUNS
    )
    return {device: median(samples[device], "seconds") for device in DEVICES}


def commands(folder: Path, family: families.Family) -> dict[str, list[str]]:
    """The commands to time, by name. Decoders' tokens are bytes, encoders' are words."""

    def explain(tokens: int, *options: str) -> list[str]:
        text = PROSE[:tokens] if family.is_decoder else " ".join(["the key to the old cabinets"] * (tokens // 6))
        return [str(PROGRAM), "explain", text, "--model", str(folder), "--json", *options]

    plain = ("--mixing", "attention", "--method", "rollout")
    if not family.is_decoder:
        return {
            "explain 500 tokens, rollout": explain(500, *plain),
            "explain 500 tokens, ALTI rollout": explain(500, "--mixing", "alti", "--method", "rollout"),
        }
    return {
        "explain 1,000 tokens, rollout": explain(1000, *plain),
        "explain 1,000 tokens, one output token": explain(1000, *plain, "--only-output-token"),
        "explain 500 tokens, relevance rollout": explain(500, "--mixing", "relevance", "--method", "rollout"),
        "explain 500 tokens, flow of one output token": explain(500, *plain[:3], "flow"),
        "generate 20 tokens behind 200": [
            *(str(PROGRAM), "generate", PROSE[:200], "-n", "20", "--ignore-end", "--model", str(folder), "--json"),
            *plain,
        ],
    }


def time_model(name: str) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory(prefix="attnflow.") as folder:
        family = write(name, Path(folder))
        table = {what: timed(command) for what, command in commands(Path(folder), family).items()}
        if not family.is_decoder:
            return table
        for tokens, (mode, what) in itertools.product((1000, 4000), ROWS.items()):
            command = [str(LONG_ROW), folder, mode, str(tokens), str(os.cpu_count())]
            table[f"{what}, {tokens:,} tokens"] = {
                device: run_json([*command, device])["seconds"] for device in DEVICES
            }
    return table


def main(parts: list[str]) -> int:
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    gpu = torch.cuda.get_device_name()
    print(f"{machine()}, {gpu}, PyTorch {torch.__version__}, transformers {transformers.__version__}")
    results: dict[str, Any] = {"machine": machine(), "gpu": gpu}
    bad: dict[str, float | str] = {}
    if not parts or "families" in parts:
        found = results["families"] = check_families()
        numbers = [one for one in found.values() if isinstance(one, float)]
        print(f"{len(numbers)} of {len(found)} families run, largest difference {max(numbers, default=0.0):.0e}")
        bad = {name: one for name, one in found.items() if isinstance(one, str) or one > TOLERANCE}
        for name, one in bad.items():
            print(f"  {name}: {one}")

    print(f"\n| model | what (medians of {RUNS}) | CPU, s | GPU, s |\n| --- | --- | --: | --: |")
    for name in SIZES:
        if parts and name not in parts:
            continue
        results[name] = time_model(name)
        for what, seconds in results[name].items():
            print(f"| {name} | {what} | {seconds['cpu']:.2f} | {seconds['cuda']:.2f} |", flush=True)
    store("gpu", results)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
