"""Flow of the golden stacks by two general solvers, written to tests/golden/flow.

    tools/golden/make                    writes it with everything else
    python3 tools/golden/flow.py         writes it alone, from tests/golden/minilm (needs NumPy, SciPy, NetworkX)

NetworkX's value is the double nearest to the true maximum flow. SciPy's minimum cut gives a lower and an upper bound
(tools/reference/max_flow.py); NetworkX's value must lie between them.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from golden_io import replace_folder, write_npz

from reference.attention_graph import AttentionGraph
from reference.max_flow import Network

CASES = ("tokens_8", "author", "cabinets")
# Names of the arrays of `cabinets`, and the settings they are computed with.
VARIANTS = {
    "residual_0": {"residual": 0.0},
    "heads_max": {"heads": "max"},
    "heads_3": {"heads": "3"},
    "to_layer_2": {"start_layer": 2},
}


def flow_arrays(attention, **options):
    """flow, scipy_low and scipy_high, each [L - m, n, n]."""
    graph = AttentionGraph(attention, **options)
    networks = [Network(graph.matrices(layer)) for layer in range(graph.start_layer + 1, len(attention) + 1)]
    low, high = np.stack([network.enclosures() for network in networks], axis=1)
    tokens = range(attention.shape[-1])
    flow = np.array([[[network.exact(i, j) for j in tokens] for i in tokens] for network in networks])
    if not ((low <= flow) & (flow <= high)).all():
        raise AssertionError("SciPy and NetworkX differ")
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
