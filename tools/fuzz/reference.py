"""Raw attention, rollout and flow as defined in docs/method.md, in NumPy and SciPy, written from that page alone.

It shares no code with the program or with tests/oracle. For small inputs only: every flow is solved separately.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import networkx
import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow


class Ambiguous(Exception):
    """Rounding decides which weight is discarded, which the page leaves open."""


@dataclass
class Settings:
    heads: str = "mean"  # mean, max, min or an index
    residual: float = 0.5
    discard: float = 0.0
    keep_special: bool = False
    masked: tuple[int, ...] = ()
    start_layer: int = 0
    renormalize: bool = False
    normalize: str = "none"


def divide_rows(matrix: np.ndarray) -> np.ndarray:
    sums = matrix.sum(axis=-1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)


def shares(matrix: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; a zero row becomes the identity's: its position keeps only itself."""
    is_empty = matrix.sum(axis=-1, keepdims=True) == 0
    return np.where(is_empty, np.eye(matrix.shape[-1]), divide_rows(matrix))


def fused(layer: np.ndarray, heads: str) -> np.ndarray:
    """Step 1, on [head, query, key] in float64."""
    if heads == "mean":
        return layer.mean(axis=0)
    if heads in ("max", "min"):
        return shares(getattr(layer, heads)(axis=0))
    return layer[int(heads)].copy()


def discarded(matrix: np.ndarray, share: float, spared: np.ndarray, exact: bool) -> np.ndarray:
    """Step 3: discards the smallest weights; among equal ones, those of later rows, then of later columns."""
    n = matrix.shape[0]
    count = floor(Fraction(share) * n * n)
    order = sorted(
        ((matrix[i, j], -i, -j) for i in range(n) for j in range(n) if not spared[j]),
    )
    if 0 < count < len(order):
        last, next_one = order[count - 1][0], order[count][0]
        if next_one > 0 and next_one - last <= 1e-12 * next_one and not (exact and next_one == last):
            raise Ambiguous
    result = matrix.copy()
    for _, i, j in order[:count]:
        result[-i, -j] = 0.0
    return result


def weights(layer: np.ndarray, heads: str, settings: Settings, special: np.ndarray) -> np.ndarray:
    """W of one layer: steps 1 to 4."""
    exact = layer.dtype == np.float32 and heads not in ("max", "min") and not settings.renormalize
    values = layer.astype(np.float64)
    if settings.renormalize:
        values = shares(values)
    before = fused(values, heads)
    after = before.copy()
    after[:, list(settings.masked)] = 0.0
    if settings.discard > 0:
        spared = special if settings.keep_special else np.zeros(len(special), bool)
        after = discarded(after, settings.discard, spared, exact)
    changed = ((before != 0) & (after == 0)).any(axis=1)
    return np.where(changed[:, np.newaxis], shares(after), after)


def with_residual(matrix: np.ndarray, rho: float) -> np.ndarray:
    return (1 - rho) * matrix + rho * np.eye(len(matrix))


def graph_of(blocks: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arcs (tail, head, capacity) of the layered network whose first block is nearest the output."""
    n = len(blocks[0])
    arcs = [
        (d * n + i, (d + 1) * n + j, block[i, j]) for d, block in enumerate(blocks) for i, j in np.argwhere(block > 0)
    ]
    tail, head, capacity = zip(*arcs, strict=True) if arcs else ((), (), ())
    return np.array(tail, np.int64), np.array(head, np.int64), np.array(capacity, np.float64)


def flow_bounds(blocks: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """Maximum flows of all pairs of the network, in float64, with capacities rounded down to multiples of a unit; and
    by how much they may be below the true ones."""
    n = len(blocks[0])
    tail, head, capacity = graph_of(blocks)
    largest = max(1.0, max(float(block.sum(axis=1).max()) for block in blocks))
    scale = 2**30 / largest
    nodes = n * (len(blocks) + 1)
    matrix = csr_matrix((np.floor(capacity * scale).astype(np.int32), (tail, head)), shape=(nodes, nodes))
    matrix.eliminate_zeros()
    values = np.array(
        [[maximum_flow(matrix, i, len(blocks) * n + j).flow_value for j in range(n)] for i in range(n)], np.float64
    )
    # A minimum cut of the rounded network has at most all arcs between two layers, each rounded by less than a unit.
    return values / scale, len(tail) / scale


def exact_flow(blocks: list[np.ndarray], source: int, sink: int) -> float:
    """The flow of one pair in exact integers, in units of 2^-60."""
    n = len(blocks[0])
    network = networkx.DiGraph()
    network.add_nodes_from((source, len(blocks) * n + sink))
    for tail, head, capacity in zip(*graph_of(blocks), strict=True):
        network.add_edge(int(tail), int(head), capacity=floor(Fraction(float(capacity)) * 2**60))
    return float(Fraction(int(networkx.maximum_flow_value(network, source, len(blocks) * n + sink)), 2**60))


class Reference:
    """All results for one stack [layer, head, query, key] and its settings; layers count from 1."""

    def __init__(self, attention: np.ndarray, settings: Settings, special: np.ndarray | None = None):
        self.settings = settings
        special = np.zeros(attention.shape[-1], bool) if special is None else special
        below = "mean" if settings.heads.isdigit() else settings.heads
        self.top = [weights(layer, settings.heads, settings, special) for layer in attention]
        self.below = [with_residual(weights(layer, below, settings, special), settings.residual) for layer in attention]

    def blocks(self, layer: int) -> list[np.ndarray]:
        """Blocks from layer `layer` down to just above the start layer."""
        first = with_residual(self.top[layer - 1], self.settings.residual)
        return [first, *(self.below[k - 1] for k in range(layer - 1, self.settings.start_layer, -1))]

    def raw(self, layer: int) -> np.ndarray:
        return self.finish(self.top[layer - 1])

    def rollout(self, layer: int) -> np.ndarray:
        product = np.eye(len(self.top[0]))
        for block in self.blocks(layer):
            product = product @ block
        return self.finish(product)

    def finish(self, values: np.ndarray) -> np.ndarray:
        return divide_rows(values) if self.settings.normalize == "row" else values
