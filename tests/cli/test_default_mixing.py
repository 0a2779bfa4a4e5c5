"""The default edges: relevance where a model predicts something, the paper's attention elsewhere."""

import base64
import json
import os
import subprocess
import unittest

import numpy as np
from support import MODELS, PROGRAM, ROOT, USAGE, CommandTest, note_codes

DECODERS = ROOT / "tests" / "golden" / "decoders"
GPT2 = DECODERS / "gpt2_tied"
GGUF = ROOT / "tests" / "golden" / "gguf" / "llama.gguf"
SMOLLM2 = os.environ.get("ATTNFLOW_SMOLLM2")
YVETTE = "Then, Yvette and Angie were working at the mountain. Yvette decided to give a banana to"


class DefaultMixingTest(CommandTest):
    def report(self, *words):
        self.run_program(*words, "-o", "a.json")
        return json.loads((self.folder / "a.json").read_text())

    def test_decoders_are_explained_by_relevance(self):
        for model, text in ((GPT2, "The key"), (GGUF, "a b c")):
            with self.subTest(model):
                report = self.report("explain", text, "--model", model)
                self.assertEqual(report["settings"]["mixing"], "relevance")
                self.assertEqual(report["target"]["label"], report["predictions"][0]["choices"][0]["label"])
                self.assertIn("default-mixing", note_codes(report))
                named = self.report("explain", text, "--model", model, "--mixing", "relevance")
                self.assertEqual(named["arrays"], report["arrays"])
                self.assertNotIn("default-mixing", note_codes(named))

    def test_the_papers_attention_stands_beside_relevance(self):
        bert = MODELS / "bert_classification"
        for model, text, more in (
            (GPT2, "The key", []),
            (bert, "the key to the cabinets", ["--words"]),
            (bert, "the key to the cabinets", ["--layers", "2", "--start-layer", "1"]),
        ):
            with self.subTest(model=model.name, more=more):
                report = self.report("explain", text, "--model", model, *more)
                self.assertEqual(report["settings"]["mixing"], "relevance")
                self.run_program(
                    *("explain", text, "--model", model, *more, "--mixing", "attention", "--method", "rollout"),
                    *("--output-token", str(report["output_token"]), "-o", "a.npz"),
                )
                expected = np.load(self.folder / "a.npz")["rollout"][-1, report["output_token"]]
                beside = report["arrays"]["attention_rollout"]
                self.assertEqual(beside["shape"], [1, len(report["input"]["tokens"])])
                row = np.frombuffer(base64.b64decode(beside["data"]), "<f8")
                np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-9)
                shares = report["arrays"]["feed_forward"]
                self.assertEqual(shares["shape"], [report["model"]["layers"], len(report["input"]["tokens"])])
                share = np.frombuffer(base64.b64decode(shares["data"]), "<f8")
                self.assertTrue(np.all((share >= 0) & (share <= 1)) and share.max() > 0)
        self.assertNotIn(
            "attention_rollout", self.report("explain", "The key", "--model", GPT2, "--mixing", "attention")["arrays"]
        )

    def test_generated_tokens_are_explained_by_relevance_from_the_last_layer(self):
        report = self.report("generate", "The key", "--model", GPT2, "-n", "3", "--ignore-end")
        self.assertEqual(report["settings"]["mixing"], "relevance")
        self.assertEqual(report["settings"]["layers"], [report["model"]["layers"]])
        for token in report["generation"]["tokens"]:
            self.assertIn("against", token["target"])
            self.assertEqual([one["method"] for one in token["check"]["maps"]], ["raw", "rollout"])
        # The check of the first token is that of explain for the prompt.
        alone = self.report("explain", "The key", "--model", GPT2, "--method", "raw,rollout")
        first = report["generation"]["tokens"][0]["check"]
        self.assertAlmostEqual(first["value"], alone["check"]["value"], places=4)
        for one, other in zip(first["maps"], alone["check"]["maps"], strict=True):
            self.assertEqual(one["first_token"], other["first_token"])
        for one, other in zip(first["tokens"], alone["check"]["tokens"], strict=True):
            self.assertAlmostEqual(one["drop"], other["drop"], places=4)

    def test_predictions_of_encoders_are_explained_by_relevance(self):
        classifier, masked = MODELS / "bert_classification", MODELS / "bert_masked_lm"
        cases = [
            (classifier, "the key", []),
            (classifier, "the key", ["--output-token", "cls"]),
            (classifier, "the key", ["--output-token", "0"]),
            (masked, "the [MASK] key", []),
            (masked, "the [MASK] key", ["--output-token", "2"]),
        ]
        for model, text, more in cases:
            with self.subTest(model=model.name, more=more):
                report = self.report("explain", text, "--model", model, *more)
                self.assertEqual(report["settings"]["mixing"], "relevance")
                self.assertIn("default-mixing", note_codes(report))
                named = self.report("explain", text, "--model", model, *more, "--mixing", "relevance")
                self.assertEqual(named["arrays"], report["arrays"])
                self.assertEqual(named["target"], report["target"])

    def test_classes_of_images_are_explained_by_relevance(self):
        boot = ROOT / "models" / "fashion" / "example_ankle_boot.png"
        report = self.report("image", boot)
        self.assertEqual(report["settings"]["mixing"], "relevance")
        self.assertEqual(report["target"]["label"], "Ankle boot")
        self.assertIn("default-mixing", note_codes(report))
        self.assertEqual(self.report("image", boot, "--output-token", "5")["settings"]["mixing"], "attention")

    def test_candidates_are_the_question(self):
        model, text = MODELS / "bert_masked_lm", "the [MASK] key"
        report = self.report("explain", text, "--model", model, "--candidates", "book,the,table")
        candidates = report["predictions"][0]["candidates"]
        best = max(candidates, key=lambda one: one["probability"])
        self.assertEqual(report["target"]["label"], best["label"])
        others = [one["label"] for one in report["target"]["against"]["others"]]
        self.assertEqual(others, [one["label"] for one in candidates if one is not best])
        words = ("explain", text, "--model", model, "--candidates")
        other = self.report(*words, f"{best['label']},talk", "--against", best["label"])
        self.assertEqual((other["target"]["label"], other["target"]["against"]["label"]), ("talk", best["label"]))
        twice = self.report(*words, "key,Key")["target"]  # one word: the candidates are not a question
        self.assertEqual(twice["label"], report["predictions"][0]["choices"][0]["label"])
        self.refuse(USAGE, ["something to explain"], *words, "key,book", "--against", "key,book")
        blanked = self.report("explain", text, "--model", model, "--blank", "2")
        self.assertEqual(blanked["settings"]["mixing"], "attention")
        named = self.report("explain", text, "--model", model, "--target", "book", "--against", "key,the")
        self.assertEqual([one["label"] for one in named["target"]["against"]["others"]], ["key", "the"])
        logits = [one["logit"] for one in named["target"]["against"]["others"]]
        self.assertAlmostEqual(named["target"]["against"]["logit"], sum(logits) / 2, places=9)

    def test_next_ten(self):
        words = ("explain", "The key", "--model", GPT2)
        ten = self.report(*words)["target"]["against"]
        self.assertEqual(self.report(*words, "--against", "next10")["target"]["against"], ten)
        others = [one["logit"] for one in ten["others"]]
        self.assertEqual((len(others), others), (10, sorted(others, reverse=True)))
        one = self.report(*words, "--against", "next1")["target"]["against"]
        self.assertEqual(one["index"], ten["others"][0]["index"])
        self.refuse(USAGE, ["at least one after next", "found next0"], *words, "--against", "next0")
        self.refuse(USAGE, ["'none'", "stands alone"], *words, "--against", "id:7,none")
        self.refuse(USAGE, ["each token once"], *words, "--against", "id:7,id:8,id:7")
        self.refuse(USAGE, ["other than --target"], *words, "--target", "id:7", "--against", "id:8,id:7")

    def test_attention_where_that_is_meant(self):
        classifier = MODELS / "bert_classification"
        cases = [
            (classifier, "the key", ["--output-token", "1"]),
            (classifier, "the key", ["--output-token", "all"]),
            (MODELS / "bert_masked_lm", "the key", []),
            (MODELS / "bert_masked_lm", "the [MASK] key", ["--output-token", "1"]),
            (MODELS / "bert_base", "the key", ["--output-token", "cls"]),
            (GPT2, "The key", ["--residual", "0.3"]),
            (GPT2, "The key", ["--heads", "max"]),
            (GPT2, "The key", ["--output-token", "0"]),
            (GPT2, "The key", ["--only-output-token"]),
        ]
        for model, text, more in cases:
            with self.subTest(model=model.name, more=more):
                report = self.report("explain", text, "--model", model, *more)
                self.assertEqual(report["settings"]["mixing"], "attention")
                self.assertNotIn("default-mixing", note_codes(report))

    def test_gradients_of_a_file_write_nothing(self):
        environment = dict(os.environ, TMPDIR=str(self.folder / "missing"))
        command = [PROGRAM, "explain", "a b c", "--model", str(GGUF), "--method", "rollout", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["settings"]["mixing"], "relevance")

    def test_receptive_fields_of_contributions(self):
        words = ["generate", "The key", "--model", GPT2, "-n", "2", "--normalize", "receptive-field"]
        self.refuse(USAGE, ["receptive-field", "alti"], *words, "--mixing", "alti")
        self.report(*words)

    def test_a_target_asks_for_relevance(self):
        report = self.report("explain", "the key", "--model", MODELS / "bert_classification", "--target", "neutral")
        self.assertEqual(report["settings"]["mixing"], "relevance")
        self.assertEqual(report["target"]["label"], "neutral")
        named = ("--model", MODELS / "bert_classification", "--mixing", "norm", "--target", "neutral")
        self.refuse(USAGE, ["--target"], "explain", "the key", *named)

    @unittest.skipUnless(SMOLLM2, "SmolLM2 is not here")
    def test_the_word_that_decides_is_first(self):
        report = self.report("generate", YVETTE, "--model", SMOLLM2, "-n", "1", "--words", "--method", "rollout,flow")
        with np.load(self.saved(YVETTE)) as arrays:
            words = list(arrays["prompt_tokens"])
            for method in ("rollout", "flow"):
                values = arrays[method][0, :, -1]
                # The first token is a sink, and excluded.
                self.assertEqual(words[1 + int(np.argmax(values[1:]))].strip(), "Angie", method)
        (check,) = (token["check"] for token in report["generation"]["tokens"])
        for one in check["maps"]:
            self.assertEqual(report["input"]["tokens"][one["first_token"]]["text"].strip(), "Angie")
            self.assertTrue(one["effect"].startswith("The top-ranked word is right"), one["effect"])

    def saved(self, prompt):
        words = ["-n", "1", "--words", "--method", "rollout,flow", "-o", "a.npz"]
        self.run_program("generate", prompt, "--model", SMOLLM2, *words)
        return self.folder / "a.npz"


if __name__ == "__main__":
    unittest.main()
