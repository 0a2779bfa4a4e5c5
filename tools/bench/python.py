"""The cost of capturing attention in a PyTorch model, in time and memory; attention with rollout compared with
output_attentions and NumPy; and flow compared with NetworkX and SciPy.

Needs the package, torch and transformers; `./dev bench python` provides both. Weights are random. Answers are compared
before anything is timed; times are medians of runs that take turns. Memory is a separate process's peak beyond that of
a forward pass alone, without the libraries' pages, as a median of several.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import networkx
import numpy as np
import scipy
import torch
import transformers

import attnflow

RUNS = 9
PROCESSES = 3
LEAST = 0.05  # seconds: a call after a pause takes half a millisecond longer than the next ones


def encoder(implementation: str) -> Any:
    torch.manual_seed(1)
    config = transformers.BertConfig(vocab_size=1000)  # 12 layers of 12 heads, hidden size 768
    return transformers.BertModel._from_config(config, attn_implementation=implementation).eval()


def medians(work: dict[str, Callable[[], Any]], runs: int = RUNS) -> dict[str, float]:
    """Seconds of each, the median of runs in turn; a run shorter than LEAST is the mean of enough calls to reach it.

    Each begins when the one before is over: NumPy's threads spin for a tenth of a second after a product.
    """
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(runs):
        for name, run in work.items():
            time.sleep(0.3)
            begin, count, passed = time.perf_counter(), 0, 0.0
            while passed < LEAST:
                run()
                count, passed = count + 1, time.perf_counter() - begin
            times[name].append(passed / count)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def numpy_rollout(attentions: Any) -> Any:
    """As in the paper: mean over heads, residual 0.5, one product per layer; all layers."""
    found = []
    joint = None
    for layer in attentions:
        weights = layer[0].numpy().astype(np.float64).mean(axis=0)
        mixed = 0.5 * weights + 0.5 * np.eye(len(weights))
        joint = mixed if joint is None else mixed @ joint
        found.append(joint)
    return np.stack(found)


def row(name: str, seconds: float, base: float) -> str:
    return f"| {name} | {1000 * seconds:.3g} ms | {seconds / base:.3g} |"


def asked(model: Any, ids: Any) -> Any:
    return model(input_ids=ids, output_attentions=True).attentions


def captured(model: Any, ids: Any, fuse: str | None = None) -> Any:
    with attnflow.capture(model, fuse=fuse) as found:
        model(input_ids=ids)
    return found.attentions


CAPTURES: dict[str, Callable[[Any, Any], Any]] = {
    "`output_attentions=True`": asked,
    "`capture(model)`": captured,
    '`capture(model, fuse="mean")`': lambda model, ids: captured(model, ids, "mean"),
}


def tokenizer_of(ids: Any) -> tuple[Any, str]:
    """A tokenizer whose words are the tokens' numbers, and a text of these."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(1000)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0")
    return tokenizer, " ".join(f"w{int(number)}" for number in ids[0])


def explained(model: Any, ids: Any, **options: Any) -> Any:
    return attnflow.explain(model, *tokenizer_of(ids), method="rollout", check=False, **options)


def paper(model: Any, ids: Any) -> Any:
    attentions = asked(model, ids)  # kept until the rollout is done, as in a notebook
    return numpy_rollout(attentions)


def of_captured(model: Any, ids: Any, **options: Any) -> Any:
    found = captured(model, ids, "mean")
    return attnflow.rollout(found, **options)


ROLLOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "`output_attentions` and NumPy": paper,
    '`capture(model, fuse="mean")` and `rollout(...)` of all layers': of_captured,
    '`capture(model, fuse="mean")` and `rollout(..., layers=12)`': lambda model, ids: of_captured(
        model, ids, layers=12
    ),
    "`explain(...)`": explained,
    "`explain(..., only_output_token=True)`": lambda model, ids: explained(model, ids, only_output_token=True),
}


