"""Exact attention flow of all pairs compared with general maximum-flow solvers, on the attention of real models.

    tools/bench/flow.py [--stacks NAME,...] [--peers NAME,...] [--seconds S] [--runs N] [--quick] [--out DIR]

Networks: MiniLM (enc, 6 layers, bidirectional) at 16 to 512 tokens, SmolLM2 (dec, 30 layers, causal) at 16 to 256
(stacks.py makes them), mean over heads, residual 0.5.

attnflow: attention_flow() of all pairs of all layers, on one thread and on all; one output token; flow_of_pair().

Peers: a general solver handles one pair at a time, so pairs are sampled (seeded): 24 of each layer (for stacks with
many layers 8, but 24 of the middle and of the top one), only pairs joined by a path. Each answer is checked against
attnflow's enclosure before the peer is timed; a wrong answer ends the benchmark with exit code 1. The library's own
graph is built beforehand, from only the arcs on a path between the two nodes: the peer's best case. At 128 tokens it is
also given the layer's whole network, as in the definition. Slow peers get through fewer pairs (the same number in each
layer), or skip the longest stacks; the tables say so.

Comparison: a peer's time for one pair is the mean over layers of the mean over pairs. Ours is the time for all pairs of
all layers divided by the number of pairs joined by a path (in causal stacks, half of them), on one thread each.

Writes flow.json, flow.md and flow.svg to build/bench, and prints the tables. ATTNFLOW_BENCH_STACKS, _PEERS, _SECONDS,
_RUNS and _QUICK=1 replace the options; ATTNFLOW_BENCH_PROGRAMS is the folder of the two C++ programs.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import environment
import stacks as attention
import written

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PARTS = HERE / "flow"
PROGRAMS = Path(os.environ.get("ATTNFLOW_BENCH_PROGRAMS", ROOT / "build" / "bench" / "bin"))
OUT = ROOT / "build" / "bench"
SEED = 1
ROUNDS, ROUNDS_OF_EVERY_LAYER, MANY_LAYERS = 24, 8, 12  # pairs per layer
WHOLE_AT = 128  # number of tokens at which peers are also given the whole network
QUICK_STACKS = "enc-16,enc-32,enc-64,dec-16,dec-32"
TOP_LAYER_ALONE_UP_TO = 256  # tokens

HIGHEST_LABEL = {"complexity": "V^2 sqrt(E)", "in_tokens": "n^3", "source": "Cheriyan & Mehlhorn 1999"}
PEERS = {
    "lemon": {
        "label": "LEMON Preflow",
        "algorithm": "push-relabel, highest label and bound decrease",
        **HIGHEST_LABEL,
        "capacities": "int64, units of 2^-55",
        "timed": "runMinCut(): resets, finds a maximum preflow and its value",
    },
    "boost-push-relabel": {
        "label": "Boost push-relabel",
        "algorithm": "push-relabel, highest label, global and gap relabelling",
        "complexity": "V^3",
        "in_tokens": "n^3",
        "source": "Boost Graph Library, push_relabel_max_flow",
        "capacities": "int64, units of 2^-55",
        "timed": "push_relabel_max_flow(): resets, finds a flow",
    },
    "boost-boykov-kolmogorov": {
        "label": "Boost Boykov-Kolmogorov",
        "algorithm": "augmenting paths between two search trees",
        "complexity": "V^2 E C",
        "in_tokens": "n^4 C",
        "source": "Boykov & Kolmogorov 2004; C: capacity of the minimum cut, in units",
        "capacities": "int64, units of 2^-55",
        "timed": "boykov_kolmogorov_max_flow(): resets, finds a flow",
    },
    "igraph": {
        "label": "igraph",
        "algorithm": "push-relabel, highest label, gap relabelling",
        "complexity": "V^3",
        "in_tokens": "n^3",
        "source": "igraph, igraph_maxflow; Goldberg & Tarjan 1988",
        "capacities": "float64",
        "timed": "igraph_maxflow_value(), which makes its arrays with reverse arcs each time",
    },
    "ortools": {
        "label": "OR-tools SimpleMaxFlow",
        "algorithm": "push-relabel, highest label, global relabelling",
        **HIGHEST_LABEL,
        "capacities": "int64, units of 2^-55",
        "timed": "solve(), which makes its static graph each time",
    },
    "scipy": {
        "label": "SciPy maximum_flow",
        "algorithm": "Dinic",
        "complexity": "V^2 E",
        "in_tokens": "n^4",
        "source": "Dinic 1970",
        "capacities": "int32, units of 2^-30",
        "timed": "maximum_flow(method='dinic'), which adds reverse arcs each time",
    },
    "networkx": {
        "label": "NetworkX preflow_push",
        "algorithm": "push-relabel, highest label, global relabelling",
        **HIGHEST_LABEL,
        "capacities": "Python integers, units of 2^-55",
        "timed": "preflow_push(value_only=True) on a residual network made beforehand",
        "most_tokens": 32,
    },
}
IN_PYTHON = ("ortools", "scipy", "networkx")


class BenchmarkError(Exception):
    pass


def run_json(command):
    """Output of the finished command. Numerical libraries get one thread, like every peer."""
    one = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [str(word) for word in command]
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=os.environ | one)
    except OSError as error:
        raise BenchmarkError(f"{error}; the programs are built by ./dev bench flow") from error
    if result.returncode != 0:
        raise BenchmarkError(f"{Path(command[0]).name} ended with {result.returncode}; see its message above")
    return json.loads(result.stdout)


def machine():
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "processor": name,
        "processors": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "load": os.getloadavg()[0],
    }


def joined_pairs(network):
    """[layer][output_token, input_token]: whether a path of arcs joins node (layer, i) and node (0, j); layers from
    1."""
    import numpy as np

    reach = [np.eye(network.shape[1], dtype=np.float32)]
    for capacities in network:
        # Products of 0 and 1: sums are exact.
        reach.append(((capacities > 0).astype(np.float32) @ reach[-1] > 0).astype(np.float32))
    return [r > 0 for r in reach]


def sample(name, joined):
    """Pairs sorted by round. A round has one from every layer; late rounds of deep stacks only the middle and the
    top."""
    import numpy as np

    layers = len(joined) - 1
    random = np.random.default_rng([SEED, *name.encode()])
    every = range(1, layers + 1)
    pairs = []
    for r in range(ROUNDS):
        for layer in every if layers <= MANY_LAYERS or r < ROUNDS_OF_EVERY_LAYER else (layers // 2, layers):
            places = np.argwhere(joined[layer])
            i, j = places[random.integers(len(places))]
            pairs.append({"round": r, "layer": layer, "output_token": int(i), "input_token": int(j)})
    return pairs


def intersect(name, pair, *enclosures):
    """The intersection of all enclosures of one value."""
    low = max(e[0] for e in enclosures)
    high = min(e[1] for e in enclosures)
    if not low <= high:
        raise BenchmarkError(f"{name}, {pair}: attnflow contradicts itself: {enclosures} have no value in common")
    return low, high


def enclosure(value):
    return value["flow"], value["flow"] + value["flow_gap"]


def stratified(pairs, seconds, layers):
    """Mean over layers of the mean over pairs, and its standard error."""
    by_layer = {layer: [] for layer in layers}
    for pair, t in zip(pairs, seconds, strict=False):
        by_layer[pair["layer"]].append(t)
    mean = statistics.fmean(statistics.fmean(times) for times in by_layer.values())
    error = None
    if all(len(times) > 1 for times in by_layer.values()):
        error = sum(statistics.variance(t) / len(t) for t in by_layer.values()) ** 0.5 / len(by_layer)
    return mean, error, {layer: statistics.fmean(times) for layer, times in by_layer.items()}


class Stack:
    """A stack, its network in a file, its pairs, and attnflow's results for them."""

    def __init__(self, name, path, folder, arguments):
        import numpy as np

        self.name, self.path, self.folder, self.arguments = name, path, folder, arguments
        self.kind, self.tokens = name.split("-")[0], int(name.split("-")[1])
        self.network = folder / f"{name}-network.npy"
        run_json([PROGRAMS / "attnflow_time_flow", "network", path, self.network])
        # Every peer is given this file: it has to be the network of the definition.
        stack = np.load(path, mmap_mode="r", allow_pickle=False)
        capacities = np.load(self.network, allow_pickle=False)
        identity = np.eye(self.tokens)
        for layer, got in zip(stack, capacities, strict=True):
            error = float(np.abs(0.5 * layer.astype(np.float64).mean(axis=0) + 0.5 * identity - got).max())
            if not error < 1e-15 * len(layer):
                raise BenchmarkError(f"{name}: the network is not (mean of heads + identity) / 2: it is off by {error}")
        self.layers = len(capacities)
        self.joined = joined_pairs(capacities)
        self.pairs = sample(name, self.joined)
        self.count = int(sum(r.sum() for r in self.joined[1:]))

    def values(self, runs, seconds, *options):
        command = [PROGRAMS / "attnflow_time_flow", "values", self.path, "--runs", runs, "--seconds", seconds]
        result = run_json([*command, *options])
        timing = {"seconds": result["seconds"], "median_s": statistics.median(result["seconds"])}
        timing |= {"peak_mib": result["peak_memory_kib"] / 1024, "largest_gap": result["largest_gap"]}
        timing |= {"settled": result["settled"]}
        return timing, result

    def time_attnflow(self):
        """Times all of attnflow's functions; sets the enclosure of each sampled pair."""
        runs, seconds = self.arguments.runs, self.arguments.run_seconds
        # The row requested most often: [CLS] of an encoder, the last token of a decoder.
        token = 0 if self.kind == "enc" else self.tokens - 1
        row = [{"layer": self.layers, "output_token": token, "input_token": j} for j in range(self.tokens)]
        pairs_file, row_file = self.folder / "pairs.json", self.folder / "row.json"
        written.write(pairs_file, json.dumps(self.pairs + row))
        written.write(row_file, json.dumps(row))
        times = {}
        times["one_thread"], one = self.values(runs, seconds, "--threads", 1, "--pairs", pairs_file)
        times["version"], times["compiler"] = one["version"], one["compiler"]
        times["all_threads"], all_threads = self.values(runs, 3 * seconds, "--threads", 0, "--pairs", pairs_file)
        if one["values"] != all_threads["values"]:
            raise BenchmarkError(f"{self.name}: values depend on the number of threads")
        only = ["--layer", self.layers, "--output-token", token, "--pairs", row_file]
        times["one_output_token"], row_values = self.values(runs, seconds, "--threads", 0, *only)
        times["one_output_token_one_thread"], _ = self.values(runs, seconds, "--threads", 1, *only)
        if self.tokens <= TOP_LAYER_ALONE_UP_TO:
            top = ["--layer", self.layers]
            times["top_layer_one_thread"], _ = self.values(runs, seconds, "--threads", 1, *top)
        written.write(pairs_file, json.dumps(self.pairs))
        alone = run_json([PROGRAMS / "attnflow_time_flow", "pairs", self.path, pairs_file])["values"]
        mean, error, by_layer = stratified(self.pairs, [v["seconds"] for v in alone], range(1, self.layers + 1))
        times["flow_of_pair"] = {"pairs": len(alone), "mean_s": mean, "standard_error_s": error}
        times["flow_of_pair"]["top_layer_s"] = by_layer[self.layers]

        for pair, together, single in zip(self.pairs, one["values"], alone, strict=False):
            certified = (single["certified_low"], single["certified_high"])
            pair["low"], pair["high"] = intersect(self.name, pair, enclosure(together), enclosure(single), certified)
        for pair, together, single in zip(row, one["values"][len(self.pairs) :], row_values["values"], strict=True):
            intersect(self.name, pair, enclosure(together), enclosure(single))
        written.write(pairs_file, json.dumps(self.pairs))
        self.pairs_file = pairs_file
        return times

    def time_peer(self, peer, parts):
        """Returns None if the peer does not complete one round."""
        if peer in IN_PYTHON:
            command = [sys.executable, PARTS / "python_peers.py"]
        else:
            command = [PROGRAMS / "attnflow_flow_peers"]
        command += [peer, self.network, self.pairs_file, "--parts", parts, "--seconds", self.arguments.seconds]
        result = run_json(command)
        done = result["pairs"]
        if not done:
            return None
        mean, error, by_layer = stratified(self.pairs, [p["seconds"] for p in done], range(1, self.layers + 1))
        return {
            "version": result["version"],
            "pairs": len(done),
            "mean_s": mean,
            "standard_error_s": error,
            "middle_layer_s": by_layer[max(self.layers // 2, 1)],
            "top_layer_s": by_layer[self.layers],
            "all_pairs_estimate_s": mean * self.count,
            "largest_disagreement": max(p["off"] for p in done),
            "largest_tolerance": max(p["tolerance"] for p in done),
            "peak_mib": result["peak_memory_kib"] / 1024,
            "seconds": [float(f"{p['seconds']:.4g}") for p in done],
        }


def measure(stack, arguments, given_up):
    say = f"{stack.name}: {stack.layers} layers, {stack.count} pairs"
    print(say, file=sys.stderr)
    result = {"kind": stack.kind, "tokens": stack.tokens, "layers": stack.layers, "pairs": stack.count}
    result["sampled_pairs"] = len(stack.pairs)
    result["attnflow"] = stack.time_attnflow()
    one = result["attnflow"]["one_thread"]["median_s"]
    print(f"  attnflow: all pairs {one:.3g} s on one thread", file=sys.stderr)
    for parts in ("paths", "whole") if stack.tokens == WHOLE_AT else ("paths",):
        times = result[f"peers_{parts}"] = {}
        for peer in arguments.peers:
            if stack.tokens > PEERS[peer].get("most_tokens", stack.tokens) or (stack.kind, peer) in given_up:
                continue
            times[peer] = stack.time_peer(peer, parts)
            if times[peer] is None:
                del times[peer]
                given_up.add((stack.kind, peer))
                print(f"  {peer} ({parts}): too slow", file=sys.stderr)
                continue
            print(f"  {peer} ({parts}): {1e3 * times[peer]['mean_s']:.3g} ms a pair", file=sys.stderr)
        if times:
            fastest = min(times, key=lambda peer: times[peer]["mean_s"])
            mean = times[fastest]["mean_s"]
            result[f"fastest_{parts}"] = {
                "peer": fastest,
                "one_thread_each": mean / (one / stack.count),
                "as_used": mean / (result["attnflow"]["all_threads"]["median_s"] / stack.count),
                "one_pair": mean / result["attnflow"]["flow_of_pair"]["mean_s"],
                # Its pairs come from any row of the top layer.
                "one_output_token": times[fastest]["top_layer_s"]
                * stack.tokens
                / result["attnflow"]["one_output_token_one_thread"]["median_s"],
            }
    return result


def growth(stacks, fewest_tokens=32):
    """Exponents of n, by least squares on logarithms: seconds for one pair, by kind and by what was timed."""
    import numpy as np

    exponents = {}
    for kind in ("enc", "dec"):
        series = {}
        for stack in stacks.values():
            if stack["kind"] != kind or stack["tokens"] < fewest_tokens:
                continue
            ours = stack["attnflow"]
            points = {
                "attnflow, all pairs": ours["one_thread"]["median_s"] / stack["pairs"],
                "attnflow, flow_of_pair": ours["flow_of_pair"]["mean_s"],
            } | {peer: times["mean_s"] for peer, times in stack["peers_paths"].items()}
            for label, seconds in points.items():
                series.setdefault(label, []).append((stack["tokens"], seconds))
        exponents[kind] = {
            label: float(np.polyfit(*np.log(np.array(points)).T, 1)[0])
            for label, points in series.items()
            if len(points) > 1
        }
    return {"fewest_tokens": fewest_tokens, "exponents": exponents}


def targets(stacks):
    """Rows of performance targets: measured medians and the goals. Nothing depends on them."""

    def seconds(name, what):
        return stacks[name]["attnflow"][what]["median_s"] if name in stacks else None

    def ratio(name, parts):
        return stacks.get(name, {}).get(f"fastest_{parts}", {}).get("one_thread_each")

    rows = [
        ("all pairs, all layers, enc n = 64", seconds("enc-64", "all_threads"), 0.07, 0.06),
        ("all pairs, all layers, enc n = 128", seconds("enc-128", "all_threads"), 0.5, 0.4),
        ("all pairs, all layers, enc n = 512", seconds("enc-512", "all_threads"), 28.0, 25.0),
        ("all pairs, all layers, dec n = 64", seconds("dec-64", "all_threads"), 0.13, 0.10),
        ("all pairs, all layers, dec n = 128", seconds("dec-128", "all_threads"), 1.1, 0.9),
        ("one output token, top layer, enc n = 512", seconds("enc-512", "one_output_token"), 1.0, 0.2),
    ]
    out = [
        {"what": what, "unit": "s", "measured": value, "target": target, "goal": goal, "smaller_is_better": True}
        for what, value, target, goal in rows
    ]
    words = {"paths": "only the arcs on its paths", "whole": "the whole network"}
    ratios = (
        ("enc-128", "paths", 80.0),
        ("enc-128", "whole", 100.0),
        ("dec-128", "paths", 60.0),
        ("dec-128", "whole", 200.0),
    )
    for name, parts, target in ratios:
        what = f"against the fastest general solver, {name.replace('-', ' n = ')}, given {words[parts]}"
        row = {"what": what, "unit": "x", "measured": ratio(name, parts), "target": target, "goal": 200.0}
        out.append(row | {"smaller_is_better": False})
    for row in out:
        value, sign = row["measured"], 1 if row.pop("smaller_is_better") else -1
        for limit in ("target", "goal"):
            row[f"{limit}_met"] = None if value is None else sign * value <= sign * row[limit]
    return out


def options():
    def setting(name, default):
        return os.environ.get(f"ATTNFLOW_BENCH_{name}", default)

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", default=setting("QUICK", "") not in ("", "0"))
    parser.add_argument("--stacks", default=setting("STACKS", ""), help="enc-16 to enc-512, dec-16 to dec-256")
    parser.add_argument("--peers", default=setting("PEERS", ",".join(PEERS)), help=f"default: {','.join(PEERS)}")
    parser.add_argument("--seconds", type=float, default=setting("SECONDS", None), help="of a peer on a stack, about")
    parser.add_argument("--runs", type=int, default=setting("RUNS", None), help="of attnflow, at most")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    arguments.seconds = arguments.seconds or (1.0 if arguments.quick else 5.0)
    arguments.runs = arguments.runs or (3 if arguments.quick else 5)
    arguments.run_seconds = 3.0 if arguments.quick else 20.0
    arguments.peers = [peer for peer in arguments.peers.split(",") if peer]
    if unknown := [peer for peer in arguments.peers if peer not in PEERS]:
        parser.error(f"no peer is named {', '.join(unknown)}; there are {', '.join(PEERS)}")
    if not arguments.stacks and arguments.quick:
        arguments.stacks = QUICK_STACKS
    return parser, arguments


def main():
    parser, arguments = options()
    start, here = time.perf_counter(), machine()
    try:
        if Path(sys.prefix) != environment.VENV:
            return subprocess.run([environment.python(), __file__, *sys.argv[1:]]).returncode
        names = arguments.stacks.split(",") if arguments.stacks else attention.NAMES
        if unknown := [name for name in names if name not in attention.NAMES]:
            parser.error(f"no stack is named {', '.join(unknown)}; there are {', '.join(attention.NAMES)}")
        names.sort(key=lambda name: (name[:3] != "enc", int(name[4:])))
        paths = attention.make(names)
        arguments.out.mkdir(parents=True, exist_ok=True)
        results, given_up = {}, set()
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                stack = Stack(name, paths[name], Path(folder), arguments)
                results[name] = measure(stack, arguments, given_up)
                stack.network.unlink()
    except (BenchmarkError, environment.EnvironmentProblem, attention.StackError, OSError) as error:
        print(f"bench flow: {error}", file=sys.stderr)
        return 1

    document = {
        "machine": here,
        "settings": {"quick": arguments.quick, "seconds": arguments.seconds, "runs": arguments.runs, "seed": SEED},
        "peers": {peer: PEERS[peer] for peer in arguments.peers},
        "stacks": results,
        "growth": growth(results),
        "targets": targets(results),
        "benchmark_s": time.perf_counter() - start,
    }
    for peer in arguments.peers:
        versions = {stack["peers_paths"][peer]["version"] for stack in results.values() if peer in stack["peers_paths"]}
        document["peers"][peer]["version"] = ", ".join(sorted(versions)) or None
    written.write(arguments.out / "flow.json", json.dumps(document, indent=2) + "\n")
    report = subprocess.run([sys.executable, PARTS / "report.py", arguments.out / "flow.json"]).returncode
    plot = subprocess.run([sys.executable, PARTS / "plot.py", arguments.out / "flow.json"]).returncode
    return report or plot


if __name__ == "__main__":
    sys.exit(main())
