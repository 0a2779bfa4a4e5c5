"""Tables 1 and 2 and what belongs to them, from the JSON of two `attnflow evaluate agreement`."""

import statistics

import claims
import common
import paper

SCORES = ("blank-out", "gradient", "gradient-x-input", "gradient-sum")
WITH_CLS, WITHOUT = "all", "without-special"
TOKENS = {WITH_CLS: "with [CLS]", WITHOUT: "without"}
LAYERS = range(1, 7)
HEAD = [f"L{layer}" for layer in LAYERS]


def cells(found, score, tokens, formula="spearman"):
    """{method: [cell of each layer]}."""
    wanted = {"relevance": "row", "score": score, "tokens": tokens, "formula": formula}
    rows = {method: [] for method in paper.METHODS}
    for cell in found["cells"]:
        if all(cell[key] == value for key, value in wanted.items()):
            rows[cell["method"]].append(cell)
    for method, row in rows.items():
        if [cell["layer"] for cell in row] != list(LAYERS) or any(cell["mean"] is None for cell in row):
            raise common.ExperimentError(
                f"expected a mean at layers 1 to 6 for {method}, {score}, {tokens}; found others"
            )
    return rows


def means(found, score, tokens, formula="spearman"):
    return {method: [c["mean"] for c in row] for method, row in cells(found, score, tokens, formula).items()}


two = common.fixed


def with_std(row):
    return [f"{two(cell['mean'])} ±{two(cell['std'])}" for cell in row]


def widest(some):
    """The largest half-width of the intervals of some cells."""
    return max((cell["high"] - cell["low"]) / 2 for cell in some)


def correlation_table(results, score):
    rows = []
    for method in paper.METHODS:
        rows.append([f"{method}: the paper", *map(two, paper.AGREEMENT[score][method])])
        for tokens, words in TOKENS.items():
            rows.append([f"{method}: ours, {words}", *with_std(cells(results["agreement"], score, tokens)[method])])
        for tokens, words in TOKENS.items():
            rows.append(
                [f"{method}: untrained, {words}", *map(two, means(results["untrained"], score, tokens)[method])]
            )
    all_cells = [
        cell
        for found in results.values()
        for tokens in TOKENS
        for row in cells(found, score, tokens).values()
        for cell in row
    ]
    counts = [cell["count"] for cell in all_cells]
    return common.table(["", *HEAD], rows) + (
        f"\nMean and, for ours, standard deviation over samples. The bootstrap 95% intervals of our means are at most "
        f"±{widest(all_cells):.3f} wide. Samples scored in a cell: {min(counts)} to {max(counts)} of 2,000; the others have a vector "
        "that is constant.\n"
    )


def yes_or_no(result):
    holds, numbers = result
    return f"{'yes' if holds else 'no'}: {numbers}"


def claims_table(results, score):
    heads = ["claim", "the paper", "ours, with [CLS]", "ours, without", "untrained, with [CLS]", "untrained, without"]
    columns = [paper.AGREEMENT[score]]
    columns += [means(found, score, tokens) for found in results.values() for tokens in TOKENS]
    rows = [[claim, *(yes_or_no(rule(column)) for column in columns)] for claim, rule in claims.RULES.items()]
    return common.table(heads, rows)


def verdict_table(results):
    """Each claim in one row: whether it holds on our model by both scores, with and without [CLS], and the numbers; and
    whether an untrained network satisfies it as well."""
    rows = []
    for claim, rule in claims.RULES.items():
        row = [claim, "; ".join(rule(paper.AGREEMENT[score])[1] for score in paper.AGREEMENT)]
        for tokens in TOKENS:
            found = {score: rule(means(results["agreement"], score, tokens)) for score in paper.AGREEMENT}
            row.append(f"**{claims.verdict(found)}**: " + "; ".join(numbers for _, numbers in found.values()))
        by = [
            claims.verdict({score: rule(means(results["untrained"], score, tokens)) for score in paper.AGREEMENT})
            for tokens in TOKENS
        ]
        row.append(
            by[0]
            if by[0] == by[1]
            else "; ".join(f"{words}: {found}" for words, found in zip(TOKENS.values(), by, strict=True))
        )
        rows.append(row)
    head = ["the paper's claim", "the paper", *(f"ours, {words}" for words in TOKENS.values()), "untrained"]
    return common.table(head, rows) + (
        "\nNumbers are means of Spearman's correlation over 2,000 prefixes, by blank-out; by the gradient. *Holds*: by both; "
        "*in part*: by the one that is named. *Without*: [CLS] itself is left out of the ranking. *Untrained*: the same "
        "network with random weights; a claim that holds there says nothing of what training did. "
        f"{margin_sentence(results)}\n"
    )


