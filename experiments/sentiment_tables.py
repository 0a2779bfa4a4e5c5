"""Table 3 from the JSON of `attnflow evaluate sentiment`."""

import common
import paper


def rows_of(found, relevance, target, tokens):
    result = {method: {} for method in paper.METHODS}
    for cell in found["cells"]:
        key = (cell["relevance"], cell["target"], cell["tokens"], cell["formula"], cell["score"])
        if key == (relevance, target, tokens, "spearman", "gradient"):
            result[cell["method"]][cell["layer"]] = cell
    if not all(result.values()):
        raise common.ExperimentError(f"expected cells of {relevance}, {target}, {tokens}; found none")
    return result


def shown(cell):
    return "-" if cell["mean"] is None else f"{common.fixed(cell['mean'])} ±{common.fixed(cell['std'])}"


def table3(whole, hundred):
    """The paper's question (column maximum, logit of the positive class) beside ours, with and without special tokens."""
    targets = {score["target"]: score["target"] for score in whole["scores"]}
    positive, *others = targets
    rows = []
    for method in paper.METHODS:
        rows.append([f"{method}: the paper, 100 samples", *(common.fixed(mean) for mean in paper.SENTIMENT[method])])
        for found, tokens, words in (
            (hundred, "all", "ours, 100 samples"),
            (whole, "all", "ours, all samples"),
            (whole, "without-special", "ours, all samples, without [CLS] and [SEP]"),
        ):
            cells = rows_of(found, "column-max", positive, tokens)[method]
            rows.append([f"{method}: {words}", *(shown(cells[layer]) for layer in paper.SENTIMENT_LAYERS)])
    head = [f"column maximum; {positive}", *(f"L{layer}" for layer in paper.SENTIMENT_LAYERS)]
    text = common.table(head, rows) + "\n"
    rows = []
    for relevance in whole["settings"]["relevance"]:
        for target in (positive, *others):
            for tokens in ("all", "without-special"):
                found = rows_of(whole, relevance, target, tokens)
                for method in paper.METHODS:
                    label = f"{relevance}; {target}; {tokens}; {method}"
                    rows.append(
                        [label, *(common.fixed(found[method][layer]["mean"]) for layer in paper.SENTIMENT_LAYERS)]
                    )
    return text + common.table(["ours, all samples", *head[1:]], rows)


def run_table(whole, hundred):
    rows = [[f"`{found['command']}`", common.run_time(found)] for found in (whole, hundred)]
    one = whole["accuracy"][0]
    widest = max((cell["high"] - cell["low"]) / 2 for cell in whole["cells"] if cell["high"] is not None)
    return common.table(["command", "time"], rows) + (
        f"\nMachine: {whole['machine']}. Accuracy {one['accuracy']:.3f} (95% interval {one['low']:.3f} to "
        f"{one['high']:.3f}) on {one['count']:,} test sentences. 95% intervals of the means over all samples are at most "
        f"±{widest:.3f} wide.\n"
    )


def tables(results):
    numbers = {name: {"command": found["command"], "cells": found["cells"]} for name, found in results.items()}
    (name, whole), (_, hundred) = results.items()
    of = name.removeprefix("sentiment")  # "-pretrained", or nothing
    title = f"Table 3{of.replace('-', ', ')}"
    return {
        f"run-{name}": (f"{title}: runs", run_table(whole, hundred)),
        f"table3{of}": (title, table3(whole, hundred)),
    }, numbers
