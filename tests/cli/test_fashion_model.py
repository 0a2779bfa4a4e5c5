"""The built-in picture model compared with transformers: tests/golden/fashion, made by tools/golden/fashion.py."""

import json
import unittest

import numpy as np
from support import ROOT, USAGE, CommandTest, png

ANSWERS = ROOT / "tests" / "golden" / "fashion" / "answers.npz"
FOLDER = ROOT / "models" / "fashion"
MOST_BYTES = 3_000_000


class FashionModel(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.answers = np.load(ANSWERS)
        cls.labels = list(json.loads((FOLDER / "config.json").read_text())["id2label"].values())

    def picture(self, index):
        path = self.folder / f"picture{index}.png"
        path.write_bytes(png(self.answers["pictures"][index]))
        return path

    def test_attention_is_that_of_transformers(self):
        self.run_program("image", self.picture(0), "--keep-attention", "-o", "a.npz")
        made = np.load(self.folder / "a.npz")["attention"]
        self.assertEqual(made.shape, self.answers["attention"].shape)
        np.testing.assert_allclose(made, self.answers["attention"], atol=2e-5)

    def test_predictions_are_those_of_transformers(self):
        logits = self.answers["logits"].astype(np.float64)
        for index, row in enumerate(logits):
            report = json.loads(self.run_program("image", self.picture(index), "--top-k", "10", "--json").stdout)
            self.assertEqual(report["model"]["name"], "fashion")
            [prediction] = report["predictions"]
            expected = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
            for choice in prediction["choices"]:
                probability = expected[self.labels.index(choice["label"])]
                self.assertAlmostEqual(choice["probability"], probability, delta=1e-4)
            self.assertEqual(prediction["choices"][0]["label"], self.labels[int(row.argmax())])
        # It does not fit the labels by accident: most of the first test pictures are classified correctly.
        self.assertGreater((logits.argmax(axis=1) == self.answers["labels"]).mean(), 0.7)

    def test_it_is_what_its_card_says(self):
        about = json.loads((FOLDER / "training.json").read_text())
        everything = about["results"]["all"]
        self.assertEqual(everything["count"], 10_000)
        self.assertGreaterEqual(everything["accuracy"], 0.88)
        self.assertIn(f"| all kinds | 10000 | {everything['accuracy']:.3f} |", (FOLDER / "README.md").read_text())
        self.assertLess((FOLDER / "model.safetensors").stat().st_size, MOST_BYTES)
        done = self.run_program("model")
        self.assertIn("note: image uses fashion", done.stderr)
        listed = {line.split()[0]: line for line in done.stdout.splitlines()}
        self.assertIn("which of ten kinds it is", listed["fashion"])
        self.assertEqual(self.run_program("model", "fashion", "--card").stdout, (FOLDER / "README.md").read_text())

    def test_commands_for_texts_refuse_it(self):
        words = ['expected a text model, found "fashion"', "attnflow image"]
        self.refuse(USAGE, words, "explain", "A text", "--model", "fashion")
        self.refuse(USAGE, words, "evaluate", "agreement", "--model", "fashion", "--samples", "5")


if __name__ == "__main__":
    unittest.main()
