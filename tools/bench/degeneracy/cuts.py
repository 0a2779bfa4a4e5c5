"""Draws minimum cuts of real stacks, flow-cuts-encoder.svg and flow-cuts-decoder.svg, and counts their shapes.

cuts.py ATTNFLOW DIR IMAGES

The cuts are those of `attnflow explain --certificate`, nearest the output token, each verified there against a flow of
the same value. Writes the figures to IMAGES, and flow-cuts.json and flow-cuts.md to DIR: the cuts drawn, and the shapes
of those of sampled pairs.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from svg import BLUE, INK, ORANGE, PALE, QUIET, Drawing

sys.path.append(str(Path(__file__).resolve().parent.parent))
import stacks as attention  # noqa: E402  (after the path to it)
import written  # noqa: E402

RESIDUAL = 0.5
SEED, SAMPLE = 1, 150
SHAPES_OF, SHAPES_AT = "enc-64", (3, 4, 5)
# (stack, layer, output token, input token, what it shows)
ENCODER = (
    ("enc-64", 3, 48, 46, "layer 3: a few nodes, then the free layer"),
    ("enc-64", 3, 33, 41, "layer 3: the free layer, then nearly all"),
    ("enc-64", 4, 34, 22, "layer 4: the same, one layer more"),
    ("enc-64", 4, 45, 24, "layer 4: the same, one layer more"),
    ("enc-64", 5, 46, 38, "layer 5: the chain of a hub, token 0"),
    ("enc-64", 6, 57, 50, "layer 6: the column of the input token"),
)
DECODER = (
    ("dec-64", 5, 44, 23, "layer 5: the free layer in the middle"),
    ("dec-64", 5, 31, 26, "layer 5: wider layer by layer"),
    ("dec-64", 10, 44, 20, "layer 10: the row of the output token"),
    ("dec-64", 10, 35, 14, "layer 10: the column of the input token"),
)
CELL, HEIGHT, GAP = 4.5, 12.0, 12.0


def mixing_matrices(stack):
    """float64 [layer, from, to]: mean over heads and residual."""
    fused = stack.astype(np.float64).mean(axis=1)
    return (1 - RESIDUAL) * fused + RESIDUAL * np.eye(stack.shape[-1])


def certificates(program, path, layer, pairs):
    """The verified certificate of each (output token, input token), from `layer` down to the input."""
    command = [program, "explain", "--attention", path, "--residual", RESIDUAL, "--layers", layer, "--json"]
    command += ["--method", "flow", "--output-token", 0]
    for i, j in pairs:
        command += ["--certificate", f"{i},{j}"]
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"cuts: {program} explain ended with {result.returncode}: {result.stderr.strip()}")
    found = json.loads(result.stdout).get("certificates", [])
    if [(c["layer"], c["output_token"], c["input_token"]) for c in found] != [(layer, i, j) for i, j in pairs]:
        sys.exit(f"cuts: {path.name}, layer {layer}: expected certificates of {pairs}, found {len(found)} others")
    for c in found:
        checked = c["checked"]
        if not (checked["feasible"] and checked["conserves"] and checked["separates"] and not checked["problem"]):
            sys.exit(f"cuts: {path.name}, layer {layer}: a certificate does not hold: {checked['problem']}")
    return found


class Cut:
    """The sides of a minimum cut: for each layer, from `layer` down to 0, one character per node for its state."""

    SOURCE, SINK, NONE = "s", "t", "."

    def __init__(self, capacities, certificate):
        n = capacities.shape[-1]
        self.layer, self.value = certificate["layer"], certificate["flow"]
        self.output_token, self.input_token = certificate["output_token"], certificate["input_token"]
        layer, output_token, input_token = self.layer, self.output_token, self.input_token
        self.only = certificate["only_minimum_cut"]
        self.share = {part["layer"]: part["share"] for part in certificate["cut_shares"]}
        cut = [arc[:3] for arc in certificate["minimum_cut"]]
        # Nodes reached without the cut's arcs are the source side: each of them has an arc from another one.
        side = np.arange(n) == output_token
        down = side.copy()  # reached at all
        sides, reached = [side], [down]
        for k in range(layer, 0, -1):
            open_arcs = capacities[k - 1] > 0
            down = open_arcs[down].any(axis=0)
            open_arcs = open_arcs.copy()
            for kk, p, q in cut:
                if kk == k:
                    open_arcs[p, q] = False
            side = open_arcs[side].any(axis=0)
            sides.append(side)
            reached.append(down)
        up = np.arange(n) == input_token  # reaches the input token
        if sides[-1][input_token]:
            raise ValueError(f"layer {layer}, {output_token} -> {input_token}: the cut leaves a path")
        on_path = [up & reached[-1]]
        for k in range(1, layer + 1):
            up = (capacities[k - 1][:, up] > 0).any(axis=1)
            on_path.insert(0, up & reached[layer - k])
        self.rows = [
            "".join(self.NONE if not on else self.SOURCE if s else self.SINK for s, on in zip(side, path, strict=True))
            for side, path in zip(sides, on_path, strict=True)
        ]

    def shape(self):
        """few, some or nearly all: how many nodes of each inner layer are on the source side, from the top."""
        words = []
        for row in self.rows[1:-1]:
            share = row.count(self.SOURCE) / max(len(row) - row.count(self.NONE), 1)
            words.append("few" if share <= 1 / 8 else "nearly all" if share >= 7 / 8 else "some")
        return ", ".join(words)


def panel_height(cut):
    return 42 + len(cut.rows) * HEIGHT + (len(cut.rows) - 1) * GAP + 16


def panel(drawing, x, y, title, cut):
    n = len(cut.rows[0])
    drawing.text(x, y + 10, title, 11.5, weight="bold")
    words = f"output token {cut.output_token}, input token {cut.input_token}: flow {cut.value:.3f}"
    drawing.text(x, y + 25, words, 10.5, fill=QUIET)
    left, top = x + 28, y + 42
    colours = {Cut.SOURCE: BLUE, Cut.SINK: ORANGE, Cut.NONE: PALE}
    for at, row in enumerate(cut.rows):
        layer, line = cut.layer - at, top + at * (HEIGHT + GAP)
        drawing.text(left - 8, line + 10, str(layer), 10.5, "end", QUIET)
        start = 0
        for end in range(1, n + 1):
            if end == n or row[end] != row[start]:
                drawing.box(left + start * CELL, line, (end - start) * CELL, HEIGHT, colours[row[start]])
                start = end
        if layer:
            share = cut.share[layer]
            middle = line + HEIGHT + GAP / 2
            drawing.line(left, middle, left + n * CELL, middle, "#dddddd", 0.6)
            if share > 0:
                drawing.line(left, middle, left + share * n * CELL, middle, INK, 2.6)
            words = f"{100 * share:.0f}%" if share >= 0.005 else "< 1%" if share > 0 else "0"
            drawing.text(left + n * CELL + 8, middle + 4, words, 10, fill=INK if share > 0 else "#a0a0a0")
    for token, at, below in ((cut.output_token, 0, False), (cut.input_token, len(cut.rows) - 1, True)):
        centre, edge = left + (token + 0.5) * CELL, top + at * (HEIGHT + GAP)
        edge, tip = (edge + HEIGHT + 9, edge + HEIGHT + 1) if below else (edge - 9, edge - 1)
        drawing.add("path", d=f"M{centre - 4:.2f} {edge:.2f}h8L{centre:.2f} {tip:.2f}z", fill=INK)


def legend(drawing, x, y):
    for colour, words, step in (
        (BLUE, "source side", 110),
        (ORANGE, "sink side", 95),
        (PALE, "on no path", 110),
    ):
        drawing.box(x, y - 10, 13, 13, colour)
        drawing.text(x + 19, y, words, 11)
        x += step
    drawing.line(x, y - 4, x + 26, y - 4, INK, 2.6)
    drawing.text(x + 33, y, "share of the cut's capacity between two layers", 11)


def draw(cuts, path, title):
    """Two panels per line; the panels of a line share its height."""
    width = 28 + len(cuts[0][1].rows[0]) * CELL + 44
    lines = [cuts[at : at + 2] for at in range(0, len(cuts), 2)]
    heights = [max(panel_height(cut) for _, cut in line) for line in lines]
    what = "; ".join(f"{words} ({', '.join(f'{100 * s:.0f}%' for s in cut.share.values())})" for words, cut in cuts)
    drawing = Drawing(2 * width + 3 * 22, sum(heights) + 18 * len(lines) + 52, title, what)
    y = 20.0
    for line, height in zip(lines, heights, strict=True):
        for at, (words, cut) in enumerate(line):
            panel(drawing, 22 + at * (width + 22), y, words, cut)
        y += height + 18
    legend(drawing, 22, y + 6)
    drawing.save(path)


def shapes(program, path):
    """How often each shape occurs among the minimum cuts of sampled nondegenerate pairs."""
    capacities = mixing_matrices(np.load(path, allow_pickle=False))
    n = capacities.shape[-1]
    random = np.random.default_rng(SEED)
    columns = np.minimum(capacities[0].sum(axis=0), 1)
    counted = {}
    for layer in SHAPES_AT:
        places = random.choice(n * n, size=3 * SAMPLE, replace=False)
        found = certificates(program, path, layer, [(int(at) // n, int(at) % n) for at in places])
        cuts = [Cut(capacities, c) for c in found if c["flow"] < columns[c["input_token"]] - 1e-6][:SAMPLE]
        if len(cuts) < SAMPLE:
            sys.exit(f"cuts: layer {layer}: expected {SAMPLE} pairs that are not degenerate, found {len(cuts)}")
        counted[layer] = {"only_minimum_cut": sum(cut.only for cut in cuts)}
        counted[layer]["shapes"] = dict(Counter(cut.shape() for cut in cuts).most_common())
    return counted


def table(counted):
    rows = ["| layer | source side, layer by layer from the top | share |", "| --- | --- | --- |"]
    for layer, found in counted.items():
        for shape, count in found["shapes"].items():
            if count / SAMPLE >= 0.05:
                rows.append(f"| {layer} | {shape} | {100 * count / SAMPLE:.0f}% |")
    return "\n".join(rows)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, out, images = map(Path, sys.argv[1:])
    paths = attention.make([SHAPES_OF, *dict.fromkeys(cut[0] for cut in (*ENCODER, *DECODER))], program=program)
    document = {"cuts": [], "sample": SAMPLE, "stack": SHAPES_OF}
    for name, wanted, title in (
        ("flow-cuts-encoder.svg", ENCODER, "Minimum cuts of MiniLM, 64 tokens"),
        ("flow-cuts-decoder.svg", DECODER, "Minimum cuts of SmolLM2, 64 tokens"),
    ):
        cuts = []
        for stack, layer, i, j, words in wanted:
            path = paths[stack]
            capacities = mixing_matrices(np.load(path, allow_pickle=False))
            cut = Cut(capacities, certificates(program, path, layer, [(i, j)])[0])
            cuts.append((words, cut))
            record = {"stack": stack, "layer": layer, "output_token": i, "input_token": j, "flow": cut.value}
            document["cuts"].append(record | {"share_of_layer": cut.share, "sides": cut.rows})
        draw(cuts, images / name, title)
    document["shapes"] = shapes(program, paths[SHAPES_OF])
    written.write(out / "flow-cuts.json", json.dumps(document, indent=1) + "\n")
    text = f"Minimum cuts of {SAMPLE} sampled pairs of {SHAPES_OF} that are not degenerate:\n\n{table(document['shapes'])}\n"
    written.write(out / "flow-cuts.md", text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
