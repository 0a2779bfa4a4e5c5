"""The tables of a degeneracy study: degeneracy.json -> degeneracy.md next to it, also printed.

report.py DEGENERACY.json
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
import written  # noqa: E402  (after the path to it)

MODELS = {"enc": "MiniLM (bidirectional, 6 layers)", "dec": "SmolLM2 (causal, 30 layers)"}
LAYERS = {"enc": (2, 3, 4, 5, 6), "dec": (2, 3, 4, 5, 7, 10, 15, 20, 25, 30)}
SPANS = {"enc": (2, 3, 4, 5, 6), "dec": (2, 3, 4, 5, 7, 10, 15, 20, 30)}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def percent(share):
    """Whole percents; 100 only for all, 0 only for none."""
    if 0 < share < 0.005:
        return "< 1"
    if 0.995 <= share < 1:
        return "> 99"
    return f"{100 * share:.0f}"


def ends(record):
    return f"{percent(record['column'])} + {percent(record['row'])}"


def number(value):
    return "-" if value is None else f"{value:.2f}"


def by_layer(records, kind, varied, label):
    """A row for each layer, a column for each value of `varied`."""
    records = [r for r in records if r["kind"] == kind]
    values = sorted({r[varied] for r in records})
    found = {(r["layer"], r[varied]): r for r in records}
    rows = [[str(layer), *(ends(found[layer, value]) for value in values)] for layer in LAYERS[kind]]
    return table(["layer", *(label.format(value) for value in values)], rows)


def residual_seconds(records, kind):
    """The time of each run: nondegenerate pairs take longest."""
    seconds = {r["residual"]: r["processor_seconds"] for r in records if r["kind"] == kind}
    return (
        "Processor seconds, all layers: "
        + ", ".join(f"{s:.2g} at rho = {rho}" for rho, s in sorted(seconds.items()))
        + "."
    )


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def spans(records, kind):
    rows = []
    for length in SPANS[kind]:
        group = [r for r in records if r["kind"] == kind and r["layer"] - r["start_layer"] == length]
        both = [r["column"] + r["row"] for r in group]
        row = [str(length), str(len(group)), percent(mean(both)), f"{percent(min(both))} to {percent(max(both))}"]
        for method in ("flow", "rollout"):
            row += [number(mean(r[method][what] for r in group)) for what in ("agreement", "distance", "spread")]
        if kind == "dec":
            row += [number(mean(r[method]["earliest_first"] for r in group)) for method in ("flow", "rollout")]
        rows.append(row)
    head = ["l - m", "spans", "degenerate, %", "range", "agreement: flow", "distance: flow", "spread: flow"]
    head += ["agreement: rollout", "distance: rollout", "spread: rollout"]
    if kind == "dec":
        head += ["earliest first: flow", "earliest first: rollout"]
    return table(head, rows)


def mixings(records, kind, tokens, plain):
    group = [r for r in records if r["kind"] == kind]
    plain = [r for r in plain if r["kind"] == kind and r["tokens"] == tokens]
    layers = LAYERS[kind][1:] if kind == "enc" else (5, 10, 15, 20, 30)
    names = list(dict.fromkeys(r["mixing"] for r in group))
    heads = [name for name in names if name.startswith("head ")]
    rows = [["mean", *(ends(r) for layer in layers for r in plain if r["layer"] == layer)]]
    for name in names:
        if name not in heads:
            rows.append(
                [name, *(ends(r) for layer in layers for r in group if r["mixing"] == name and r["layer"] == layer)]
            )
    row = [f"one head at the top, mean of {len(heads)}"]
    for layer in layers:
        at = [r for r in group if r["mixing"] in heads and r["layer"] == layer]
        row.append(ends({what: mean(r[what] for r in at) for what in ("column", "row")}))
    rows.append(row)
    return table(["mixing", *(f"layer {layer}" for layer in layers)], rows)


def remedies(document, kind):
    """The effect of each change on the top layer's map: how much is degenerate, and how far rows differ."""
    records, settings = document["records"], document["settings"]
    top, tokens = LAYERS[kind][-1], settings["tokens"]
    mine = {key: [r for r in group if r["kind"] == kind] for key, group in records.items()}

    def row(words, group):
        cells = [words, percent(mean(r["column"] + r["row"] for r in group))]
        return cells + [
            number(mean(r[m][what] for r in group)) for m in ("flow", "rollout") for what in ("distance", "spread")
        ]

    def at_top(key):
        return [r for r in mine[key] if r["layer"] == top and r["start_layer"] == 0]

    rows = [row("as it is", [r for r in at_top("length") if r["tokens"] == tokens])]
    for length in (4, 3, 2):
        words = f"{length} layers, mean of all spans"
        rows.append(row(words, [r for r in mine["span"] if r["layer"] - r["start_layer"] == length]))
    for r in at_top("residual"):
        if r["residual"] > settings["residual"]:
            short = "" if r["tokens"] == tokens else f" ({r['tokens']} tokens)"
            rows.append(row(f"residual {r['residual']}{short}", [r]))
    for r in at_top("mixing"):
        if not r["mixing"].startswith("head "):
            rows.append(row(r["mixing"], [r]))
    heads = [r for r in at_top("mixing") if r["mixing"].startswith("head ")]
    rows.append(row(f"one head at the top, mean of {len(heads)}", heads))
    return table(["", "degenerate, %", "flow: distance", "spread", "rollout: distance", "spread"], rows)


def report(document):
    records, tokens = document["records"], document["settings"]["tokens"]
    gap = max(r["largest_gap"] for group in records.values() for r in group)
    lines = ["# How many flow values equal an end cut", ""]
    lines += [
        "Percent of the pairs that a path joins, column + row: those whose flow is what the lowest layer brings to the "
        "input token, and of the others those whose flow is what the output token sends towards it. Mean over heads, "
        f"residual {document['settings']['residual']}, down to the input, unless the table varies it. Within "
        f"{document['settings']['tolerance']:g}; the widest enclosure is {gap:.0e}.",
        "",
    ]
    for kind, name in MODELS.items():
        lines += [f"## {name}", "", "Depth and length:", "", by_layer(records["length"], kind, "tokens", "n = {}"), ""]
        lines += [f"Residual, n = {document['settings']['residual_tokens'][kind]}:", ""]
        lines += [
            by_layer(records["residual"], kind, "residual", "rho = {}"),
            "",
            residual_seconds(records["residual"], kind),
            "",
        ]
        lines += [f"From layer l to layer m, n = {tokens}:", "", spans(records["span"], kind), ""]
        lines += [f"Mixing, n = {tokens}:", "", mixings(records["mixing"], kind, tokens, records["length"]), ""]
        lines += [f"What helps, layer {LAYERS[kind][-1]}, n = {tokens}:", "", remedies(document, kind), ""]
    lines += ["Measures of rows:", ""]
    lines += [f"- *{name.replace('_', ' ')}*: {meaning};" for name, meaning in document["measures"].items()]
    off = document["uniform"]["largest_difference"]
    lines += ["", f"Uniform attention: the formula holds within {off:.0e}.", ""]
    return "\n".join(lines)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = Path(sys.argv[1])
    text = report(json.loads(path.read_text()))
    written.write(path.with_suffix(".md"), text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
