#!/usr/bin/env python3
"""Checks the flow of a dump against SciPy's and NetworkX's maximum flow.

    flow_oracle.py dump.npz [--residual 0.5] [--heads mean] [--start-layer 0] [--pairs 200] [--seed 1]

Checks every pair up to 24 tokens, otherwise --pairs pairs chosen by --seed (0: every pair), evenly over the layers.

The program's [flow, flow + flow_gap] must overlap SciPy's enclosure and contain NetworkX's exact flow of a few pairs
(tools/reference/max_flow.py). The summary gives the largest width of an enclosure.

Also checked: one layer down, flow is A itself; rollout <= flow + gap; gaps are within the requested tolerance; a pair
flagged as degenerate equals the end cut it names, and one that is not flagged equals neither. Exits with 0 if all
agree, 1 if not, 2 if nothing can be checked.
"""

import sys

import dump as dumps
import numpy as np

from reference.max_flow import ROUNDING, Network


def end_cuts(dump, layer):
    """Two cuts for every pair: the arcs into j from nodes that i reaches, and those out of i to nodes that reach j."""
    n = dump.tokens
    matrices = dump.graph.matrices(layer)
    first, top = matrices[0], matrices[-1]
    between = np.eye(n, dtype=bool)  # from nodes after layer l - 1 to nodes after layer m + 1
    for matrix in matrices[-2:0:-1]:
        between = between.astype(int) @ (matrix > 0).astype(int) > 0
    reach_down = (top > 0).astype(int) @ between.astype(int) > 0  # [i, node after layer m + 1]
    reach_up = between.astype(int) @ (first > 0).astype(int) > 0  # [node after layer l - 1, j]
    return reach_down.astype(float) @ first, top @ reach_up.astype(float)