def margin_sentence(results):
    some = [
        cell
        for score in paper.AGREEMENT
        for tokens in TOKENS
        for row in cells(results["agreement"], score, tokens).values()
        for cell in row
    ]
    return (
        f"Two means count as different only when they are more than {claims.MARGIN} apart, because with 2,000 samples a "
        f"mean is known to about ±{widest(some):.3f} (95%)."
    )


def claims_text(results):
    text = "".join(
        f"{'Blank-out' if score == 'blank-out' else 'Gradient'}:\n\n{claims_table(results, score)}\n"
        for score in paper.AGREEMENT
    )
    return text + (
        f"{margin_sentence(results)} *Rises* means that the last layer is above the first by more than that and no step "
        f"falls by more; *falls in the middle* that one of the layers 2 to 5 is below layer 1 by more; *flat* means that the largest and the smallest mean are at most {claims.FLAT} apart.\n"
    )


def signed(value):
    return common.fixed(value, 3, "+")


def paired_table(results):
    """Flow minus rollout on the same samples: the program's paired tests."""
    rows = []
    for score in paper.AGREEMENT:
        for tokens, words in TOKENS.items():
            row = [f"{score}, {words}"]
            for layer in LAYERS:
                one = next(c for c in results["agreement"]["comparisons"]
                           if c["score"] == score and c["tokens"] == tokens and c["layer"] == layer
                           and {c["first"], c["second"]} == {"flow", "rollout"})  # fmt: skip
                sign = 1 if one["first"] == "flow" else -1
                low, high = sorted((sign * one["low"], sign * one["high"]))
                row.append("0" if low == high == 0 else f"{signed(sign * one['mean'])} ({signed(low)}, {signed(high)})")
            rows.append(row)
    return common.table(["flow minus rollout", *HEAD], rows) + (
        "\nMean of the difference on the same samples and its bootstrap 95% interval; 0: equal on every sample.\n"
    )


def accuracy_table(results):
    rows = []
    for name, found in results.items():
        for one in found["accuracy"]:
            group = one["group"] or "all"
            interval = f"{one['low']:.3f} to {one['high']:.3f}"
            rows.append([f"{name}: {group}", one["count"], f"{one['accuracy']:.3f}", interval])
    text = common.table(["samples", "count", "accuracy", "95% interval"], rows)
    card = results["agreement"].get("card")  # what the model's training.json says of all held-out prefixes
    if card:
        everything, attractor = card["all"], card["attractor"]
        text += (
            f"\nThese are the prefixes of the tables. On all {everything['count']:,} held-out prefixes the accuracy is "
            f"{everything['accuracy']:.3f}, and {attractor['accuracy']:.3f} on the {attractor['count']:,} with an "
            "attractor (the model's card).\n"
        )
    return text


def share_of_samples(found, holds):
    samples = found["samples"]
    return sum(1 for sample in samples if holds(sample)) / len(samples)


def is_top(values, position):
    return values[position] >= max(values)


