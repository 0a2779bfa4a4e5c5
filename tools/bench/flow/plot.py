"""Plots a flow benchmark: flow.json -> flow.svg next to it. Time for one pair against the number of tokens.

plot.py FLOW.json
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of backend)

sys.path.append(str(Path(__file__).resolve().parent.parent))
import written  # noqa: E402  (after the path to it)

TITLES = {"enc": "MiniLM: {} layers, bidirectional", "dec": "SmolLM2: {} layers, causal"}
# Okabe and Ito's colors, distinguishable with every kind of color vision; markers differ as well.
STYLES = {
    "all": ("#000000", "o"),
    "all threads": ("#000000", "s"),
    "alone": ("#000000", "D"),
    "lemon": ("#0072B2", "^"),
    "boost-push-relabel": ("#D55E00", "v"),
    "boost-boykov-kolmogorov": ("#CC79A7", "<"),
    "igraph": ("#009E73", ">"),
    "ortools": ("#E69F00", "P"),
    "scipy": ("#56B4E9", "X"),
    "networkx": ("#7F7F7F", "*"),
}
LABEL_SIZE = 8.5
LABEL_HEIGHT = 0.05  # of the panel's height


def series(document, kind):
    """(style, label, exponent, points) of every line of a panel."""
    stacks = [stack for stack in document["stacks"].values() if stack["kind"] == kind]
    exponents = document["growth"]["exponents"].get(kind, {})
    processors = document["machine"]["processors"]

    def points(seconds):
        return [(stack["tokens"], seconds(stack)) for stack in stacks if seconds(stack) is not None]

    lines = [
        ("all", "attnflow, all pairs, 1 thread", "attnflow, all pairs", points(lambda s: ours(s, "one_thread"))),
        ("all threads", f"attnflow, all pairs, {processors} threads", None, points(lambda s: ours(s, "all_threads"))),
        ("alone", "attnflow, one pair alone", "attnflow, flow_of_pair", points(alone)),
    ]
    for peer, about in document["peers"].items():
        times = points(lambda s, peer=peer: s["peers_paths"].get(peer, {}).get("mean_s"))
        if times:
            lines.append((peer, about["label"], peer, times))
    return [(style, label, exponents.get(key), times) for style, label, key, times in lines]


def ours(stack, what):
    return stack["attnflow"][what]["median_s"] / stack["pairs"]


def alone(stack):
    return stack["attnflow"]["flow_of_pair"]["mean_s"]


def spread(wanted, least):
    """Positions as close as possible to those wanted, in the same order, at least `least` apart and within 0 to 1."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks = []  # runs of adjacent labels: [members, sum of the positions wanted for the first label]
    for i in order:
        blocks.append([[i], wanted[i]])
        while len(blocks) > 1 and start(blocks[-1], least) < start(blocks[-2], least) + len(blocks[-2][0]) * least:
            members, total = blocks.pop()
            before = blocks[-1]
            before[1] += total - len(members) * len(before[0]) * least
            before[0] += members
    places = [0.0] * len(wanted)
    for block in blocks:
        for k, i in enumerate(block[0]):
            places[i] = start(block, least) + k * least
    return places


def start(block, least):
    middle = block[1] / len(block[0])
    return min(max(middle, 0.0), max(1.0 - (len(block[0]) - 1) * least, 0.0))


def by_tokens(axes, tokens):
    """Logarithmic axes, with these numbers of tokens on the horizontal one."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(tokens, [f"{n:,}" for n in tokens])
    axes.minorticks_off()
    axes.set_xlim(tokens[0] / 1.25, tokens[-1] * 1.25)
    axes.set_xlabel("tokens n")
    written.dress(axes)


def panel(axes, document, kind):
    lines = series(document, kind)
    layers = next(stack["layers"] for stack in document["stacks"].values() if stack["kind"] == kind)
    axes.set_title(TITLES[kind].format(layers), loc="left", fontsize=11)
    tokens = sorted({n for _, _, _, points in lines for n, _ in points})
    for style, _, _, points in lines:
        colour, marker = STYLES[style]
        filled = colour if style == "all" else "white"
        width = 2.0 if style == "all" else 1.3
        dash = "--" if style == "all threads" else ":" if style == "alone" else "-"
        x, y = zip(*points, strict=True)
        axes.plot(x, y, dash, color=colour, marker=marker, markersize=5.5, linewidth=width, markerfacecolor=filled)
    by_tokens(axes, tokens)
    return lines


def label_lines(axes, lines):
    """Labels on the right, moved up or down where two would overlap, with a thin leader from the last point of their
    line. A line that ends much earlier has its label above its last point."""
    to_panel = axes.transData + axes.transAxes.inverted()
    longest = max(points[-1][0] for _, _, _, points in lines)
    at_right = []
    for style, label, exponent, points in lines:
        text = label if exponent is None else f"{label}: $n^{{{exponent:.1f}}}$"
        if points[-1][0] * 4 <= longest:
            above = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center"}
            axes.annotate(text, xy=points[-1], fontsize=LABEL_SIZE, **above)
        else:
            at_right.append((text, STYLES[style][0], to_panel.transform(points[-1])))
    places = spread([end[1] for _, _, end in at_right], LABEL_HEIGHT)
    for (text, colour, end), place in zip(at_right, places, strict=True):
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 5, "relpos": (0, 0.5)}
        where = {"xy": end, "xycoords": "axes fraction", "xytext": (1.06, place), "textcoords": "axes fraction"}
        axes.annotate(text, **where, fontsize=LABEL_SIZE, va="center", annotation_clip=False, arrowprops=leader)


def draw(document, path):
    plt.rcParams.update(written.SETTINGS)
    kinds = [kind for kind in TITLES if any(stack["kind"] == kind for stack in document["stacks"].values())]
    figure, panels = plt.subplots(1, len(kinds), figsize=(7.4 * len(kinds), 5.4), sharey=True, squeeze=False)
    drawn = [panel(axes, document, kind) for axes, kind in zip(panels[0], kinds, strict=True)]
    panels[0][0].set_ylabel("seconds for one pair (mean over pairs and layers)")
    for axes in panels[0]:
        axes.yaxis.set_tick_params(labelleft=True)
    figure.subplots_adjust(
        left=0.06 * 2 / len(kinds), right=1 - 0.145 * 2 / len(kinds), wspace=0.62, top=0.92, bottom=0.1
    )
    for axes, lines in zip(panels[0], drawn, strict=True):
        label_lines(axes, lines)
    written.save(figure, path)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = Path(sys.argv[1])
    draw(json.loads(path.read_text()), path.with_suffix(".svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
