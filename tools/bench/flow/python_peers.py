"""Times the general maximum-flow solvers that have a Python interface. Same arguments, rules and output as
attnflow_flow_peers (peers.cc): SciPy, OR-tools, NetworkX.

    python_peers.py PEER NETWORK.npy PAIRS.json [--parts paths|whole] [--seconds S]

Only the library's own call is timed, not the preparation from NumPy arrays.
"""

import argparse
import json
import math
import statistics
import sys
import time
from importlib.metadata import version

import numpy as np

MOST_TIMES_SECONDS = 4
MOST_RUNS = 3
SECONDS_OF_RUNS = 0.02


class Disagreement(Exception):
    pass


def pair_network(capacities, layer, output_token, input_token, parts):
    """(nodes, from, to, capacity) as in pair_network.cc: source first, sink last, without arcs of capacity 0."""
    n = capacities.shape[1]
    kept = np.ones((layer + 1, n), dtype=bool)
    if parts == "paths":
        kept[layer] = np.arange(n) == output_token
        for k in range(layer, 0, -1):
            kept[k - 1] = (capacities[k - 1][kept[k]] > 0).any(axis=0)
        kept[0] &= np.arange(n) == input_token
        for k in range(1, layer + 1):
            kept[k] &= (capacities[k - 1][:, kept[k - 1]] > 0).any(axis=1)
    place = np.arange(layer + 1)[:, None] * n + np.arange(n)
    source, sink = place[layer, output_token], place[0, input_token]
    inner = [v for k in range(layer, -1, -1) for v in place[k][kept[k]] if v not in (source, sink)]
    order = np.array([source, *inner, sink])
    number = np.full((layer + 1) * n, -1)
    number[order] = np.arange(len(order))
    tails, heads, weights = [], [], []
    for k in range(layer, 0, -1):
        p, q = np.nonzero((capacities[k - 1] > 0) & kept[k][:, None] & kept[k - 1])
        tails.append(number[place[k][p]])
        heads.append(number[place[k - 1][q]])
        weights.append(capacities[k - 1][p, q])
    tails, heads, weights = (np.concatenate(a) for a in (tails, heads, weights))
    sort = np.argsort(tails, kind="stable")
    return len(order), tails[sort], heads[sort], weights[sort]


def units(weights, exponent):
    return np.floor(np.ldexp(weights, exponent)).astype(np.int64)


class SciPy:
    """maximum_flow, method dinic. It uses int32 and overflows silently: units of 2^-30. Reverse arcs are added in each
    call."""

    EXPONENT = 30

    def __init__(self):
        from scipy.sparse.csgraph import maximum_flow

        self.maximum_flow = maximum_flow
        self.version = version("scipy")

    def build(self, nodes, tails, heads, weights):
        from scipy.sparse import csr_array

        capacity = units(weights, self.EXPONENT).astype(np.int32)
        self.network = csr_array((capacity, (tails, heads)), shape=(nodes, nodes))
        self.sink = nodes - 1

    def solve(self):
        self.result = self.maximum_flow(self.network, 0, self.sink, method="dinic")
        return math.ldexp(int(self.result.flow_value), -self.EXPONENT)

    def tolerance(self):
        """Rounding down costs less than one unit for each arc of the cut that this flow saturates."""
        from scipy.sparse.csgraph import breadth_first_order

        residual = (self.network - self.result.flow).tocsr()
        residual.eliminate_zeros()
        reached = np.zeros(self.sink + 1, dtype=bool)
        reached[breadth_first_order(residual, 0, return_predecessors=False)] = True
        tails, heads = self.network.tocoo().coords
        return math.ldexp(int((reached[tails] & ~reached[heads]).sum()), -self.EXPONENT)


