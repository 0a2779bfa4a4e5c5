"""When attention flow says little: how many values equal an end cut, on the attention of real models.

    tools/bench/degeneracy.py [--quick] [--program ATTNFLOW] [--out DIR] [--images DIR]

A pair of tokens is degenerate if its flow equals, within 1e-6, one of the two end cuts: what the lowest layer's arcs
carry into the input token (the column), or what the top layer's arcs carry out of the output token toward it (the row).
docs/flow.md explains why this happens and what it means.

Stacks: MiniLM (enc, 6 layers, bidirectional) and SmolLM2 (dec, 30 layers, causal), made by stacks.py. All values come
from the program: attnflow explain --method rollout,flow --output-token all.

  depth       all layers l, down to the input
  length      16 to 512 tokens (enc), 16 to 256 (dec)
  residual    rho = 0, 0.25, 0.5, 0.75, 0.9, at 128 tokens (enc) and 64 (dec: a large rho takes long)
  span        from every l to every m < l, at 128 tokens
  mixing      maximum over heads, single heads, discard, hubs masked, at 128 tokens
  uniform     attention that is the same everywhere, against the formula of docs/flow.md

Writes degeneracy.json, degeneracy.md, flow-cuts.json and flow-cuts.md to build/bench and the figures flow-*.svg to
build/bench or to --images (those of docs/flow.md: docs/images), and prints the tables. ATTNFLOW names the program;
ATTNFLOW_BENCH_QUICK=1 means --quick: short stacks only.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import environment
import stacks as attention
import written

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PARTS = HERE / "degeneracy"
OUT = ROOT / "build" / "bench"
PROGRAM = ROOT / "build" / "release" / "bin" / "attnflow"

RESIDUALS = (0.0, 0.25, 0.5, 0.75, 0.9)
RESIDUAL_TOKENS = {"enc": 128, "dec": 64}
RESIDUAL = 0.5  # unless it is varied
DISCARD = 0.9
TOLERANCE = 1e-6  # the program's --flow-tolerance, and the difference below which two values count as a tie here
UNIFORM = ((8, 12, (0.25, 0.5, 0.75, 0.9)), (32, 12, (0.5, 0.75, 0.9)))  # tokens, layers, residuals


class StudyError(Exception):
    pass


class Program:
    def __init__(self, path, folder):
        self.path, self.output = path, folder / "out.npz"

    def explain(self, stack, *options):
        """The arrays that `attnflow explain` gives for all pairs of tokens, and the CPU time that it took."""
        import numpy as np

        def used():
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime

        command = [self.path, "explain", "--attention", stack, "--method", "rollout,flow", "--output-token", "all"]
        command += [*options, "-o", self.output]
        before = used()
        result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True)
        seconds = used() - before
        if result.returncode != 0:
            message = result.stderr.decode(errors="replace").strip()
            raise StudyError(f"{' '.join(map(str, command))} ended with {result.returncode}: {message}")
        with np.load(self.output, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        self.output.unlink()
        return arrays, seconds


def rows_apart(values, causal):
    """What rows of [output_token, input_token] have in common: see `measures` of the JSON.

    In causal stacks rows differ in length: then the first half of the tokens, as seen by the second half, is used."""
    import numpy as np
    from scipy import stats

    n = len(values)
    if causal and n > 1:
        values = values[n // 2 :, : n // 2]
    values = values[values.sum(axis=1) > 0]
    share = values / values.sum(axis=1, keepdims=True)
    count = len(values)
    distance = sum(np.abs(share - row).sum() for row in share) / 2 / (count * (count - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(share > 0, share * np.log(share), 0).sum(axis=1)
    ranks = stats.rankdata(np.round(values / TOLERANCE), axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    length = np.sqrt((ranks**2).sum(axis=1))
    ranked = ranks[length > 0] / length[length > 0, None]  # a constant row has no ranking
    position = -np.arange(values.shape[1], dtype=float)
    position -= position.mean()
    position /= np.sqrt((position**2).sum())
    agreement = None
    if len(ranked) > 1:
        agreement = float(((ranked.sum(axis=0) ** 2).sum() - len(ranked)) / (len(ranked) * (len(ranked) - 1)))
    return {
        "distance": float(distance),
        "agreement": agreement,
        "spread": float(np.exp(entropy).mean() / values.shape[1]),
        "earliest_first": float((ranked @ position).mean()) if len(ranked) else None,
        "constant_rows": int(count - len(ranked)),
    }


MEASURES = {
    "pairs": "pairs of tokens that a path joins",
    "column": "share of pairs whose flow equals what the lowest layer brings to the input token",
    "row": "share of the other pairs whose flow equals what the output token sends towards the input token",
    "distance": "mean over pairs of rows, each scaled to sum 1, of half the sum of absolute differences",
    "agreement": "mean over pairs of rows of Spearman's rank correlation",
    "spread": "mean over rows of exp(entropy) / number of input tokens, rows scaled to sum 1; 1: all tokens alike",
    "earliest_first": "mean over rows of Spearman's rank correlation with minus the position of the input token",
}


def study(program, name, path, residual=RESIDUAL, start_layer=0, mixing=(), label=None):
    """A record for each layer above `start_layer`."""
    options = ["--residual", residual, "--start-layer", start_layer, *mixing]
    arrays, seconds = program.explain(path, *options)
    kind, tokens = name.split("-")
    records = []
    for at, layer in enumerate(arrays["layers"]):
        joined = arrays["flow"][at] > 0
        degenerate = arrays["flow_degenerate"][at][joined]
        pairs = int(joined.sum())
        records.append(
            {
                "stack": name,
                "kind": kind,
                "tokens": int(tokens),
                "residual": residual,
                "mixing": label or "mean",
                "layer": int(layer),
                "start_layer": start_layer,
                "pairs": pairs,
                "column": int((degenerate == 1).sum()) / pairs,
                "row": int((degenerate == 2).sum()) / pairs,
                "processor_seconds": seconds,  # for the whole run, all layers
                "largest_gap": float(arrays["flow_gap"][at].max()),
                "rollout": rows_apart(arrays["rollout"][at], kind == "dec"),
                "flow": rows_apart(arrays["flow"][at], kind == "dec"),
            }
        )
    top = records[-1]
    print(
        f"{name} rho {residual} m {start_layer} {top['mixing']}: layer {top['layer']}: column {top['column']:.1%}, "
        f"row {top['row']:.1%} ({seconds:.1f} s)",
        file=sys.stderr,
    )
    return records


def mixings(kind, tokens):
    """(label, options) of the alternatives to the mean over heads."""
    heads = attention.LAYERS_AND_HEADS[kind][1]
    hubs = f"0,{tokens - 1}" if kind == "enc" else "first"  # [CLS] and [SEP]; the first token
    yield "max", ["--heads", "max"]
    yield f"discard {DISCARD}", ["--discard", DISCARD]
    yield "hubs masked", ["--mask-columns", hubs]
    yield "max, hubs masked", ["--heads", "max", "--mask-columns", hubs]
    for head in range(heads):
        yield f"head {head}", ["--heads", head]


def uniform_flow(tokens, layers, residual):
    """Flow between two different tokens when every token attends to all equally: docs/flow.md has the proof."""
    return min(1.0, ((layers - 1) * (tokens - 1) + 1) * (1 - residual) / tokens)


def check_uniform(program, folder):
    """The largest difference between program and formula, over all layers, and the settings tried."""
    import numpy as np

    path, worst, settings = folder / "uniform.npy", 0.0, []
    for tokens, layers, residuals in UNIFORM:
        np.save(path, np.full((layers, 1, tokens, tokens), 1 / tokens, dtype=np.float32))
        for residual in residuals:
            arrays, _ = program.explain(path, "--residual", residual)
            for layer, values in zip(arrays["layers"], arrays["flow"], strict=True):
                off = np.abs(values[~np.eye(tokens, dtype=bool)] - uniform_flow(tokens, int(layer), residual))
                worst = max(worst, float(off.max()))
            settings.append({"tokens": tokens, "layers": layers, "residual": residual})
    # 1 / tokens is a power of two: only the residual's weight is rounded.
    if not worst < 1e-12:
        raise StudyError(f"uniform attention: expected the formula within 1e-12, found a difference of {worst:.3g}")
    return {"largest_difference": worst, "settings": settings}


def run_study(program, folder, quick):
    names = [name for name in attention.NAMES if not quick or int(name[4:]) <= 32]
    tokens = 32 if quick else 128
    residual_tokens = {kind: 32 if quick else most for kind, most in RESIDUAL_TOKENS.items()}
    paths = attention.make(names, program=program.path)
    records = {"length": [], "residual": [], "span": [], "mixing": []}
    for name in names:
        records["length"] += study(program, name, paths[name])
    for kind in attention.LENGTHS:
        name = f"{kind}-{tokens}"
        short = f"{kind}-{residual_tokens[kind]}"
        for residual in RESIDUALS:
            records["residual"] += study(program, short, paths[short], residual=residual)
        for start_layer in range(attention.LAYERS_AND_HEADS[kind][0]):
            records["span"] += study(program, name, paths[name], start_layer=start_layer)
        for label, options in mixings(kind, tokens):
            records["mixing"] += study(program, name, paths[name], mixing=options, label=label)
    return {
        "settings": {"quick": quick, "tolerance": TOLERANCE, "residual": RESIDUAL, "tokens": tokens}
        | {"residual_tokens": residual_tokens},
        "measures": MEASURES,
        "uniform": check_uniform(program, folder),
        "records": records,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    quick = os.environ.get("ATTNFLOW_BENCH_QUICK", "") not in ("", "0")
    parser.add_argument("--quick", action="store_true", default=quick)
    parser.add_argument("--program", type=Path, default=Path(os.environ.get("ATTNFLOW", PROGRAM)), metavar="ATTNFLOW")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR")
    parser.add_argument("--images", type=Path, metavar="DIR", help="where figures go (default: --out)")
    arguments = parser.parse_args()
    images = arguments.images or arguments.out
    try:
        if Path(sys.prefix) != environment.VENV:
            return subprocess.run([environment.python(), __file__, *sys.argv[1:]]).returncode
        if not arguments.program.is_file():
            raise StudyError(f"{arguments.program} is not built; run ./dev build, or name one by --program")
        arguments.out.mkdir(parents=True, exist_ok=True)
        images.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            program = Program(arguments.program, Path(folder))
            document = run_study(program, Path(folder), arguments.quick)
    except (StudyError, environment.EnvironmentProblem, attention.StackError, OSError) as error:
        print(f"bench degeneracy: {error}", file=sys.stderr)
        return 1
    json_file = arguments.out / "degeneracy.json"
    written.write(json_file, json.dumps(document, indent=1) + "\n")
    steps = [
        [PARTS / "report.py", json_file],
        [PARTS / "plot.py", json_file, images],
        [PARTS / "cuts.py", arguments.program, arguments.out, images],
        [PARTS / "example.py", arguments.program, images],
    ]
    failed = [step[0].name for step in steps if subprocess.run([sys.executable, *step]).returncode != 0]
    if failed:
        print(f"bench degeneracy: {', '.join(failed)} failed; see the messages above", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
