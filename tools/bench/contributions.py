"""The cost of contribution edges compared with a decoder's forward pass, and with a plain PyTorch program for the same.

Writes build/experiments/edges-cost.md, which experiments/page puts into docs/edges.md.

SmolLM2-135M's shape, 512 tokens. graph_benchmark (graph/contribution_mixing_benchmark.cc) times all layers;
contributions_pytorch.py does the same with all n^2 vectors of a layer at once; the forward pass is the torch backend's,
with random weights. All three run in turn, so that a temporary slowdown of the machine affects all equally; numbers are
medians.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from long_row import BENCHMARK, CONFIG, write_model
from measured import ROOT, in_turn, machine, median, run_json, store

OURS = ROOT / "build" / "bench" / "graph_benchmark"
PEER = Path(__file__).with_name("contributions_pytorch.py")
TOKENS = 512
RUNS = int(os.environ.get("ATTNFLOW_BENCH_RUNS", "3"))
THREADS = (1, 2)
METHODS = ("norm", "alti", "ifr")
LINE = re.compile(r"(\w+) +([\d.]+) s, ([\d.]+) s of processors")


def shape(threads: int) -> list[str]:
    heads = CONFIG["num_attention_heads"]
    width = CONFIG["hidden_size"] // heads
    numbers = [CONFIG["num_hidden_layers"], CONFIG["hidden_size"], heads, CONFIG["num_key_value_heads"], width]
    return [str(number) for number in (*numbers, TOKENS, threads)]


def run_lines(command: list[str]) -> dict:
    """A program's output for each method: {"alti": .., "alti_cpu": ..}."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = LINE.findall(done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return {key: float(value) for name, wall, cpu in found for key, value in ((name, wall), (f"{name}_cpu", cpu))}


def measure(folder: str, threads: int) -> dict:
    takes = {
        "forward": lambda: run_json([str(BENCHMARK), folder, "plain", str(TOKENS), str(threads)]),
        "ours": lambda: run_lines([str(OURS), *shape(threads)]),
        "PyTorch": lambda: run_lines([sys.executable, str(PEER), *shape(threads)]),
    }
    samples = in_turn(takes, RUNS)
    forward = median(samples["forward"], "seconds")
    results = {"forward": forward}
    print(f"{TOKENS} tokens, {threads} thread{'s' * (threads > 1)}, median of {RUNS}: forward pass {forward:.2f} s")
    for method in METHODS:
        one = {"ours": median(samples["ours"], method)}
        one["with_forward"] = 1 + one["ours"] / forward
        text = f"  {method:5} {one['ours']:.2f} s, with the forward pass {one['with_forward']:.2f} times as long"
        if method in samples["PyTorch"][0]:
            one["PyTorch"] = median(samples["PyTorch"], method)
            one["faster"] = one["PyTorch"] / one["ours"]
            text += f"; PyTorch {one['PyTorch']:.2f} s, {one['faster']:.1f} times ours"
        results[method] = one
        print(text)
    return results


def page(results: dict) -> str:
    rows = [
        "| edges | threads | seconds | with the forward pass, which is 1 | PyTorch, over ours |",
        "| --- | --: | --: | --: | --: |",
    ]
    for threads in THREADS:
        found = results[f"threads_{threads}"]
        for method in METHODS:
            one = found[method]
            faster = f"{one['faster']:.0f}" if "faster" in one else ""
            rows.append(f"| {method} | {threads} | {one['ours']:.2f} | {one['with_forward']:.2f} | {faster} |")
    return (
        "\n".join(rows)
        + f"\n\n`./dev bench contributions`: medians of {results['runs']} runs in turn, {results['tokens']} tokens, "
        f"{CONFIG['num_hidden_layers']} layers of SmolLM2-135M's shape with random weights in float32; "
        f"{results['machine']}. Forward pass: {results['threads_1']['forward']:.2f} s on one thread.\n"
    )


def main() -> None:
    results = {"machine": machine(), "tokens": TOKENS, "runs": RUNS}
    with tempfile.TemporaryDirectory(prefix="attnflow.") as folder:
        write_model(Path(folder))
        for threads in THREADS:
            results[f"threads_{threads}"] = measure(folder, threads)
    store("contributions", results)
    pages = ROOT / "build" / "experiments"
    pages.mkdir(parents=True, exist_ok=True)
    (pages / "edges-cost.md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
