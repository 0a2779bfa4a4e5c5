"""Random small stacks and options: the program's raw attention, rollout and flow compared with tools/reference."""

import functools
from dataclasses import dataclass
from random import Random

import numpy as np
from running import DONE, Runner, wrong
from samples import npy_bytes, npz_bytes, stack

from reference.attention_graph import Ambiguous, AttentionGraph, divide_rows
from reference.max_flow import Network

# Float64 sums of at most a few hundred terms near 1, through at most four products.
ROUNDING = 1e-12
EXACT_PAIRS = 3


@dataclass
class Settings:
    heads: str
    residual: float
    discard: float
    keep_special: bool
    masked: tuple[int, ...]
    start_layer: int
    renormalize: bool
    normalize: str

    def graph(self, attention: np.ndarray, special: np.ndarray) -> AttentionGraph:
        return AttentionGraph(
            attention, self.heads, self.residual, self.start_layer, mask_columns=self.masked, discard=self.discard,
            discard_keeps=np.flatnonzero(special) if self.keep_special else (), renormalize=self.renormalize,
        )  # fmt: skip


def settings_of(random: Random, shape: tuple, any_weights: bool) -> Settings:
    heads = random.choice(("mean", "mean", "max", "min", str(random.randrange(shape[1]))))
    masked = (
        tuple(sorted(random.sample(range(shape[-1]), random.randint(1, min(2, shape[-1])))))
        if random.random() < 0.2
        else ()
    )
    return Settings(
        heads=heads,
        residual=random.choice((0.5, 0.5, 0.5, 0.0, 1.0, 0.25, 0.1, round(random.random(), 3))),
        discard=random.choice((0.0, 0.0, 0.0, 0.25, 0.5, 0.75, 0.125, 0.9375)),
        keep_special=random.random() < 0.3,
        masked=masked,
        start_layer=random.choice((0, 0, 0, *range(shape[0]))),
        renormalize=not any_weights and random.random() < 0.2,
        normalize=random.choice(("none", "none", "none", "row")),
    )


def arguments_of(settings: Settings, any_weights: bool) -> list:
    words: list = [
        "--heads",
        settings.heads,
        "--residual",
        repr(settings.residual),
        "--start-layer",
        settings.start_layer,
    ]
    words += ["--discard", settings.discard, "--normalize", settings.normalize]
    words += ["--discard-keep-special"] if settings.keep_special and settings.discard > 0 else []
    words += ["--mask-columns", ",".join(map(str, settings.masked))] if settings.masked else []
    words += ["--renormalize"] if settings.renormalize else []
    words += ["--any-weights"] if any_weights else []
    return words


def differs(found: np.ndarray, expected: np.ndarray, within: float | np.ndarray) -> bool:
    """Written so that NaN differs."""
    return not bool((np.abs(found - expected) <= within).all())


def at_worst(found: np.ndarray, expected: np.ndarray) -> str:
    place = np.unravel_index(np.nanargmax(np.abs(found - expected)), found.shape)
    return f"output token {place[0]}, input token {place[1]}: expected {expected[place]!r}, found {found[place]!r}"


def check_flow(
    random: Random, matrices: np.ndarray, normalize: str, layer: int, found: np.ndarray, gap: np.ndarray
) -> None:
    network = Network(matrices)
    low, high = network.enclosures()
    if normalize == "row":
        # The row's sum is the program's own, by which the finished values were divided.
        expected = divide_rows(low)
        slack = 4 * (high - low).max() * len(found) / np.maximum(low.sum(axis=1, keepdims=True), 1e-3)
        if differs(found, expected, slack + gap + ROUNDING):
            raise wrong(f"flow of layer {layer}, divided by rows: {at_worst(found, expected)}")
        return
    if not ((found + gap >= low - ROUNDING) & (found <= high + ROUNDING)).all():
        raise wrong(f"flow of layer {layer}: {at_worst(found, low)}")
    if len(matrices) == 1 and differs(found, matrices[0], 2.0**-59):
        raise wrong(f"flow of one layer, {layer}: {at_worst(found, matrices[0])}")
    n = len(found)
    for _ in range(EXACT_PAIRS):
        i, j = random.randrange(n), random.randrange(n)
        exact = network.exact(i, j)
        if not (found[i, j] - ROUNDING <= exact <= found[i, j] + gap[i, j] + ROUNDING):
            raise wrong(
                f"flow of layer {layer}, output token {i}, input token {j}: exactly {exact!r}, found {found[i, j]!r}"
            )


def case(random: Random, runner: Runner) -> None:
    attention = stack(random)
    any_weights = random.random() < 0.15
    if any_weights:
        attention = (attention * random.choice((0.3, 2.0, 1e-6, 50.0))).astype(attention.dtype)
    n = attention.shape[-1]
    special = np.array([random.random() < 0.25 for _ in range(n)])
    settings = settings_of(random, attention.shape, any_weights)
    settings.keep_special = settings.keep_special and bool(special.any())
    runner.write("a.npz", npz_bytes(
        {"attention.npy": npy_bytes(attention), "special.npy": npy_bytes(special)}, random.random() < 0.5))  # fmt: skip
    try:
        graph = settings.graph(attention, special)
    except Ambiguous:
        return case(random, runner)
    threads = random.choice((1, 2, 3))
    done = runner.run(
        "explain", "--attention", "a.npz", *arguments_of(settings, any_weights), "--output-token", "all", "-o", "out.npz",
        "--threads", threads, outputs=("out.npz",),
    )  # fmt: skip
    if done.code != DONE:
        raise wrong(f"refused: {done.said}")
    arrays = np.load(runner.path("out.npz"))
    layers = [int(layer) for layer in arrays["layers"]]
    if layers != list(range(settings.start_layer + 1, len(attention) + 1)) or arrays["flow"].shape[1:] != (n, n):
        raise wrong(f"found layers {layers} and flow of shape {arrays['flow'].shape}")
    largest = functools.reduce(max, (float(np.abs(arrays[name]).max()) for name in ("raw", "rollout")), 1.0)
    by_name = {"raw": graph.weights[settings.start_layer :], "rollout": graph.rollout()}
    for index, layer in enumerate(layers):
        for name, values in by_name.items():
            expected = divide_rows(values[index]) if settings.normalize == "row" else values[index]
            if differs(arrays[name][index], expected, ROUNDING * largest):
                raise wrong(f"{name} of layer {layer}: {at_worst(arrays[name][index], expected)}")
        flow, gap = arrays["flow"][index], arrays["flow_gap"][index]
        check_flow(random, graph.matrices(layer), settings.normalize, layer, flow, gap)
