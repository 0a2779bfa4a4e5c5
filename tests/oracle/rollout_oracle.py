#!/usr/bin/env python3
"""Checks raw attention and rollout of a dump against float64 NumPy.

    rollout_oracle.py dump.npz [--residual 0.5] [--heads mean] [--start-layer 0] [--tolerance 1e-12]

Every value is compared; the largest absolute difference must be at most the tolerance. Exits with 0 if all agree, 1 if
not, 2 if nothing can be checked.
"""

import sys

import dump as dumps
import numpy as np


def check(arguments, dump):
    failures = []
    worst = {}
    compared = 0
    rows = dump.output_tokens
    start = dump.graph.start_layer
    for name, values in (("raw", dump.graph.weights[start:]), ("rollout", dump.graph.rollout())):
        found = dumps.require(dump, name, rows)
        worst[name] = 0.0
        for index, layer in enumerate(dump.layers):
            expected = values[layer - start - 1, rows]
            error = np.abs(found[index] - expected)
            worst[name] = max(worst[name], float(error.max()))
            compared += error.size
            # Written so that NaN fails.
            for row, column in np.argwhere(~(error <= arguments.tolerance)):
                failures.append(
                    f"{name} of layer {layer}, output token {rows[row]}, input token {column}: expected "
                    f"{expected[row, column]!r}, found {found[index, row, column]!r}"
                )
    if compared == 0:
        raise dumps.OracleError("there was nothing to compare")
    summary = (
        f"rollout_oracle: n = {dump.tokens}, layers {dump.layers[0]} to {dump.layers[-1]}: {compared} values compared, "
        f"largest difference raw {worst['raw']:.2g}, rollout {worst['rollout']:.2g} (at most {arguments.tolerance:g})"
    )
    return summary, failures


def more_arguments(parser):
    parser.add_argument("--tolerance", type=float, default=1e-12, help="largest absolute difference (%(default)s)")


if __name__ == "__main__":
    sys.exit(dumps.run(check, __doc__.splitlines()[0], more_arguments))
