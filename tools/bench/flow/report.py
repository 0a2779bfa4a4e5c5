"""Writes the tables of a flow benchmark: flow.json -> flow.md next to it, and standard output.

report.py FLOW.json [PAGE.md]

With a page, also puts the tables there, between its lines <!-- bench --> and <!-- /bench -->.
"""

import json
import sys
from decimal import Decimal
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
import written  # noqa: E402  (after the path to it)

KINDS = {"enc": "MiniLM (enc, {} layers, bidirectional)", "dec": "SmolLM2 (dec, {} layers, causal)"}


def number(value, digits=3):
    """Three digits, without an exponent: 0.0123, 1.23, 123, 12,300."""
    return "-" if value is None else f"{Decimal(f'{value:.{digits}g}'):,f}"


def duration(seconds):
    """With a suitable unit."""
    if seconds is None:
        return "-"
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{number(seconds / size, 2)} {unit}"
    if seconds >= 0.9995:
        return f"{number(seconds)} s"
    return f"{number(1e3 * seconds)} ms" if seconds >= 0.9995e-3 else f"{number(1e6 * seconds)} µs"


def table(head, rows):
    """A Markdown table whose columns are aligned in plain text as well; the first column is left-aligned."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[c]) for row in cells) for c in range(len(head))]

    def line(row):
        padded = [
            cell.ljust(w) if c == 0 else cell.rjust(w) for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * w if c == 0 else "-" * (w - 1) + ":" for c, w in enumerate(widths)]
    return "\n".join([line(cells[0]), f"| {' | '.join(rule)} |", *map(line, cells[1:])])


def kind_name(document, kind):
    layers = next(stack["layers"] for stack in document["stacks"].values() if stack["kind"] == kind)
    return KINDS[kind].format(layers)


def all_pairs(document, stacks):
    rows = []
    for stack in stacks:
        ours = stack["attnflow"]
        one, every = ours["one_thread"]["median_s"], ours["all_threads"]["median_s"]
        fastest = stack.get("fastest_paths")
        row = [stack["tokens"], f"{stack['pairs']:,}", duration(one), duration(every), duration(one / stack["pairs"])]
        row += [number(ours["all_threads"]["peak_mib"]), duration(ours["one_output_token"]["median_s"])]
        if fastest:
            label = document["peers"][fastest["peer"]]["label"]
            times = stack["peers_paths"][fastest["peer"]]
            row += [label, duration(times["all_pairs_estimate_s"])]
            row += [f"{number(fastest['one_thread_each'])}x", f"{number(fastest['as_used'])}x"]
        else:
            row += ["-"] * 4
        rows.append(row)
    processors = document["machine"]["processors"]
    head = ["n", "pairs", "1 thread", f"{processors} threads", "a pair", "MiB", "one output token", "fastest peer"]
    return table([*head, "its all pairs", "1 thread each", "as used"], rows)


def settled(document, stacks):
    """How many of the pairs more than two layers apart were settled by which means, on one thread."""
    means = {
        "bounds": "bounds one layer down",
        "pushed": "bound further down",
        "greedy": "greedy pass, upper bound",
        "cuts": "greedy pass, known cut",
        "search": "augmenting paths",
    }
    rows = []
    for stack in stacks:
        counts = stack["attnflow"]["one_thread"]["settled"]
        total = sum(counts.values())
        rows.append([stack["tokens"], f"{total:,}", *(f"{100 * counts[key] / max(total, 1):.1f}%" for key in means)])
    return table(["settled by, n", "pairs", *means.values()], rows)


def one_pair(document, stacks, parts):
    kind = stacks[0]["kind"]
    exponents = document["growth"]["exponents"].get(kind, {}) if parts == "paths" else {}

    def row(label, key, times, complexity):
        growth = f"n^{exponents[key]:.1f}" if key in exponents else "-"
        return [label, *map(duration, times), growth, complexity]

    ours = [stack["attnflow"] for stack in stacks]
    together = [a["one_thread"]["median_s"] / stack["pairs"] for a, stack in zip(ours, stacks, strict=True)]
    rows = [
        row("attnflow, all pairs", "attnflow, all pairs", together, ""),
        row("attnflow, flow_of_pair", "attnflow, flow_of_pair", [a["flow_of_pair"]["mean_s"] for a in ours], ""),
    ]
    for peer, about in document["peers"].items():
        times = [stack[f"peers_{parts}"].get(peer, {}).get("mean_s") for stack in stacks]
        if any(t is not None for t in times):
            literature = f"{about['complexity']} = {about['in_tokens']}"
            rows.append(row(about["label"], peer, times, literature))
    head = ["one pair", *(f"n = {stack['tokens']}" for stack in stacks)]
    return table([*head, "growth", "literature"], rows)


def samples(document, stacks):
    """Which means are over fewer pairs than were drawn, as a sentence; empty if none is."""
    short = [
        f"{document['peers'][peer]['label']} at n = {stack['tokens']} ({times['pairs']} of {stack['sampled_pairs']})"
        for stack in stacks
        for peer, times in stack["peers_paths"].items()
        if times["pairs"] < stack["sampled_pairs"]
    ]
    drawn = ", ".join(f"{stack['sampled_pairs']} at n = {stack['tokens']}" for stack in stacks)
    text = f"Pairs sampled: {drawn}."
    return f"{text} Fewer, for the time they take: {', '.join(short)}." if short else text


def layers(document, stacks):
    """Time for one pair at the middle and at the top layer: depths that readers may want to compare."""
    rows = []
    for peer, about in document["peers"].items():
        cells = []
        for stack in stacks:
            times = stack["peers_paths"].get(peer)
            cells.append(f"{duration(times['middle_layer_s'])} / {duration(times['top_layer_s'])}" if times else "-")
        if any(cell != "-" for cell in cells):
            rows.append([about["label"], *cells])
    return table(["middle / top layer", *(f"n = {stack['tokens']}" for stack in stacks)], rows)


def about_peers(document):
    rows = []
    for peer, about in document["peers"].items():
        measured = [stack["peers_paths"][peer] for stack in document["stacks"].values() if peer in stack["peers_paths"]]
        if not measured:
            continue
        off = max(times["largest_disagreement"] for times in measured)
        tolerance = max(times["largest_tolerance"] for times in measured)
        row = [about["label"], about["version"], about["algorithm"], f"O({about['complexity']})", about["source"]]
        rows.append([*row, about["capacities"], about["timed"], f"{off:.0e} ({tolerance:.0e})"])
    head = ["peer", "version", "algorithm", "literature", "source", "capacities", "timed", "largest disagreement"]
    return table([*head[:-1], f"{head[-1]} (allowed)"], rows)


def targets(document):
    def met(flag):
        return "not measured" if flag is None else "met" if flag else "not met"

    rows = []
    for row in document["targets"]:
        unit = "x" if row["unit"] == "x" else " s"
        cells = [row["what"], "-" if row["measured"] is None else number(row["measured"]) + unit]
        cells += [number(row["target"]) + unit, met(row["target_met"]), number(row["goal"]) + unit]
        rows.append([*cells, met(row["goal_met"])])
    return table(["what must be reached", "measured", "target", "", "goal", ""], rows)


def report(document):
    machine = document["machine"]
    stacks = list(document["stacks"].values())
    by_kind = {kind: [stack for stack in stacks if stack["kind"] == kind] for kind in KINDS}
    versions = ", ".join(sorted({stack["attnflow"]["version"] for stack in stacks}))
    gap = max(stack["attnflow"]["one_thread"]["largest_gap"] for stack in stacks)
    settings = ", quick" if document["settings"]["quick"] else ""
    lines = [
        "# Attention flow against general maximum-flow solvers",
        "",
        f"attnflow {versions}, {machine['processor']}, {machine['processors']} processors{settings}. Times are medians "
        f"of up to {document['settings']['runs']} runs after a warm-up (one run where it takes long). Every value is enclosed; the widest enclosure: {gap:.0e}.",
    ]
    for kind, group in by_kind.items():
        if not group:
            continue
        lines += ["", f"## {kind_name(document, kind)}", ""]
        lines += [all_pairs(document, group), ""]
        lines += [
            "*pairs*: those of all layers that a path joins; our times are for all of them. *one output token*: all inputs, top layer, "
            "all threads. *its all pairs*: the peer's mean time for a sampled pair, over all layers, times the number of "
            "pairs. *1 thread each*: that mean over our time for one pair on one thread; *as used*: over ours on all "
            "threads.",
            "",
        ]
        lines += [settled(document, group), ""]
        lines += [one_pair(document, group, "paths"), ""]
        lines += [
            f"Mean over layers of the mean time for one pair, one thread; the peer's graph, made beforehand, has only "
            f"arcs on paths between the two nodes. {samples(document, group)} growth: fitted from n = "
            f"{document['growth']['fewest_tokens']} up.",
        ]
        if any(stack["peers_paths"] for stack in group):
            lines += ["", layers(document, group)]
        whole = [stack for stack in group if stack.get("peers_whole")]
        if whole:
            lines += ["", "Given the whole network of the layer instead:", "", one_pair(document, whole, "whole")]
    if document["peers"]:
        lines += ["", "## Peers", "", about_peers(document), ""]
        lines += ["V = L n nodes and E = L n^2 arcs in a network of L layers of n tokens."]
    lines += ["", "## Targets", "", targets(document), ""]
    lines += [
        "Times: medians, all threads. Ratios, one thread each: the mean time for one pair of the peer that is fastest (over "
        "all layers, sampled pairs), divided by our time for all pairs of all layers over the number of pairs.",
        "",
    ]
    return "\n".join(lines)


def put_into(page, text, mark="bench"):
    """Puts the tables between a page's marks, one heading level lower and without the title."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->\n"
    old = page.read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        sys.exit(f"{page}: expected the lines {begin.strip()} and {end.strip()} once each, in this order")
    lines = [f"#{line}" if line.startswith("#") else line for line in text.splitlines()[2:]]
    before, after = old.split(begin)[0], old.split(end)[1]
    written.write(page, before + begin + "\n" + "\n".join(lines).strip() + "\n\n" + end + after)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    path = Path(sys.argv[1])
    text = report(json.loads(path.read_text()))
    written.write(path.with_suffix(".md"), text)
    if len(sys.argv) == 3:
        put_into(Path(sys.argv[2]), text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
