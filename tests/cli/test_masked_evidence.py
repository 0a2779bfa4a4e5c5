"""`attnflow evaluate evidence` with masked language models: a small random one, and BERT-base if it is present."""

import csv
import json
import os
import unittest

from support import BAD_FILE, MODELS, CommandTest

BERT = str(MODELS / "bert_masked_lm_tied")
BERT_BASE = os.environ.get("ATTNFLOW_BERT_BASE_DIR", "")
FAST = ("--resamples", "100", "--samples", "0")


class MaskedEvidence(CommandTest):
    def write(self, *rows, columns=("text", "good", "bad", "evidence")):
        with (self.folder / "e.csv").open("w", newline="") as file:
            csv.writer(file).writerows([columns, *rows])

    def evidence(self, *options):
        words = ["evaluate", "evidence", "--model", BERT, "--data", "e.csv", *FAST, *options, "--json"]
        return json.loads(self.run_program(*words).stdout)

    def test_every_mixing_and_score(self):
        self.write(
            ("the author is on [MASK] table .", "her", "it", "author"),
            ("the book talk about [MASK]", "sara", "it", "book"),
            ("the book talk about it", "sara", "it", "book"),
        )
        found = self.evidence("--mixing", "all", "--scores", "blank-out,gradient,gradient-x-input")
        self.assertEqual(found["samples"]["scored"], 2)
        self.assertEqual(found["samples"]["left_out"], {"the text does not contain exactly one mask token": 1})
        mixings = found["settings"]["mixing"]
        self.assertEqual(mixings[:3], ["attention", "gradient", "gradient-renormalized"])
        self.assertFalse(set(mixings) & set(found["impossible_mixings"]))
        cells = {(c["method"], c["mixing"], c["layer"]): c["mean"] for c in found["cells"]}
        self.assertEqual(len(cells), len(found["cells"]))
        # Two layers and their mean, for raw, rollout and flow; four scores, one of them chance.
        self.assertEqual(len(cells), 3 * 3 * len(mixings) + 4)
        self.assertTrue(all(0 < value <= 1 for value in cells.values()))
        chance = (sum(1 / r for r in range(1, 7)) / 6 + sum(1 / r for r in range(1, 5)) / 4) / 2
        self.assertAlmostEqual(cells["chance", None, "mean"], chance)

    def test_words_that_the_file_does_not_name(self):
        """What is explained and compared with: the file's words, the option's, and else the model's own prediction."""
        text, word = "the author is on [MASK] table .", "author"
        mixings = ("--mixing", "attention,gradient,relevance")
        scores = ("--scores", "blank-out,gradient,gradient-x-input,attnlrp")

        def of(columns, *cells, against=None):
            self.write((text, *cells, word), columns=("text", *columns, "evidence"))
            found = self.evidence(*mixings, *scores, *(("--against", against) if against else ()))
            return found["cells"], found["settings"]["against"]

        both = ("good", "bad")
        named, against = of(both, "her", "it")
        self.assertEqual(against, "auto")
        self.assertEqual(of(("good",), "her", against="it"), (named, "it"))
        self.assertEqual(of(both, "her", "the", against="it"), (named, "it"))  # the option before the file
        ten = of(("good",), "her")[0]
        self.assertNotEqual(ten, named)
        self.assertEqual(of(("good",), "her", against="next10")[0], ten)
        self.assertEqual(of(both, "her", "it", against="next10")[0], ten)

        explain = ("explain", text, "--model", BERT, "--method", "raw", "--mixing", "relevance", "-o", "a.json")
        self.run_program(*explain)
        target = json.loads((self.folder / "a.json").read_text())["target"]
        own = of(())[0]
        others = [other["index"] for other in target["against"]["others"]]
        self.assertEqual(len(others), 10)
        self.assertEqual(of(("good",), target["label"])[0], own)
        self.assertEqual(of((), against=",".join(f"id:{other}" for other in others))[0], own)
        for contrast in ("rest", "none"):
            self.assertEqual(of(("good",), target["label"], against=contrast)[0], of((), against=contrast)[0])

    def test_what_explained_words_are_called(self):
        words = ["evaluate", "evidence", "--model", BERT, "--data", "e.csv", *FAST]
        sentence = "Methods with a target explain"
        for cells, columns, options, expected in (
            (("her", "it"), ("good", "bad"), (), "the right word rather than the wrong one"),
            (("her",), ("good",), (), "the right word rather than the ten most probable others"),
            ((), (), ("--against", "rest"), "what the model predicts rather than all others"),
            ((), (), ("--against", "it"), "what the model predicts rather than 'it'"),
            (("her", "it"), ("good", "bad"), ("--against", "none"), "the right word"),
        ):
            self.write(("the author is on [MASK] table", *cells, "author"), columns=("text", *columns, "evidence"))
            said = " ".join(self.run_program(*words, *options).stdout.split())
            self.assertIn(f"{sentence} {expected}.", said)
            self.assertEqual("The right word is more probable" in said, bool(cells))

    def test_columns_that_need_another(self):
        for columns, missing in ((("bad",), "one_prefix_word_good or good"), (("good", "swap"), "bad")):
            self.write(("the author is on [MASK] table", *columns, "author"), columns=("text", *columns, "evidence"))
            words = ["evaluate", "evidence", "--model", BERT, "--data", "e.csv", *FAST]
            self.assertIn(missing, self.run_program(*words, code=BAD_FILE).stderr)
        self.write(("the author is on [MASK] table", "", "author"), columns=("text", "good", "evidence"))
        words = ["evaluate", "evidence", "--model", BERT, "--data", "e.csv", *FAST]
        self.assertIn("the right or the wrong word is empty: 1", self.run_program(*words, code=BAD_FILE).stderr)

    def test_the_table_names_mixings(self):
        self.write(("the author is on [MASK] table", "her", "it", "author"))
        words = ["evaluate", "evidence", "--model", BERT, "--data", "e.csv", "--mixing", "attention,gradient", *FAST]
        self.assertIn("\nrollout over gradient ", self.run_program(*words).stdout)
        self.run_program(*words, "-o", "out.csv")
        with (self.folder / "out.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["mixing"] for row in rows}, {"attention", "gradient", ""})


@unittest.skipUnless(BERT_BASE, "ATTNFLOW_BERT_BASE_DIR is not set")
class BertBase(CommandTest):
    """The folder of tools/fetch_bert_base, checked with known predictions."""

    def predictions(self, text, *options):
        words = ["explain", text, "--model", BERT_BASE, "--method", "raw", "--layers", 12, *options]
        self.run_program(*words, "-o", "a.json", "--force")
        return json.loads((self.folder / "a.json").read_text())["predictions"][0]

    def test_the_capital_of_france(self):
        found = self.predictions("The capital of France is [MASK].")["choices"]
        for choice, (text, probability) in zip(
            found, (("paris", 0.417), ("lille", 0.071), ("lyon", 0.063)), strict=False
        ):
            self.assertEqual(choice["label"], text)
            self.assertAlmostEqual(choice["probability"], probability, delta=0.0006)

    def test_the_papers_sentence(self):
        found = self.predictions("The author talked to Sara about [MASK] book.", "--candidates", "her,his")
        values = {choice["label"]: choice["probability"] for choice in found["candidates"]}
        self.assertAlmostEqual(values["her"], 0.137, delta=0.0006)
        self.assertAlmostEqual(values["his"], 0.097, delta=0.0006)


if __name__ == "__main__":
    unittest.main()
