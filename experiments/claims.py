"""What the paper says of its Tables 1 and 2, as rules that a table of means satisfies or not.

A rule takes {method: [mean of each layer]} and returns (holds, the numbers that decide). Two means are told apart when
they differ by more than MARGIN, which is more than the half-width of their 95% intervals with 2,000 samples; the paper
gives no intervals, and the same rules apply to its numbers.
"""

from common import fixed

MARGIN = 0.025
FLAT = 0.1  # the paper's own flow rows differ by up to 0.07 from layer 3 on


def raw_starts_high(means):
    """Raw attention is highest at layer 1."""
    first, others = means["raw"][0], max(means["raw"][1:])
    return first > others + MARGIN, f"{fixed(first)} at L1, at most {fixed(others)} above"


def raw_falls(means):
    """Raw attention falls between layer 1 and the middle (layers 2 to 5)."""
    first, least = means["raw"][0], min(means["raw"][1:5])
    return first > least + MARGIN, f"{fixed(first)} to {fixed(least)}"


def rollout_rises(means):
    """Rollout ends higher than it starts, and no step up falls."""
    row = means["rollout"]
    falls = max(a - b for a, b in zip(row, row[1:], strict=False))
    return row[-1] > row[0] + MARGIN and falls <= MARGIN, f"{fixed(row[0])} to {fixed(row[-1])}"


def flow_not_below(means):
    """Flow is at least as high as rollout at every layer."""
    differences = [f - r for f, r in zip(means["flow"], means["rollout"], strict=True)]
    least = min(differences)
    return least >= -MARGIN, f"least difference {fixed(least, sign='+')} at L{differences.index(least) + 1}"


def flow_flat(means):
    """Flow is flat from layer 3 on."""
    row = means["flow"][2:]
    return max(row) - min(row) <= FLAT, f"{fixed(min(row))} to {fixed(max(row))}"


def above_raw(means):
    """At the top layer, rollout and flow are both higher than raw attention."""
    top = {method: row[-1] for method, row in means.items()}
    holds = min(top["rollout"], top["flow"]) > top["raw"] + MARGIN
    return holds, ", ".join(f"{method} {fixed(top[method])}" for method in ("raw", "rollout", "flow"))


RULES = {
    "raw attention is highest at layer 1": raw_starts_high,
    "raw attention falls in the middle layers": raw_falls,
    "rollout rises with depth": rollout_rises,
    "flow is at least as high as rollout": flow_not_below,
    "flow is flat from layer 3": flow_flat,
    "rollout and flow beat raw at the top": above_raw,
}


def verdict(found):
    """Over {score: (holds, numbers)}: whether a claim holds by all scores, by some, or by none."""
    by = [score for score, (holds, _) in found.items() if holds]
    if len(by) == len(found):
        return "holds"
    return f"holds in part ({' and '.join(by)})" if by else "does not hold"
