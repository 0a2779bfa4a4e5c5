"""Draws a degeneracy study: degeneracy.json -> flow-degeneracy.svg and flow-degeneracy-settings.svg.

plot.py DEGENERACY.json DIR
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of backend)

sys.path.append(str(Path(__file__).resolve().parent.parent))
import written  # noqa: E402  (after the path to it)

MODELS = {"enc": "MiniLM, bidirectional", "dec": "SmolLM2, causal"}
# Okabe and Ito's colors, distinguishable with every kind of color vision.
COLUMN, ROW = "#0072B2", "#E69F00"
SMALL = 8.5


def share(record):
    return 100 * (record["column"] + record["row"])


def layers_along(axes, kind, layers):
    axes.set_xlim(2, layers)
    axes.set_ylim(0, 100)
    axes.set_xticks(range(2, layers + 1) if kind == "enc" else (2, 5, 10, 15, 20, 25, 30))
    written.dress(axes)


def depth(document, path):
    """Stacked areas: the two ends, by layer."""
    tokens = document["settings"]["tokens"]
    figure, panels = plt.subplots(1, 2, figsize=(10.4, 3.6), sharey=True)
    for axes, (kind, name) in zip(panels, MODELS.items(), strict=True):
        records = [r for r in document["records"]["length"] if r["kind"] == kind and r["tokens"] == tokens]
        records = [r for r in records if r["layer"] >= 2]
        x = [r["layer"] for r in records]
        column, row = ([100 * r[end] for r in records] for end in ("column", "row"))
        areas = axes.stackplot(x, column, row, colors=(COLUMN, ROW), edgecolor="white", linewidth=0.8)
        areas[1].set_hatch("///")
        layers_along(axes, kind, x[-1])
        axes.set_title(f"{name}, {tokens} tokens", loc="left", fontsize=10.5)
        axes.set_xlabel("layer l")
    panels[0].set_ylabel("pairs, %")
    panels[0].yaxis.set_tick_params(labelleft=True)
    labels = ("lowest layer's arcs into the input token", "top layer's arcs out of the output token")
    figure.legend(areas, labels, loc="lower center", ncols=2, frameon=False, fontsize=9)
    figure.subplots_adjust(left=0.06, right=0.985, top=0.91, bottom=0.25, wspace=0.08)
    written.save(figure, path)


def lines(axes, groups, label, named):
    """A line for each group, light to dark."""
    shades = plt.get_cmap("viridis_r")
    marks = "osD^vP"
    for at, (value, records) in enumerate(groups):
        shade = shades(0.2 + 0.8 * at / max(len(groups) - 1, 1))
        x, y = [r["layer"] for r in records], [share(r) for r in records]
        every = max(len(x) // 6, 1)
        style = {"marker": marks[at % len(marks)], "markersize": 4.5, "markevery": every, "linewidth": 1.5}
        axes.plot(x, y, color=shade, label=label.format(value), clip_on=False, **style)
    if named:
        axes.legend(fontsize=SMALL, frameon=False, loc="best", handlelength=1.6)


def settings(document, path):
    """The share at both ends together, against length, residual and span."""
    tokens = document["settings"]["tokens"]
    figure, panels = plt.subplots(2, 3, figsize=(12.4, 6.6), sharey=True)
    for row, (kind, name) in zip(panels, MODELS.items(), strict=True):
        records = {key: [r for r in group if r["kind"] == kind] for key, group in document["records"].items()}
        layers = max(r["layer"] for r in records["length"])
        for axes, varied, label in ((row[0], "tokens", "n = {}"), (row[1], "residual", "ρ = {}")):
            key = "length" if varied == "tokens" else "residual"
            values = sorted({r[varied] for r in records[key]})
            groups = [(v, [r for r in records[key] if r[varied] == v and r["layer"] >= 2]) for v in values]
            # Both rows of panels have the same residuals: one legend, where there is room.
            lines(axes, groups, label, named=varied == "tokens" or kind == "enc")
            axes.set_xlabel("layer l")
        lengths = range(2, layers + 1)
        spans = [[share(r) for r in records["span"] if r["layer"] - r["start_layer"] == length] for length in lengths]
        row[2].fill_between(
            lengths, list(map(min, spans)), list(map(max, spans)), color=COLUMN, alpha=0.22, linewidth=0
        )
        row[2].plot(lengths, [sum(s) / len(s) for s in spans], color=COLUMN, linewidth=1.8)
        row[2].set_xlabel("layers between, l - m")
        titles = (
            f"{name}: length, ρ = {document['settings']['residual']}",
            f"residual, {document['settings']['residual_tokens'][kind]} tokens",
        )
        for axes, title in zip(row, (*titles, f"spans, {tokens} tokens: mean and range"), strict=True):
            layers_along(axes, kind, layers)
            axes.set_title(title, loc="left", fontsize=10)
        row[0].set_ylabel("degenerate pairs, %")
    figure.subplots_adjust(left=0.05, right=0.985, top=0.95, bottom=0.08, wspace=0.09, hspace=0.34)
    written.save(figure, path)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    document, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    plt.rcParams.update(written.SETTINGS | {"hatch.color": "white", "hatch.linewidth": 0.6})
    depth(document, folder / "flow-degeneracy.svg")
    settings(document, folder / "flow-degeneracy-settings.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
