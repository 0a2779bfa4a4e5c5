"""Flow of one output token of a long text: how its time grows with the number of tokens.

SmolLM2-135M-Instruct (4-bit GGUF, 30 layers) reads about the first N tokens of prose.txt (repeated from its beginning
if N is larger). The program gives the attention of all layers, mean over heads; attnflow_time_flow then times only the
flow of the last token through all 30 layers. The whole program, `attnflow explain --only-output-token --method
rollout,flow`, is timed as well, with its peak memory.

The answers are checked first: enclosures of sampled pairs at 268 and 900 tokens agree with SciPy's maximum_flow in the
network built here from raw attention (int32 units of 2^-28). ATTNFLOW_BENCH_RUNS: most runs (5; those that take ten
seconds are not repeated). ATTNFLOW_BENCH_TOKENS: lengths, comma-separated. ATTNFLOW_BENCH_PROGRAMS: folder of
attnflow_time_flow.

flow/long_report.py writes the report, also into docs/flow.md: long_report.py build/bench/long.json docs/flow.md.
"""

import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from measured import PROGRAM, ROOT, machine, run_json, run_timed, store
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

MODEL = os.environ.get("ATTNFLOW_SMOLLM2", str(ROOT / ".cache/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
PROSE = Path(__file__).resolve().parent / "prose.txt"
TOKENS = [int(n) for n in os.environ.get("ATTNFLOW_BENCH_TOKENS", "136,268,540,900,2000").split(",")]
CHECKED = {268: 10, 900: 6}  # tokens: pairs
RUNS = int(os.environ.get("ATTNFLOW_BENCH_RUNS", "5"))
SECONDS = 20
PROGRAMS = Path(os.environ.get("ATTNFLOW_BENCH_PROGRAMS", ROOT / "build" / "bench" / "bin"))
# Name, threads, largest width of enclosures.
TAKES = (("1", 1, 0.0), ("2", 2, 0.0), ("loose", 1, 0.01))
UNIT_EXPONENT = 28
# For the prose with SmolLM2's tokenizer.
WORDS_PER_TOKEN = 1007 / 1228
MOST_GAP = 1e-9


def text_of(tokens: int) -> str:
    """About this many tokens of the prose, in whole words."""
    words = PROSE.read_text(encoding="utf-8").split(" ")
    count = round(tokens * WORDS_PER_TOKEN)
    return " ".join((words * (count // len(words) + 1))[:count])


def explain(text: str, *options: object) -> list[str]:
    command = [str(PROGRAM), "explain", text, "--model", MODEL, "--mixing", "attention"]
    return command + [str(option) for option in options]


def run(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[-1]}: status {done.returncode}\n{done.stderr.strip()}")


def scipy_flow(capacity: np.ndarray, sink: int) -> tuple[float, float]:
    """Bounds on the maximum flow from the top layer's last token to token `sink`; `capacity` is [layer, query, key]."""
    layers, n, _ = capacity.shape
    units = np.floor(capacity * 2.0**UNIT_EXPONENT).astype(np.int64)
    tails, heads, sizes = [], [], []
    for layer in range(layers):
        rows = [n - 1] if layer == layers - 1 else range(sink, n)
        block = units[layer][rows][:, sink:] if layer > 0 else units[layer][rows][:, sink : sink + 1]
        tail, head = np.nonzero(block)
        tails.append((layer + 1) * n + np.asarray(rows)[tail])
        heads.append(layer * n + sink + head)
        sizes.append(block[tail, head])
    size = ((layers + 1) * n,) * 2
    tail, head, arcs = (np.concatenate(part) for part in (tails, heads, sizes))
    network = csr_matrix((arcs.astype(np.int32), (tail, head)), shape=size)
    value = int(maximum_flow(network, (layers + 1) * n - 1, sink).flow_value)
    return value * 2.0**-UNIT_EXPONENT, (value + len(arcs)) * 2.0**-UNIT_EXPONENT


def raw_attention(text: str, folder: Path) -> np.ndarray:
    """[layer, query, key], mean over heads."""
    run(explain(text, "--method", "raw", "-o", folder / "raw.npz"))
    with np.load(folder / "raw.npz") as arrays:
        return arrays["raw"]


def check(tokens: int, pairs: int, folder: Path) -> dict:
    text = text_of(tokens)
    raw = raw_attention(text, folder)
    run(explain(text, "--only-output-token", "--method", "flow", "-o", folder / "flow.npz"))
    with np.load(folder / "flow.npz") as arrays:
        low, gap = arrays["flow"][0, 0], arrays["flow_gap"][0, 0]
    n = raw.shape[-1]
    capacity = 0.5 * raw + 0.5 * np.eye(n)
    # The program recomputes rows tile by tile: float32 roundings differ from those of the whole matrices.
    slack = n * 2.0**-23
    largest = 0.0
    for sink in np.linspace(1, n - 2, pairs).astype(int):
        least, most = scipy_flow(capacity, sink)
        if not least - slack <= low[sink] <= low[sink] + gap[sink] <= most + slack:
            sys.exit(f"{n} tokens, input {sink}: SciPy has {least} to {most}, found {low[sink]} + {gap[sink]}")
        largest = max(largest, abs(low[sink] - least))
    print(f"{n} tokens: {pairs} enclosures agree with SciPy, the largest difference is {largest:.1e}")
    return {"tokens": n, "pairs": pairs, "largest_difference": largest}


def write_stack(text: str, folder: Path) -> tuple[int, int]:
    """Writes raw.npy, float32 [layer, 1, query, key]; returns layers and tokens."""
    raw = raw_attention(text, folder)
    np.save(folder / "raw.npy", raw[:, None].astype(np.float32))
    return raw.shape[:2]


def apart(function: Callable, *arguments: object) -> object:
    """In a separate process: a program's peak memory includes that of the process that started it."""
    with ProcessPoolExecutor(1) as process:
        return process.submit(function, *arguments).result()


def measure(tokens: int, folder: Path) -> dict:
    text = text_of(tokens)
    layers, n = apart(write_stack, text, folder)
    found = {"tokens": n}
    for name, threads, gap in TAKES:
        command = [PROGRAMS / "attnflow_time_flow", "values", folder / "raw.npy", "--layer", layers, "--max-gap", gap]
        command += ["--output-token", n - 1, "--threads", threads, "--runs", RUNS, "--seconds", SECONDS]
        timed = run_json([str(part) for part in command])
        if not timed["largest_gap"] <= max(gap, MOST_GAP):
            sys.exit(f"{n} tokens: an enclosure is {timed['largest_gap']} wide")
        found[f"flow_seconds_{name}"] = statistics.median(timed["seconds"])
    whole = run_timed(
        explain(text, "--only-output-token", "--method", "rollout,flow", "-o", folder / "row.npz"),
    )
    found |= {"program_seconds": whole["seconds"], "program_mib": whole["peak_memory_kib"] / 1024}
    print(
        f"  {n:5} tokens: flow {found['flow_seconds_1']:7.3f} s on one thread, {found['flow_seconds_2']:7.3f} s on two, "
        f"{found['flow_seconds_loose']:.3f} s within 0.01; "
        f"whole program {found['program_seconds']:.1f} s, {found['program_mib']:.0f} MiB"
    )
    return found


def exponent(results: list[dict], key: str) -> float:
    """Growth exponent in the number of tokens: the slope of a line through the logarithms."""
    points = [(math.log(one["tokens"]), math.log(max(one[key], 1e-3))) for one in results]
    return float(np.polyfit(*zip(*points, strict=True), 1)[0])


def main() -> None:
    results = {"machine": machine(), "checks": [], "lengths": []}
    with tempfile.TemporaryDirectory(prefix="attnflow.") as scratch:
        folder = Path(scratch)
        for tokens, pairs in CHECKED.items():
            results["checks"].append(apart(check, tokens, pairs, folder))
        for tokens in TOKENS:
            results["lengths"].append(measure(tokens, folder))
    if len(TOKENS) > 1:
        keys = [*(f"flow_seconds_{name}" for name, _, _ in TAKES), "program_seconds"]
        results["exponents"] = {key: exponent(results["lengths"], key) for key in keys}
    store("long", results)
    script = Path(__file__).resolve().parent / "flow" / "long_report.py"
    sys.exit(subprocess.run([sys.executable, script, ROOT / "build" / "bench" / "long.json"]).returncode)


if __name__ == "__main__":
    main()
