"""What capturing attention costs a model of PyTorch, and attention with rollout against output_attentions with NumPy.

Needs the package, torch and transformers: `./dev bench python` sees to both. Weights are random. Answers are compared
before anything is timed; times are medians of runs that take turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers

import attnflow

RUNS = 3


def encoder(implementation: str) -> Any:
    torch.manual_seed(1)
    config = transformers.BertConfig(vocab_size=1000)  # 12 layers of 12 heads, hidden size 768
    return transformers.BertModel._from_config(config, attn_implementation=implementation).eval()


def medians(work: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each, the median of runs in turn."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(RUNS):
        for name, run in work.items():
            begin = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def numpy_rollout(attentions: Any) -> Any:
    """Of the paper: heads by their mean, residual 0.5, a product a layer; all layers."""
    found = []
    joint = None
    for layer in attentions:
        weights = layer[0].numpy().astype(np.float64).mean(axis=0)
        mixed = 0.5 * weights + 0.5 * np.eye(len(weights))
        joint = mixed if joint is None else mixed @ joint
        found.append(joint)
    return np.stack(found)


def row(name: str, seconds: float, base: float) -> str:
    return f"| {name} | {1000 * seconds:.0f} ms | {seconds / base:.2f} |"


def main() -> None:
    """Prints the two tables of docs/python.md."""
    sdpa, eager = encoder("sdpa"), encoder("eager")
    eager.load_state_dict(sdpa.state_dict())

    def asked(ids: Any) -> Any:
        return eager(input_ids=ids, output_attentions=True).attentions

    def captured(ids: Any, fuse: str | None = None) -> Any:
        with attnflow.capture(sdpa, fuse=fuse) as found:
            sdpa(input_ids=ids)
        return found.attentions

    with torch.no_grad():
        for n in (512, 128):
            ids = torch.randint(5, 1000, (1, n))
            expected = numpy_rollout(asked(ids))
            for fuse in (None, "mean"):
                np.testing.assert_allclose(attnflow.rollout(captured(ids, fuse)), expected, atol=1e-6)
            if n == 512:
                name, base = "forward pass, 512 tokens, 12 layers", "SDPA"
                work = {
                    base: lambda ids=ids: sdpa(input_ids=ids),
                    "`output_attentions=True`, eager": lambda ids=ids: asked(ids),
                    "`capture(model)`": lambda ids=ids: captured(ids),
                    '`capture(model, fuse="mean")`': lambda ids=ids: captured(ids, "mean"),
                }
            else:
                name, base = "attention and rollout, 128 tokens, 12 layers", "`output_attentions` and NumPy"
                work = {
                    base: lambda ids=ids: numpy_rollout(asked(ids)),
                    '`capture(model, fuse="mean")` and `rollout`': lambda ids=ids: attnflow.rollout(
                        captured(ids, "mean")
                    ),
                }
            medians(work)  # warm
            times = medians(work)
            print(f"| {name} | time | of {base} |\n| --- | --- | --- |")
            print("\n".join(row(one, seconds, times[base]) for one, seconds in times.items()) + "\n")


if __name__ == "__main__":
    main()