def cls_table(found):
    """What [CLS] weighs on itself, and how often it is the most important token."""
    rows = []
    for method in paper.METHODS:
        own = [one["mean"] for one in found["own_share"] if one["method"] == method]
        rows.append([f"{method}: weight of [CLS] on itself", *map(two, own)])
    for m, method in enumerate(found["settings"]["method"]):
        shares = [
            share_of_samples(found, lambda s, m=m, at=at: is_top(s["relevance"][0][m][at], s["output_token"]))
            for at in range(len(LAYERS))
        ]
        rows.append([f"{method}: [CLS] has the largest value", *(f"{share:.0%}" for share in shares)])
    text = common.table(["", *HEAD], rows) + "\n"
    rows = []
    for s, score in enumerate(SCORES):
        if score == "gradient-sum":
            continue  # noise
        top = share_of_samples(found, lambda sample, s=s: is_top(sample["scores"][s], sample["output_token"]))
        rank = statistics.fmean(
            sum(value < sample["scores"][s][sample["output_token"]] for value in sample["scores"][s])
            / (len(sample["scores"][s]) - 1)
            for sample in found["samples"]
        )
        rows.append([score, f"{top:.0%}", f"{rank:.0%}"])
    head = ["score", "[CLS] is the most important token", "share of the other tokens that it beats, mean"]
    return text + common.table(head, rows)


def formula_table(found):
    """The reference's formula beside Spearman's correlation; they agree where nothing ties."""
    rows = []
    for score in paper.AGREEMENT:
        for method in paper.METHODS:
            rows.append([f"{score}, {method}: Spearman", *map(two, means(found, score, WITH_CLS)[method])])
            dense = means(found, score, WITH_CLS, "dense-ranks")[method]
            rows.append([f"{score}, {method}: reference's formula", *map(two, dense)])
    return common.table(["with [CLS]", *HEAD], rows)


def size_of_sum(found):
    """The median over samples of max_j |sum over dimensions| / max_j L2 norm."""
    at_sum, at_norm = SCORES.index("gradient-sum"), SCORES.index("gradient")
    return statistics.median(max(s["scores"][at_sum]) / max(s["scores"][at_norm]) for s in found["samples"])


def other_scores(found):
    rows = []
    for score in ("gradient-x-input", "gradient-sum"):
        for method in paper.METHODS:
            for tokens, words in TOKENS.items():
                rows.append([f"{score}, {method}, {words}", *map(two, means(found, score, tokens)[method])])
    return common.table(["", *HEAD], rows) + (
        f"\nThe largest |sum over dimensions| of a sample is {size_of_sum(found):.1e} times its largest L2 norm (median): "
        "rounding noise of 32-bit numbers.\n"
    )


def run_table(results):
    rows = [[f"`{found['command']}`", common.run_time(found)] for found in results.values()]
    found = results["agreement"]
    data = found["data"]
    return common.table(["command", "time"], rows) + (
        f"\nMachine: {found['machine']}. Seed {found['settings']['seed']}. {data['used']:,} of {data['found']:,} prefixes "
        f"from {len(data['sources'])} documents that the model was not trained on, {data['tokens'] / data['used']:.1f} tokens each.\n"
    )


def tables(results):
    found = results["agreement"]
    fragments = {
        "verdict": ("The paper's claims in short", verdict_table(results)),
        "run-agreement": ("Tables 1 and 2: runs", run_table(results)),
        "accuracy": ("Accuracy", accuracy_table(results)),
        "table1": ("Table 1: blank-out", correlation_table(results, "blank-out")),
        "table2": ("Table 2: gradient (L2 norm)", correlation_table(results, "gradient")),
        "claims": ("The paper's claims", claims_text(results)),
        "paired": ("Flow against rollout", paired_table(results)),
        "cls": ("The weight of [CLS]", cls_table(found)),
        "formula": ("The reference's formula", formula_table(found)),
        "other-scores": ("Other gradient scores", other_scores(found)),
    }
    numbers = {
        "claims": {
            score: {
                f"{name}, {tokens}": {
                    claim: {"holds": holds, "numbers": text}
                    for claim, rule in claims.RULES.items()
                    for holds, text in [rule(means(one, score, tokens))]
                }
                for name, one in results.items()
                for tokens in TOKENS
            }
            for score in paper.AGREEMENT
        },
        "means": {
            name: {
                f"{score}, {tokens}, {formula}": means(one, score, tokens, formula)
                for score in SCORES
                for tokens in TOKENS
                for formula in ("spearman", "dense-ranks")
            }
            for name, one in results.items()
        },
        "gradient_sum_over_norm": size_of_sum(found),
    }
    return fragments, numbers
