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


def table3(results):
    """The paper's question (column maximum, logit of the positive class) beside ours, with and without special tokens."""
    targets = {score["target"]: score["target"] for score in results["sentiment"]["scores"]}
    positive, *others = targets
    rows = []
    for method in paper.METHODS:
        rows.append([f"{method}: the paper, 100 samples", *(common.fixed(mean) for mean in paper.SENTIMENT[method])])
        for name, tokens, words in (
            ("sentiment-100", "all", "ours, 100 samples"),
            ("sentiment", "all", "ours, all samples"),
            ("sentiment", "without-special", "ours, all samples, without [CLS] and [SEP]"),
        ):
            cells = rows_of(results[name], "column-max", positive, tokens)[method]
            rows.append([f"{method}: {words}", *(shown(cells[layer]) for layer in paper.SENTIMENT_LAYERS)])
    head = [f"column maximum; {positive}", *(f"L{layer}" for layer in paper.SENTIMENT_LAYERS)]
    text = common.table(head, rows) + "\n"
    rows = []
    for relevance in results["sentiment"]["settings"]["relevance"]:
        for target in (positive, *others):
            for tokens in ("all", "without-special"):
                found = rows_of(results["sentiment"], relevance, target, tokens)
                for method in paper.METHODS:
                    label = f"{relevance}; {target}; {tokens}; {method}"
                    rows.append(
                        [label, *(common.fixed(found[method][layer]["mean"]) for layer in paper.SENTIMENT_LAYERS)]
                    )
    return text + common.table(["ours, all samples", *head[1:]], rows)


def run_table(results):
    rows = [[f"`{found['command']}`", common.run_time(found)] for found in results.values()]
    one = results["sentiment"]["accuracy"][0]
    widest = max((cell["high"] - cell["low"]) / 2 for cell in results["sentiment"]["cells"] if cell["high"] is not None)
    return common.table(["command", "time"], rows) + (
        f"\nMachine: {results['sentiment']['machine']}. Accuracy {one['accuracy']:.3f} (95% interval {one['low']:.3f} to "
        f"{one['high']:.3f}) on {one['count']:,} test sentences. 95% intervals of the means over all samples are at most "
        f"±{widest:.3f} wide.\n"
    )


def tables(results):
    numbers = {name: {"command": found["command"], "cells": found["cells"]} for name, found in results.items()}
    return {"run-sentiment": ("Table 3: runs", run_table(results)), "table3": ("Table 3", table3(results))}, numbers
