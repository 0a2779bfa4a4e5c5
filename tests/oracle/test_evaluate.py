"""`attnflow evaluate` compared with SciPy, with `attnflow explain`, and with PyTorch's autograd.

The program writes every sample's scores, relevance and correlations (--per-sample). SciPy ranks and correlates them
again; explain gives the probabilities used by blank-out; and transformers runs the same models and differentiates them.

ATTNFLOW is the program (default: the release build's), ATTNFLOW_TORCH_PYTHON a Python with PyTorch and transformers
(`./dev test oracle` makes one).
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
from scipy import stats

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = os.environ.get("ATTNFLOW", str(ROOT / "build" / "release" / "bin" / "attnflow"))
MODELS = ROOT / "tests" / "golden" / "models"
TORCH_PYTHON = os.environ.get("ATTNFLOW_TORCH_PYTHON")

SAMPLES = 50
WORDS = "the key is on table author about her book it here a cabinet talk , . ! Sara T zebra é".split()
SCORES = ("blank-out", "gradient", "gradient-x-input", "gradient-sum")


def make_sentences():
    """Lines of text TAB label, 2 to 11 words each."""
    random = np.random.RandomState(5)
    lines = []
    for _ in range(SAMPLES):
        words = random.choice(WORDS, random.randint(2, 12))
        lines.append(" ".join(words) + f"\t{random.randint(3)}")
    return lines


def tie_groups(values, gaps):
    """Each value replaced by the smallest of its group: enclosures [v, v + gap] that overlap, directly or in a
    chain."""
    order = np.argsort(values, kind="stable")
    grouped = np.empty_like(values)
    end, first = -np.inf, 0.0
    for i in order:
        if values[i] > end:
            first = values[i]
        end = max(end, values[i] + gaps[i])
        grouped[i] = first
    return grouped


def by_scipy(formula, relevance, gaps, score):
    """The correlation, or None if a vector is constant."""
    relevance, score = np.array(relevance), np.array(score)
    if gaps:
        relevance = tie_groups(relevance, np.array(gaps))
    if len(score) < 2 or len(set(relevance)) < 2 or len(set(score)) < 2:
        return None
    if formula == "spearman":
        return stats.spearmanr(relevance, score)[0]
    ranks = [stats.rankdata(v, method="dense") for v in (relevance, score)]
    n = len(score)
    return 1 - 6 * np.sum((ranks[0] - ranks[1]) ** 2) / (n * (n**2 - 1))


class EvaluateTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        (self.folder / "samples.tsv").write_text("\n".join(make_sentences()) + "\n", encoding="utf-8")

    def run_command(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr.decode()}")
        return done.stdout.decode()

    def evaluate(self, model, *more):
        out = self.folder / "out.json"
        self.run_command(
            *(PROGRAM, "evaluate", "sentences", self.folder / "samples.tsv", "--model", MODELS / model, "--truncate"),
            *("--per-sample", "--resamples", "200", "-o", out, *more),
        )
        return json.loads(out.read_text(encoding="utf-8"))

    def check_correlations(self, report):
        settings = report["settings"]
        compared = 0
        per_cell = [[] for _ in report["cells"]]
        for sample in report["samples"]:
            special = np.array(sample["special"])
            for c, cell in enumerate(report["cells"]):
                r = settings["relevance"].index(cell["relevance"])
                m = settings["method"].index(cell["method"])
                layer = settings["layers"].index(cell["layer"])
                q = report["scores"].index({"score": cell["score"], "target": cell["target"]})
                keep = ~special if cell["tokens"] == "without-special" else np.full(len(special), True)
                relevance = np.array(sample["relevance"][r][m][layer])[keep]
                gaps = sample["gaps"][r][m][layer]
                gaps = list(np.array(gaps)[keep]) if gaps else []
                expected = by_scipy(cell["formula"], relevance, gaps, np.array(sample["scores"][q])[keep])
                found = sample["correlations"][c]
                if expected is None:
                    self.assertIsNone(found)
                    continue
                self.assertIsNotNone(found)
                self.assertAlmostEqual(found, expected, delta=1e-12)
                per_cell[c].append(found)
                compared += 1
        for cell, values in zip(report["cells"], per_cell, strict=True):
            self.assertEqual(cell["count"], len(values))
            self.assertEqual(cell["count"] + cell["left_out"], SAMPLES)
            self.assertAlmostEqual(cell["mean"], np.mean(values), delta=1e-12)
            self.assertAlmostEqual(cell["std"], np.std(values, ddof=1), delta=1e-12)
        return compared

    def test_correlations_by_scipy(self):
        every = ("--scores", ",".join(SCORES), "--relevance", "row,column-max,column-sum", "--layers", "2")
        for model, settings in (("bert_classification", every), ("megatron_bert_classification", ())):
            with self.subTest(model):
                report = self.evaluate(model, *settings)
                self.assertGreater(self.check_correlations(report), SAMPLES * len(report["cells"]) * 9 // 10)

    def test_comparisons_by_scipy(self):
        report = self.evaluate("bert_classification")
        by_cell = {
            (c["score"], c["tokens"], c["method"], c["layer"]): number
            for number, c in enumerate(report["cells"])
            if c["formula"] == "spearman"
        }
        tested = 0
        for one in report["comparisons"]:
            cells = [by_cell[one["score"], one["tokens"], one[side], one["layer"]] for side in ("first", "second")]
            values = [
                [np.nan if s["correlations"][c] is None else s["correlations"][c] for s in report["samples"]]
                for c in cells
            ]
            differences = np.subtract(*values)
            differences = differences[~np.isnan(differences)]
            self.assertEqual(one["count"], len(differences))
            self.assertAlmostEqual(one["mean"], differences.mean(), delta=1e-12)
            if one["wilcoxon"] is None:
                self.assertFalse(differences.any())
                continue
            test = stats.wilcoxon(differences, zero_method="wilcox", correction=False, method="approx")
            self.assertAlmostEqual(one["wilcoxon"]["p"], test.pvalue, delta=1e-9)
            tested += 1
        self.assertGreater(tested, 10)

    def test_blank_out_by_explain(self):
        model = MODELS / "bert_classification"
        report = self.evaluate("bert_classification", "--scores", "blank-out", "--samples", "4")
        labels = report["model"]["labels"]

        def probability(text, label):
            shown = json.loads(
                self.run_command(PROGRAM, "explain", text, "--model", model, "--method", "raw", "--json")
            )
            return {c["label"]: c["probability"] for c in shown["predictions"][0]["choices"]}[labels[label]]

        compared = 0
        for sample in report["samples"]:
            words = sample["text"].split()
            if [t for t, special in zip(sample["tokens"], sample["special"], strict=True) if not special] != words:
                continue  # words of several tokens cannot be blanked token by token in the text
            base = probability(sample["text"], sample["label"])
            for place, _ in enumerate(words):
                blanked = " ".join([*words[:place], "[UNK]", *words[place + 1 :]])
                change = abs(base - probability(blanked, sample["label"]))
                self.assertAlmostEqual(sample["scores"][0][place + 1], change, delta=1e-6)
                compared += 1
        self.assertGreater(compared, 5)

    def test_scores_by_autograd(self):
        self.assertIsNotNone(TORCH_PYTHON, "ATTNFLOW_TORCH_PYTHON names no Python with PyTorch: run ./dev test oracle")
        for model in ("distilbert_classification", "albert_classification", "megatron_bert_classification"):
            with self.subTest(model):
                self.evaluate(
                    *(model, "--scores", ",".join(SCORES), "--targets", "probability,logit:1,difference:predicted")
                )
                done = self.run_command(
                    TORCH_PYTHON, HERE / "autograd_oracle.py", MODELS / model, self.folder / "out.json"
                )
                self.assertTrue(done.splitlines()[-1].startswith("ok: "), done)


if __name__ == "__main__":
    unittest.main()
