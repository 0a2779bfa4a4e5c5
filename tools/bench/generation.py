"""The cost of reading attention during generation: SmolLM2-135M-Instruct (4-bit GGUF), greedy, one thread, no flash
attention.

    (a) bare     libllama by itself
    (b) plain    attnflow's backend without a sink
    (c) capture  with the attention of every step passed on
    (d) rollout  with the incremental rollout of all layers over the prompt's columns

Checks that all four generate the same tokens, runs them in turn and prints medians. Speeds are those of the generated
tokens; the prompt's time is given next to them. The whole program (`attnflow generate`, with raw attention and rollout
of all layers kept and written) is measured as the difference between a long and a short generation.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from measured import PROGRAM, ROOT, in_turn, machine, median, run_json, run_timed, store

BENCHMARK = PROGRAM.parent / "attnflow_generation_benchmark"
MODEL = os.environ.get("ATTNFLOW_SMOLLM2", str(ROOT / ".cache/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
TEXT = Path(__file__).resolve().parent / "prose.txt"
MODES = ("bare", "plain", "capture", "rollout")
TOKENS = 64
RUNS = int(os.environ.get("ATTNFLOW_BENCH_RUNS", "9"))
# Prompt tokens and runs: for long prompts, the prompt itself takes most of the time.
PROMPTS = {100: RUNS, 1000: max(3, RUNS // 3)}


def take(mode: str, prompt: int) -> dict:
    return run_json([str(BENCHMARK), MODEL, mode, str(TEXT), str(prompt), str(TOKENS), "1"])


def measure_modes(prompt: int, runs: int) -> dict:
    first = {mode: take(mode, prompt) for mode in MODES}  # the warm-up
    if len({tuple(one["ids"]) for one in first.values()}) != 1 or len(first["bare"]["ids"]) != TOKENS + 1:
        sys.exit(f"the tokens differ: { ({mode: one['ids'] for mode, one in first.items()}) }")
    share = first["rollout"]["prompt_share"]
    if not 0 < share < 1 + 1e-9:
        sys.exit(f"a rollout row's share on the prompt is {share}")
    samples = in_turn({mode: lambda mode=mode: take(mode, prompt) for mode in MODES}, runs)
    if {one["prompt_share"] for one in samples["rollout"]} != {share}:
        sys.exit("repetitions gave different rollout rows")
    print(f"{prompt} prompt tokens, {TOKENS} generated, median of {runs}; tokens a second by CPU time (by wall time)")
    results = {}
    for mode in MODES:
        keys = ("seconds", "cpu_seconds", "prompt_seconds", "prompt_cpu_seconds", "peak_memory_kib")
        results[mode] = {key: median(samples[mode], key) for key in keys}
        # Consecutive runs are affected alike by other activity on the machine.
        pairs = [
            {key: a[key] / b[key] for key in ("cpu_seconds", "seconds")}
            for a, b in zip(samples["bare"], samples[mode], strict=True)
        ]
        results[mode]["speed_of_bare"] = median(pairs, "cpu_seconds")
        results[mode]["speed_of_bare_wall"] = median(pairs, "seconds")
        print(
            f"  {mode:8} {TOKENS / results[mode]['cpu_seconds']:6.1f} ({TOKENS / results[mode]['seconds']:.1f})"
            f"  of bare {results[mode]['speed_of_bare']:.2f} ({results[mode]['speed_of_bare_wall']:.2f})"
            f"  prompt {results[mode]['prompt_cpu_seconds']:.2f} s"
            f"  peak {results[mode]['peak_memory_kib'] / 1024:.0f} MiB"
        )
    results["ids"] = first["bare"]["ids"]
    results["prompt"] = first["bare"]["prompt"]
    return results


def measure_program(prompt_tokens: int, prompt: str, ids: list[int], runs: int) -> dict:
    """Seconds for TOKENS generated tokens in the whole program."""
    with tempfile.TemporaryDirectory() as folder:
        out, document = Path(folder) / "out.npz", Path(folder) / "out.json"
        command = [str(PROGRAM), "generate", prompt, "--model", MODEL, "--threads", "1", "--ignore-end"]
        run_timed([*command, "-n", str(TOKENS + 1), "-o", str(document)])
        found = [token["id"] for token in json.loads(document.read_text())["generation"]["tokens"]]
        if found != ids:
            sys.exit(f"attnflow generate gave other tokens: {found}")
        samples = in_turn(
            {
                "bare": lambda: take("bare", prompt_tokens),
                "long": lambda: run_timed([*command, "-n", str(TOKENS + 1), "-o", str(out)]),
                "short": lambda: run_timed([*command, "-n", "1", "-o", str(out)]),
            },
            runs,
        )
    results = {}
    for key in ("cpu_seconds", "seconds"):
        found = [
            {"program": long[key] - short[key], "ratio": bare[key] / (long[key] - short[key])}
            for bare, long, short in zip(*samples.values(), strict=True)
        ]
        results[key] = median(found, "program")
        results[f"speed_of_bare_by_{key}"] = median(found, "ratio")
    print(
        f"  {'program':8} {TOKENS / results['cpu_seconds']:6.1f} ({TOKENS / results['seconds']:.1f})"
        f"  of bare {results['speed_of_bare_by_cpu_seconds']:.2f} ({results['speed_of_bare_by_seconds']:.2f})"
    )
    return results


def main() -> None:
    results = {"machine": machine(), "model": Path(MODEL).name, "tokens": TOKENS}
    for prompt, runs in PROMPTS.items():
        found = measure_modes(prompt, runs)
        if prompt == min(PROMPTS):
            found["program"] = measure_program(prompt, found["prompt"], found["ids"], runs)
        results[f"prompt_{prompt}"] = found
    store("generation", results)


if __name__ == "__main__":
    main()