class ORTools:
    """SimpleMaxFlow. Each call of solve() rebuilds the solver's graph from the list of arcs."""

    EXPONENT = 55

    def __init__(self):
        from ortools.graph.python import max_flow

        self.max_flow = max_flow
        self.version = version("ortools")

    def build(self, nodes, tails, heads, weights):
        self.solver = self.max_flow.SimpleMaxFlow()
        capacity = units(weights, self.EXPONENT)
        self.solver.add_arcs_with_capacity(tails.astype(np.int32), heads.astype(np.int32), capacity)
        self.sink = nodes - 1

    def solve(self):
        status = self.solver.solve(0, self.sink)
        if status != self.solver.OPTIMAL:
            raise Disagreement(f"ortools: expected the status OPTIMAL, found {status}")
        return math.ldexp(self.solver.optimal_flow(), -self.EXPONENT)

    def tolerance(self):
        return math.ldexp(self.solver.num_arcs(), -self.EXPONENT)


class NetworkX:
    """preflow_push, the default of maximum_flow, on a residual network made beforehand."""

    EXPONENT = 55

    def __init__(self):
        import networkx

        self.networkx = networkx
        self.version = networkx.__version__

    def build(self, nodes, tails, heads, weights):
        graph = self.networkx.DiGraph()
        capacity = units(weights, self.EXPONENT)
        for p, q, c in zip(tails.tolist(), heads.tolist(), capacity.tolist(), strict=True):
            graph.add_edge(p, q, capacity=c)
        self.graph, self.sink = graph, nodes - 1
        self.residual = self.networkx.algorithms.flow.build_residual_network(graph, "capacity")

    def solve(self):
        push = self.networkx.algorithms.flow.preflow_push
        result = push(self.graph, 0, self.sink, residual=self.residual, value_only=True)
        return math.ldexp(result.graph["flow_value"], -self.EXPONENT)

    def tolerance(self):
        return math.ldexp(self.graph.number_of_edges(), -self.EXPONENT)


PEERS = {"scipy": SciPy, "ortools": ORTools, "networkx": NetworkX}


def check(arguments, pair, value, tolerance):
    """The distance of the value from the enclosure; raises if it is more than the number type explains."""
    if not pair["low"] - tolerance <= value <= pair["high"] + tolerance:
        place = f"layer {pair['layer']}, output token {pair['output_token']}, input token {pair['input_token']}"
        raise Disagreement(
            f"{arguments.peer} disagrees on {arguments.network}, {place}: expected a value in "
            f"[{pair['low']:.15g}, {pair['high']:.15g}] within {tolerance:.1e}, found {value:.15g}"
        )
    return max(pair["low"] - value, value - pair["high"], 0.0)


def peak_memory_kib():
    """As in peak_memory.h."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def time_peer(arguments):
    capacities = np.load(arguments.network, allow_pickle=False)
    with open(arguments.pairs) as file:
        pairs = json.load(file)
    peer = PEERS[arguments.peer]()
    done, complete, stopped = [], 0, False
    start = time.perf_counter()
    for i, pair in enumerate(pairs):
        if i > 0 and pair["round"] != pairs[i - 1]["round"]:
            complete = i
            if time.perf_counter() - start > arguments.seconds:
                break
        if time.perf_counter() - start > MOST_TIMES_SECONDS * arguments.seconds:
            stopped = True
            break
        nodes = (pair["layer"], pair["output_token"], pair["input_token"])
        peer.build(*pair_network(capacities, *nodes, arguments.parts))
        value = peer.solve()
        tolerance = peer.tolerance()
        check(arguments, pair, value, tolerance)
        runs = []
        first = time.perf_counter()
        while not runs or (len(runs) < MOST_RUNS and time.perf_counter() - first < SECONDS_OF_RUNS):
            before = time.perf_counter()
            value = peer.solve()
            runs.append(time.perf_counter() - before)
        off = check(arguments, pair, value, tolerance)
        done.append({"seconds": statistics.median(runs), "value": value, "off": off, "tolerance": tolerance})
        if i + 1 == len(pairs):
            complete = len(pairs)
    return {"version": peer.version, "pairs": done[:complete], "stopped": stopped, "peak_memory_kib": peak_memory_kib()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("network")
    parser.add_argument("pairs")
    parser.add_argument("--parts", choices=("paths", "whole"), default="paths")
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    try:
        print(json.dumps(time_peer(arguments)))
    except (Disagreement, OSError, ValueError) as error:
        print(f"python_peers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
