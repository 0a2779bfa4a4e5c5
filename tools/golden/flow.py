"""Flow of the golden stacks by two general solvers, written to tests/golden/flow.

    tools/golden/make                    writes it with everything else
    python3 tools/golden/flow.py         writes it alone, from tests/golden/minilm (needs NumPy, SciPy, NetworkX)

NetworkX uses Python integers, which are exact: every capacity is a multiple of 2^-BITS (asserted), so its maximum flow
is the true one; the nearest double is stored. SciPy uses int32: capacities rounded down to multiples of 2^-30 give a
lower bound, and the true capacities across its minimum cut an upper one. NetworkX's value must lie between them.
"""

import argparse
import math
import sys
from fractions import Fraction
from pathlib import Path

import networkx
import numpy as np
import scipy.sparse as sparse
from golden_io import replace_folder, write_npz
from networkx.algorithms.flow import dinitz
from rollout import add_residual, fuse
from scipy.sparse import csgraph

BITS = 120
SCALE = 2**30
CASES = ("tokens_8", "author", "cabinets")
# Names of the arrays of `cabinets`, and the settings they are computed with.
VARIANTS = {
    "residual_0": {"residual": 0.0},
    "heads_max": {"heads": "max"},
    "heads_3": {"heads": "3"},
    "to_layer_2": {"to_layer": 2},
}


def units(capacity):
    """The capacity in units of 2^-BITS."""
    exact = Fraction(float(capacity)) * 2**BITS
    if exact.denominator != 1:
        raise AssertionError(f"{capacity!r} is no multiple of 2^-{BITS}")
    return exact.numerator


def exact_flow(blocks, source, sink):
    """`blocks`: matrices from the top layer down. The nearest double to the maximum flow."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(((0, source), (len(blocks), sink)))
    for depth, block in enumerate(blocks):
        for query, key in np.argwhere(block):
            graph.add_edge((depth, int(query)), (depth + 1, int(key)), capacity=units(block[query, key]))
    value = networkx.maximum_flow_value(graph, (0, source), (len(blocks), sink), flow_func=dinitz)
    return float(Fraction(value, 2**BITS))


class SciPyNetwork:
    """All pairs of one top layer: node p after `depth` steps down is number depth * n + p."""

    def __init__(self, blocks):
        self.n = len(blocks[0])
        self.depth = len(blocks)
        places = [np.nonzero(block) for block in blocks]
        self.tail = np.concatenate([depth * self.n + query for depth, (query, _) in enumerate(places)])
        self.head = np.concatenate([(depth + 1) * self.n + key for depth, (_, key) in enumerate(places)])
        self.capacity = np.concatenate([block[place] for block, place in zip(blocks, places, strict=True)])
        integers = np.floor(self.capacity * SCALE).astype(np.int32)
        nodes = self.n * (self.depth + 1)
        self.matrix = sparse.csr_matrix((integers, (self.tail, self.head)), shape=(nodes, nodes))
        self.matrix.eliminate_zeros()

    def enclosure(self, source, sink):
        sink += self.depth * self.n
        result = csgraph.maximum_flow(self.matrix, source, sink)
        residual = self.matrix - result.flow
        residual.eliminate_zeros()
        inside = np.zeros(self.matrix.shape[0], bool)
        inside[csgraph.breadth_first_order(residual, source, return_predecessors=False)] = True
        if inside[sink]:
            raise AssertionError("SciPy's flow is not a maximum")
        across = inside[self.tail] & ~inside[self.head]
        return result.flow_value / SCALE, math.fsum(self.capacity[across])


def flow_arrays(attention, residual=0.5, heads="mean", to_layer=0):
    """flow, scipy_low and scipy_high, each [L - m, n, n]."""
    one_head = heads.isdecimal()
    tops = add_residual(fuse(attention, heads), residual)
    below = add_residual(fuse(attention), residual) if one_head else tops
    layers, n = len(tops), tops.shape[-1]
    flow, low, high = (np.zeros((layers - to_layer, n, n)) for _ in range(3))
    for layer in range(to_layer + 1, layers + 1):
        blocks = [tops[layer - 1], *(below[k - 1] for k in range(layer - 1, to_layer, -1))]
        network = SciPyNetwork(blocks)
        for source in range(n):
            for sink in range(n):
                at = (layer - to_layer - 1, source, sink)
                flow[at] = exact_flow(blocks, source, sink)
                low[at], high[at] = network.enclosure(source, sink)
                # The bounds are doubles: sums of a few hundred terms of size 1.
                if not low[at] - 1e-13 <= flow[at] <= high[at] + 1e-13:
                    raise AssertionError(f"SciPy and NetworkX differ: layer {layer}, {source} to {sink}")
    return {"flow": flow, "scipy_low": low, "scipy_high": high}


def generate(minilm, out):
    out.mkdir()
    for case in CASES:
        with np.load(minilm / f"{case}.npz") as file:
            attention = file["attention"]
        arrays = flow_arrays(attention)
        if case == "cabinets":
            for name, settings in VARIANTS.items():
                arrays |= {f"{key}_{name}": values for key, values in flow_arrays(attention, **settings).items()}
        write_npz(out / f"{case}.npz", arrays)


def main():
    golden = Path(__file__).resolve().parent.parent.parent / "tests" / "golden"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minilm", type=Path, default=golden / "minilm", help="where the attention is")
    parser.add_argument("--out", type=Path, default=golden / "flow", help="folder to write (tests/golden/flow)")
    arguments = parser.parse_args()
    replace_folder(arguments.out, lambda folder: generate(arguments.minilm, folder))


if __name__ == "__main__":
    sys.exit(main())