def choose_pairs(arguments, dump, rows):
    """Triples (index of the layer, index of the row, input token)."""
    n = dump.tokens
    every = arguments.pairs == 0 or n <= 24
    random = np.random.RandomState(arguments.seed)
    chosen = []
    for index in range(len(dump.layers)):
        total = len(rows) * n
        share = arguments.pairs // len(dump.layers) + (index < arguments.pairs % len(dump.layers))
        places = range(total) if every else random.choice(total, min(share, total), replace=False)
        chosen += [(index, int(place) // n, int(place) % n) for place in places]
    return chosen


class Checker:
    def __init__(self, arguments, dump):
        self.arguments = arguments
        self.dump = dump
        self.rows = dump.flow_output_tokens
        self.flow = dumps.require(dump, "flow", self.rows)
        self.gap = dumps.require(dump, "flow_gap", self.rows)
        self.flags = dumps.require(dump, "flow_degenerate", self.rows)
        self.failures = []
        self.width = 0.0
        self.outside = 0.0

    def fail(self, what, index, row, token, detail):
        place = f"layer {self.dump.layers[index]}, output token {self.rows[row]}, input token {token}"
        found = f"flow {self.flow[index, row, token]!r} + gap {self.gap[index, row, token]:.3g}"
        self.failures.append(f"{what}, {place}: {found}; {detail}")

    def compare(self, name, pair, low, high):
        """`low` and `high` are the bounds that the solver `name` gives for the flow of the pair."""
        index, row, token = pair
        self.width = max(self.width, high - low)
        found_low = self.flow[index, row, token]
        found_high = found_low + self.gap[index, row, token]
        distance = max(found_low - high, low - found_high)
        self.outside = max(self.outside, distance)
        if not distance <= ROUNDING:
            self.fail(name, index, row, token, f"expected within [{low!r}, {high!r}]")

    def check_enclosures(self):
        for index, row, token in np.argwhere(~((self.gap >= 0) & (self.gap <= self.arguments.flow_tolerance))):
            self.fail("gap", index, row, token, f"expected a gap of 0 to {self.arguments.flow_tolerance:g}")

    def check_one_layer(self):
        checked = 0
        for index, layer in enumerate(self.dump.layers):
            if layer != self.dump.graph.start_layer + 1:
                continue
            expected = self.dump.graph.top[layer - 1][self.rows]
            checked += expected.size
            for row, token in np.argwhere(~(np.abs(self.flow[index] - expected) <= 1e-15)):
                self.fail("one layer", index, row, token, f"expected {expected[row, token]!r}")
        return checked

    def check_rollout(self):
        """Rollout is a feasible flow. Returns the number of pairs compared."""
        if "rollout" not in self.dump.arrays:
            return 0
        rollout = dumps.require(self.dump, "rollout", self.dump.output_tokens)
        shared = [row for row, token in enumerate(self.rows) if token in self.dump.output_tokens]
        if not shared:
            return 0
        least = rollout[:, [self.dump.output_tokens.index(self.rows[row]) for row in shared]]
        high = (self.flow + self.gap)[:, shared]
        for index, row, token in np.argwhere(~(least <= high + ROUNDING)):
            self.fail("rollout above flow", index, shared[row], token, f"rollout {least[index, row, token]!r}")
        return least.size

    def check_flags(self):
        """Returns the number of flagged pairs."""
        if not np.isin(self.flags, (0, 1, 2)).all():
            raise dumps.OracleError("flow_degenerate: expected 0, 1 or 2")
        # Values at the edge of the tolerance may fall on either side, depending on rounding.
        within = self.arguments.degenerate_tolerance * 1.001 + ROUNDING
        beyond = self.arguments.degenerate_tolerance * 0.999 - ROUNDING
        for index, layer in enumerate(self.dump.layers):
            flags = self.flags[index]
            high = self.flow[index] + self.gap[index]
            column, row_mass = (cut[self.rows] for cut in end_cuts(self.dump, layer))
            several = layer - self.dump.graph.start_layer > 1
            for what, wrong, cut in (
                (
                    "flag 1 (first layer's column)",
                    (flags == 1) & ~(several & (np.abs(high - column) <= within)),
                    column,
                ),
                ("flag 2 (top row)", (flags == 2) & ~(several & (np.abs(high - row_mass) <= within)), row_mass),
                # Without a path both cuts are 0, and the pair cannot be degenerate.
                (
                    "no flag",
                    (flags == 0) & several & (row_mass > 0) & ~(np.minimum(column, row_mass) - high > beyond),
                    np.minimum(column, row_mass),
                ),
            ):
                for row, token in np.argwhere(wrong):
                    self.fail(what, index, row, token, f"that end cut is {cut[row, token]!r}, {layer} layers")
        return int((self.flags > 0).sum())


def check(arguments, dump):
    checker = Checker(arguments, dump)
    pairs = choose_pairs(arguments, dump, checker.rows)
    if not pairs:
        raise dumps.OracleError("there was no pair to check")
    networks = [Network(dump.graph.matrices(layer)) for layer in dump.layers]
    for pair in pairs:
        index, row, token = pair
        checker.compare("SciPy", pair, *networks[index].enclosure(checker.rows[row], token))

    few = arguments.networkx if dump.tokens <= 24 else 0
    random = np.random.RandomState(arguments.seed)
    for place in random.choice(len(pairs), min(few, len(pairs)), replace=False):
        index, row, token = pair = pairs[int(place)]
        exact = networks[index].exact(checker.rows[row], token)
        checker.compare("NetworkX", pair, exact, exact)
    few = min(few, len(pairs))

    checker.check_enclosures()
    exact = checker.check_one_layer()
    above = checker.check_rollout()
    flagged = checker.check_flags()
    summary = (
        f"flow_oracle: n = {dump.tokens}, layers {dump.layers[0]} to {dump.layers[-1]}: {len(pairs)} of "
        f"{checker.flow.size} pairs by SciPy (known within {checker.width:.2g}), {few} by NetworkX, {exact} one layer "
        f"down exactly, {above} not below rollout, {checker.flags.size} flags ({flagged} degenerate); largest distance "
        f"from the oracle {max(0.0, checker.outside):.2g}, largest gap {checker.gap.max():.2g}"
    )
    return summary, checker.failures


def more_arguments(parser):
    parser.add_argument("--pairs", type=int, default=200, help="above 24 tokens; 0: every pair (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the pairs (%(default)s)")
    parser.add_argument("--networkx", type=int, default=6, help="pairs for NetworkX, up to 24 tokens (%(default)s)")
    parser.add_argument("--flow-tolerance", type=float, default=1e-6, help="largest gap allowed (%(default)s)")
    parser.add_argument("--degenerate-tolerance", type=float, default=1e-6, help="of the flags (%(default)s)")


if __name__ == "__main__":
    sys.exit(dumps.run(check, __doc__.splitlines()[0], more_arguments))
