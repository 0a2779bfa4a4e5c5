"""Ranks, correlations, tests and intervals by SciPy, written to tests/golden/evaluate.

    tools/golden/make                    writes it with everything else
    python3 tools/golden/evaluate.py     writes it alone (needs NumPy and SciPy)

The inputs come from NumPy's RandomState, whose numbers never change. No formula of attnflow is repeated here if SciPy
or NumPy has the function; tie groups of enclosures are the connected components of the graph of overlaps.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from golden_io import replace_folder, write_json
from scipy import stats
from scipy.sparse import csgraph, csr_matrix

SEED = 2020
RESAMPLES = 100_000


def tie_representatives(values, gaps):
    """For each value the smallest value of its tie group: enclosures [v, v + gap] that overlap, directly or in a
    chain."""
    overlap = (values[:, None] <= (values + gaps)[None, :]) & (values[None, :] <= (values + gaps)[:, None])
    _, component = csgraph.connected_components(csr_matrix(overlap), directed=False)
    return np.array([values[component == c].min() for c in component])


def correlation(name, first, second, first_gaps=None, second_gaps=None):
    values = [np.asarray(v, float) for v in (first, second)]
    gaps = [None if g is None else np.asarray(g, float) for g in (first_gaps, second_gaps)]
    tied = [v if g is None else tie_representatives(v, g) for v, g in zip(values, gaps, strict=True)]
    average = [stats.rankdata(t) for t in tied]
    dense = [stats.rankdata(t, method="dense") for t in tied]
    n = len(values[0])
    constant = any(len(np.unique(t)) < 2 for t in tied)
    result = {
        "name": name,
        "first": values[0].tolist(),
        "second": values[1].tolist(),
        "first_average_ranks": average[0].tolist(),
        "second_average_ranks": average[1].tolist(),
        "first_dense_ranks": dense[0].tolist(),
        "second_dense_ranks": dense[1].tolist(),
        "standard": None if constant else float(stats.spearmanr(*tied)[0]),
        "dense_ranks": None if constant else float(1 - 6 * np.sum((dense[0] - dense[1]) ** 2) / (n * (n**2 - 1))),
    }
    for key, g in zip(("first_gaps", "second_gaps"), gaps, strict=True):
        if g is not None:
            result[key] = g.tolist()
    return result


def correlations(random):
    cases = [
        correlation("pair", [1, 2], [5, -3]),
        correlation("constant", [1, 1, 1], [1, 2, 3]),
        correlation("all_tied_by_gaps", [1, 1.5, 2], [3, 1, 2], [0.5, 0.5, 0], None),
        correlation("opposite_with_ties", [1, 1, 2], [2, 2, 1]),
        correlation("tiny", 1e-300 * random.standard_normal(9), 1e300 * random.standard_normal(9)),
        correlation("zeros_of_both_signs", [0.0, -0.0, 1.0, -1.0], [2.0, 2.0, -0.0, 0.0]),
    ]
    for n in (3, 5, 8, 13, 30, 101):
        first = random.standard_normal(n)
        second = 0.6 * first + random.standard_normal(n)
        cases.append(correlation(f"normal_{n}", first, second))
        cases.append(correlation(f"rounded_{n}", np.round(first, 1), np.round(second)))
        cases.append(correlation(f"few_values_{n}", random.randint(0, 3, n), random.randint(0, 2, n)))
        # Multiples of 2^-10 and gaps of a few units: overlaps, touching ends and chains, all exact.
        units = random.randint(0, 12 * n, (2, n)) / 1024
        gaps = random.randint(0, 9, (2, n)) / 1024
        cases.append(correlation(f"enclosures_{n}", units[0], units[1], gaps[0], gaps[1]))
        cases.append(correlation(f"enclosures_of_one_{n}", units[0], second, gaps[0], None))
    return cases


def wilcoxon_tests(random):
    cases = []
    for n in (4, 12, 40, 200):
        for name, step in (("normal", None), ("ties", 4), ("many_ties", 1)):
            differences = random.standard_normal(n) + 0.3
            if step is not None:
                differences = np.round(differences * step) / step  # multiples of 1/4 or 1, including zeros
            test = stats.wilcoxon(differences, zero_method="wilcox", correction=False, method="approx")
            cases.append(
                {
                    "name": f"{name}_{n}",
                    "differences": differences.tolist(),
                    "count": int(np.count_nonzero(differences)),
                    "statistic": float(test.statistic),
                    "p": float(test.pvalue),
                }
            )
    return cases


def wilson_intervals():
    cases = []
    for successes, count in ((0, 1), (1, 1), (0, 20), (20, 20), (7, 20), (1, 1000), (965, 1000), (1900, 2000)):
        for confidence in (0.5, 0.95, 0.999):
            found = stats.binomtest(successes, count).proportion_ci(confidence_level=confidence, method="wilson")
            cases.append(
                {
                    "successes": successes,
                    "count": count,
                    "confidence": confidence,
                    "low": float(found.low),
                    "high": float(found.high),
                }
            )
    return cases


def samples(random):
    """Means with SciPy's bootstrap, and the exact sign-flip test over all 2^n choices of signs."""
    cases = []
    for n, scale in ((30, 1.0), (12, 0.1)):
        values = 0.3 + scale * random.gamma(2.0, 1.0, n)
        interval = stats.bootstrap(
            (values,), np.mean, method="percentile", n_resamples=RESAMPLES, batch=1000,
            random_state=np.random.RandomState(random.randint(2**31)),
        ).confidence_interval  # fmt: skip
        differences = values[:12] - np.mean(values) + 0.25 * scale
        flips = stats.permutation_test(
            (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
        )
        cases.append(
            {
                "name": f"gamma_{n}",
                "values": values.tolist(),
                "mean": float(np.mean(values)),
                "std": float(np.std(values, ddof=1)),
                "bootstrap_low": float(interval.low),
                "bootstrap_high": float(interval.high),
                "bootstrap_resamples": RESAMPLES,
                "differences": differences.tolist(),
                "sign_flip_p": float(flips.pvalue),
            }
        )
    return cases


def generate(out):
    out.mkdir()
    random = np.random.RandomState(SEED)
    write_json(
        out / "statistics.json",
        {
            "format": "attnflow-golden-evaluate",
            "version": 1,
            "correlations": correlations(random),
            "wilcoxon": wilcoxon_tests(random),
            "wilson": wilson_intervals(),
            "samples": samples(random),
        },
    )


def main():
    golden = Path(__file__).resolve().parent.parent.parent / "tests" / "golden"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=golden / "evaluate", help="folder to write (tests/golden/evaluate)")
    arguments = parser.parse_args()
    replace_folder(arguments.out, generate)


if __name__ == "__main__":
    sys.exit(main())
