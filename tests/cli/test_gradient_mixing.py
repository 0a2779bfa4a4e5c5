"""`attnflow explain --mixing gradient`: classifiers and decoders of libtorch, what is refused, and what the numbers obey."""

import json
import unittest

import numpy as np
from support import MODELS, ROOT, UNSUPPORTED, USAGE, CommandTest, random_attention

CLASSIFIERS = ("bert_classification", "roberta_classification", "distilbert_classification", "albert_classification")
DECODER = ROOT / "tests" / "golden" / "decoders" / "gpt2_tied"
TEXT = "the key to the cabinets"


def published(weights):
    """R <- R + G R from R = I, layer by layer (Chefer, Gur & Wolf, ICCV 2021, equation 6)."""
    product = np.eye(weights.shape[-1])
    for layer in weights:
        product = product + layer @ product
        yield product


def renormalised(weights):
    product = np.eye(weights.shape[-1])
    for layer in weights:
        mixed = np.eye(len(layer)) + layer
        product = mixed / mixed.sum(axis=-1, keepdims=True) @ product
        yield product


class GradientMixingTest(CommandTest):
    def explain(self, model, *more, text=TEXT):
        self.run_program(
            *("explain", text, "--model", model, "--mixing", "gradient", *more),
            *("--keep-attention", "-o", "a.npz", "-o", "a.json"),
        )
        report = json.loads((self.folder / "a.json").read_text())
        with np.load(self.folder / "a.npz") as arrays:
            return report, {key: arrays[key] for key in arrays.files}

    def check_laws(self, made):
        raw, flow, gap = made["raw"], made["flow"], made["flow_gap"]
        self.assertTrue((raw >= 0).all())
        self.assertGreater(raw.max(), 0)
        np.testing.assert_allclose(made["rollout"], list(published(raw)), rtol=1e-12, atol=1e-14)
        self.assertTrue((made["rollout"].sum(axis=-1) >= 1).all())
        self.assertTrue((flow <= 1 + 1e-12).all())
        self.assertTrue((np.array(list(renormalised(raw))) <= flow + gap + 1e-12).all())
        # Only attention that is there can be weighted.
        self.assertTrue((raw[made["attention"].max(axis=1) == 0] == 0).all())

    def test_classifiers(self):
        for name in CLASSIFIERS:
            with self.subTest(name):
                report, made = self.explain(MODELS / name)
                choices = report["predictions"][0]["choices"]
                self.assertEqual(report["target"]["kind"], "class")
                self.assertEqual(report["target"]["label"], choices[0]["label"])
                self.assertEqual(report["settings"]["mixing"], "gradient")
                self.assertTrue(any("no shares" in note for note in report["notes"]), report["notes"])
                self.check_laws(made)
                # The score is read at the class token: the top layer's other rows have no gradient.
                self.assertEqual(np.abs(made["raw"][-1, 1:]).max(), 0)
                other = choices[-1]["label"]
                report, changed = self.explain(MODELS / name, "--target", other)
                self.assertEqual(report["target"]["label"], other)
                self.assertFalse(np.allclose(changed["raw"], made["raw"]))
                index = report["target"]["index"]
                _, by_number = self.explain(MODELS / name, "--target", index)
                np.testing.assert_array_equal(by_number["rollout"], changed["rollout"])

    def test_renormalised_rows(self):
        model = MODELS / "bert_classification"
        _, made = self.explain(model)
        self.run_program("explain", TEXT, "--model", model, "--mixing", "gradient-renormalized", "-o", "b.npz")
        with np.load(self.folder / "b.npz") as shares:
            np.testing.assert_array_equal(shares["raw"], made["raw"])
            np.testing.assert_array_equal(shares["flow"], made["flow"])
            np.testing.assert_allclose(shares["rollout"], list(renormalised(made["raw"])), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(shares["rollout"].sum(axis=-1), 1, atol=1e-12)

    def test_decoder(self):
        report, made = self.explain(DECODER)
        self.assertEqual(report["target"]["kind"], "next")
        self.assertEqual(report["target"]["label"], report["predictions"][0]["choices"][0]["label"])
        self.assertEqual(report["output_token"], len(report["input"]["tokens"]) - 1)
        self.check_laws(made)
        self.assertEqual(np.abs(np.triu(made["raw"], 1)).max(), 0)
        self.assertEqual(np.abs(made["raw"][-1, :-1]).max(), 0)
        report, other = self.explain(DECODER, "--target", "id:3")
        self.assertEqual(report["target"]["index"], 3)
        self.assertFalse(np.allclose(other["raw"], made["raw"]))

    def test_every_kind_of_output_names_the_target(self):
        model = MODELS / "bert_classification"
        outputs = [part for kind in ("html", "svg", "pdf", "png", "csv", "md", "txt") for part in ("-o", f"a.{kind}")]
        self.run_program(
            *("explain", TEXT, "--model", model, "--mixing", "gradient", "--words", "--normalize", "receptive-field"),
            *("--target", "0", *outputs),
        )
        for kind in ("svg", "md", "txt"):
            said = " ".join((self.folder / f"a.{kind}").read_text().split())
            self.assertIn("radient-adjusted attention for class", said)
        table = self.run_program("explain", TEXT, "--model", model, "--mixing", "gradient", "--certificate", "cls,2")
        self.assertIn("Gradient-adjusted attention for class", " ".join(table.stdout.split()))
        self.assertIn("Checked:", table.stdout)

    def test_same_bytes_whatever_the_threads(self):
        for threads in ("1", "3"):
            self.run_program(
                *("explain", TEXT, "--model", MODELS / "bert_classification", "--mixing", "gradient"),
                *("--threads", threads, "-o", f"t{threads}.json"),
            )
        one = (self.folder / "t1.json").read_bytes()
        self.assertEqual(one, (self.folder / "t3.json").read_bytes())

    def test_refused(self):
        gradient = ("--mixing", "gradient")
        model = ("--model", MODELS / "bert_classification")
        for words, arguments in (
            (["--target: expected auto, a class", "'none'"], [*model, *gradient, "--target", "none"]),
            (["--target: expected --mixing gradient"], [*model, "--target", "0"]),
            (["--heads mean", "--heads max"], [*model, *gradient, "--heads", "max"]),
            (["no --residual", "0.25"], [*model, *gradient, "--residual", "0.25"]),
            (["--mixing: expected attention, gradient"], [*model, "--mixing", "gradients"]),
            (["--target: expected the id"], ["--model", DECODER, *gradient, "--target", "id:x"]),
            (["--only-output-token"], ["--model", DECODER, *gradient, "--only-output-token"]),
        ):
            with self.subTest(words):
                self.refuse(USAGE, words, "explain", TEXT, *arguments)
        for name in ("bert_masked_lm", "bert_base"):
            self.refuse(
                UNSUPPORTED,
                ["expected a classifier or a decoder", name],
                *("explain", TEXT, "--model", MODELS / name, *gradient),
            )
        path = self.save_attention(random_attention())
        self.refuse(USAGE, ["--mixing gradient", "no gradients"], "explain", "--attention", path, *gradient)


if __name__ == "__main__":
    unittest.main()