def peak_of(work: Callable[[], Any]) -> int:
    """This process's own memory in KiB, the peak while it works, sampled every half millisecond. (VmHWM also counts
    pages of libraries, which the system may reclaim at any time: differences were off by 60 MiB.)
    """
    most, working = 0, True

    def look() -> None:
        nonlocal most
        with open("/proc/self/statm", "rb", buffering=0) as sizes:
            while working:
                sizes.seek(0)
                _, resident, shared, *_ = map(int, sizes.read().split())
                most = max(most, resident - shared)
                time.sleep(0.0005)

    thread = threading.Thread(target=look)
    thread.start()
    kept = work()
    time.sleep(0.01)
    working = False
    thread.join()
    del kept
    return most * (resource.getpagesize() // 1024)


def memory_of(name: str) -> None:
    """Prints by how many KiB this process is larger than with a forward pass alone."""
    model = encoder("eager" if name.startswith("`output") else "sdpa")
    ids = torch.randint(5, 1000, (1, 512))
    with torch.no_grad():
        way = (CAPTURES | ROLLOUTS)[name]
        way(model, ids[:, :8])  # loads what is loaded only once
        for _ in range(3):  # until the heap has what a pass takes
            model(input_ids=ids)
        before = peak_of(lambda: model(input_ids=ids))
        print(peak_of(lambda: way(model, ids)) - before)


def memory_table(ways: dict[str, Callable[[Any, Any], Any]], what: str, of: str) -> None:
    print(
        f"| {what}, 512 tokens, 12 layers of 12 heads | memory beyond a forward pass | of {of} |\n| --- | --- | --- |"
    )
    base = 0.0
    for name in ways:
        command = [sys.executable, __file__, name]
        # Freed memory is returned at once: the heap's fragmentation varies by 60 MiB, whichever way is measured.
        environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
        grown = [int(subprocess.check_output(command, text=True, env=environment).split()[0]) for _ in range(PROCESSES)]
        mib = statistics.median(grown) / 1024
        base = base or mib
        print(f"| {name} | {mib:.0f} MiB | {mib / base:.2f} |")
    print()


def flow_network(layers: Any) -> tuple[Any, list[Any]]:
    """The paper's graph with residual 0.5, in NetworkX, and its nodes by layer."""
    depth, n, _ = layers.shape
    graph = networkx.DiGraph()
    for k in range(depth):
        mixed = 0.5 * layers[k] + 0.5 * np.eye(n)
        for i in range(n):
            for j in range(n):
                graph.add_edge((k + 1) * n + i, k * n + j, capacity=float(mixed[i, j]))
    return graph, list(range(n))


def scipy_flow(graph: Any, source: int, sinks: list[Any]) -> Any:
    scale = 2.0**20  # 32-bit integers
    arcs = [(u, v, round(c * scale)) for u, v, c in graph.edges(data="capacity")]
    rows, columns, units = (np.array(part) for part in zip(*arcs, strict=True))
    nodes = graph.number_of_nodes()
    matrix = scipy.sparse.csr_array((units.astype(np.int32), (rows, columns)), shape=(nodes, nodes))
    return np.array([scipy.sparse.csgraph.maximum_flow(matrix, source, sink).flow_value for sink in sinks]) / scale


def flow_table(model: Any) -> None:
    """One output token of a small input: NetworkX takes seconds for it."""
    ids = torch.randint(5, 1000, (1, 16))
    layers = np.stack([np.asarray(layer)[0].astype(np.float64).mean(axis=0) for layer in captured(model, ids)])
    graph, sinks = flow_network(layers)
    depth, n, _ = layers.shape
    source = depth * n  # the first token of the last layer
    push = networkx.algorithms.flow.edmonds_karp  # as in the paper's reference implementation

    def by_networkx() -> Any:
        return np.array([networkx.maximum_flow_value(graph, source, j, flow_func=push) for j in sinks])

    def ours() -> Any:
        return attnflow.flow(layers[:, None], output_token=0, only_output_token=True)

    def ours_of_all() -> Any:
        return attnflow.flow(layers[:, None], layers=depth)

    np.testing.assert_allclose(ours()[0, 0], by_networkx(), atol=1e-9)
    np.testing.assert_allclose(ours()[0, 0], scipy_flow(graph, source, sinks), atol=1e-3)
    np.testing.assert_array_equal(ours()[0, 0], ours_of_all()[0, 0])
    name = "`flow(..., only_output_token=True)`"
    work = {"NetworkX": by_networkx, "SciPy": lambda: scipy_flow(graph, source, sinks), name: ours}
    times = medians(work | {"`flow`, from all 16": ours_of_all}, 9)
    print("| flow from one output token, 16 tokens, 12 layers | time | of ours |\n| --- | --- | --- |")
    print("\n".join(row(one, seconds, times[name]) for one, seconds in times.items()) + "\n")


def main() -> None:
    """Prints the tables of docs/python.md."""
    sdpa, eager = encoder("sdpa"), encoder("eager")
    eager.load_state_dict(sdpa.state_dict())

    with torch.no_grad():
        for n in (512, 128):
            ids = torch.randint(5, 1000, (1, n))
            expected = numpy_rollout(asked(eager, ids))
            for fuse in (None, "mean"):
                np.testing.assert_allclose(attnflow.rollout(captured(sdpa, ids, fuse)), expected, atol=1e-6)
            if n == 512:
                name, base = "forward pass, 512 tokens, 12 layers", "SDPA"
                work = {
                    base: lambda ids=ids: sdpa(input_ids=ids),
                    "`output_attentions=True`, eager": lambda ids=ids: asked(eager, ids),
                    "`capture(model)`": lambda ids=ids: captured(sdpa, ids),
                    '`capture(model, fuse="mean")`': lambda ids=ids: captured(sdpa, ids, "mean"),
                }
            else:
                name, base = "attention and rollout, 128 tokens, 12 layers", "`output_attentions` and NumPy"
                work = {
                    base: lambda ids=ids: numpy_rollout(asked(eager, ids)),
                    '`capture(model, fuse="mean")` and `rollout`': lambda ids=ids: attnflow.rollout(
                        captured(sdpa, ids, "mean")
                    ),
                }
            medians(work)  # warm
            times = medians(work)
            print(f"| {name} | time | of {base} |\n| --- | --- | --- |")
            print("\n".join(row(one, seconds, times[base]) for one, seconds in times.items()) + "\n")
        memory_table(CAPTURES, "attention", "`output_attentions`")
        memory_table(ROLLOUTS, "attention and rollout", "`output_attentions` and NumPy")
        flow_table(sdpa)


if __name__ == "__main__":
    memory_of(sys.argv[1]) if len(sys.argv) > 1 else main()
