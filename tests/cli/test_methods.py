"""The score methods of `attnflow explain` and `attnflow image`: compared with runs of the model on blanked texts and
with the evaluation's own scores, laws that they obey, and what is refused."""

import json
import unittest

import numpy as np
from support import MODELS, ROOT, USAGE, CommandTest, random_attention

TEXT = "the key to the cabinets"
MODEL = MODELS / "bert_classification"
DECODER = ROOT / "tests" / "golden" / "decoders" / "gpt2_tied"


def logits(report):
    """Logits up to a constant: by class, from the probabilities of all classes."""
    return {choice["label"]: np.log(choice["probability"]) for choice in report["predictions"][0]["choices"]}


def above_rest(values, label):
    others = [value for name, value in values.items() if name != label]
    return values[label] - np.mean(others)


class MethodsTest(CommandTest):
    def explain(self, *more, text=TEXT, model=MODEL):
        self.run_program("explain", text, "--model", model, *more, "-o", "a.json", "-o", "a.npz")
        with np.load(self.folder / "a.npz") as arrays:
            return json.loads((self.folder / "a.json").read_text()), {key: arrays[key] for key in arrays.files}

    def test_a_decoder_s_other_predictions(self):
        """The prediction at another output token is the model's for the text up to there."""
        words = ("--method", "rollout,attnlrp", "--mixing", "attention")
        whole, _ = self.explain(*words, "--output-token", "1", text="The key a b", model=DECODER)
        part, _ = self.explain(*words, text="The key", model=DECODER)
        self.assertEqual(whole["target"]["position"], 1)
        self.assertEqual(whole["target"]["label"], part["target"]["label"])
        self.assertAlmostEqual(whole["target"]["logit"], part["target"]["logit"], places=4)
        row = ["explain", "The key a b", "--model", DECODER, *words, "--only-output-token"]
        refused = self.refuse(USAGE, ["expected the output token at which it is made"], *row, "--output-token", "1")
        self.assertIn("--only-output-token: ", refused)
        self.run_program(*row, "-o", "a.json")

    def test_generated_tokens_have_the_scores_of_the_predictions_that_chose_them(self):
        methods = ["attnlrp", "gradient-x-input", "integrated-gradients", "logit", "blank-out"]
        options = ["--method", ",".join(methods), "--integration-steps", "4", "--mixing", "attention"]
        made = ["generate", "The key", "--model", DECODER, *options, "-n", "4", "--temperature", "0.8", "--seed", "7"]
        self.run_program(*made, "--generated-columns", "-o", "a.json", "-o", "a.npz")
        report = json.loads((self.folder / "a.json").read_text())
        arrays = np.load(self.folder / "a.npz")
        tokens = report["generation"]["tokens"]
        m = len(report["input"]["tokens"])
        self.assertNotIn("rollout", arrays)
        compared = 0
        for t, token in enumerate(tokens):
            text = report["generation"]["text"].encode()[: tokens[t - 1]["end"]].decode() if t else ""
            index, against = token["target"]["index"], token["target"]["against"]["others"]
            others = ",".join(f"id:{other['index']}" for other in against)
            target = ["--target", f"id:{index}", "--against", others]
            explained, scores = self.explain(*options, *target, text="The key" + text, model=DECODER)
            if len(explained["input"]["tokens"]) != m + t:
                continue  # the text is not split into the same tokens
            for method, sums in zip(methods, report["scores"], strict=True):
                self.assertEqual(sums["method"], method)
                name = method.replace("-", "_")
                row = np.concatenate([arrays[name][t], arrays[name + "_generated"][t, :t]])
                np.testing.assert_allclose(row, scores[name][0], atol=1e-4, err_msg=f"{method}, token {t}")
                one = next(one for one in explained["scores"] if one["method"] == method)
                self.assertEqual([part["name"] for part in sums["sums"][t]["parts"]], [p["name"] for p in one["parts"]])
                self.assertEqual("total" in sums["sums"][t], "total" in one)
            self.assertEqual([one["method"] for one in token["check"]["maps"]], methods)
            compared += 1
        self.assertGreaterEqual(compared, 2)
        # Without the columns of generated tokens, their sum becomes one part, and the total is unchanged.
        self.run_program(*made, "-o", "b.json", "-o", "b.npz")
        without = json.loads((self.folder / "b.json").read_text())["scores"][3]["sums"]
        earlier = without[1]["parts"][0]
        self.assertEqual(earlier["name"], "earlier generated tokens")
        self.assertAlmostEqual(earlier["value"], arrays["logit_generated"][1].sum(), places=5)
        self.assertAlmostEqual(without[1]["error"], report["scores"][3]["sums"][1]["error"], places=5)
        # Files of every kind, for any of them.
        for figure in (["--show", "attnlrp", "--token", "1"], ["--show", "logit", "--view", "matrix"]):
            self.run_program(*made, *figure, "-o", "a.svg", "--force")
            self.assertIn("argues for", (self.folder / "a.svg").read_text())
        self.run_program(*made, "-o", "a.html", "-o", "a.csv", "-o", "a.md")
        self.assertIn("by attnlrp", (self.folder / "a.md").read_text())
        self.refuse(
            USAGE, ["--view heatmap", "no layers"], *made, "--show", "attnlrp", "--view", "heatmap", "-o", "a.png"
        )

    def test_blank_out_is_what_the_model_says_of_blanked_texts(self):
        report, arrays = self.explain("--method", "rollout,blank-out")
        target = report["target"]["label"]
        self.assertEqual(target, report["predictions"][0]["choices"][0]["label"])
        value = above_rest(logits(report), target)
        self.assertAlmostEqual(report["check"]["value"], value, places=4)
        tokens = report["input"]["tokens"]
        words = [token.get("word") for token in tokens]
        compared = 0
        for position, token in enumerate(tokens):
            if token["special"] or words.count(token["word"]) > 1:
                continue  # only a whole word can be written as the unknown token
            text = TEXT[: token["begin"]] + "[UNK]" + TEXT[token["end"] :]
            blanked, _ = self.explain("--method", "raw", text=text)
            self.assertEqual(len(blanked["input"]["tokens"]), len(tokens))
            score = arrays["blank_out"][0, position]
            self.assertAlmostEqual(score, value - above_rest(logits(blanked), target), places=4)
            compared += 1
        self.assertGreater(compared, 2)

    def test_the_check_is_spearmans_with_the_size_of_the_drops(self):
        blanked = ("--check-replacements", "0", "--mixing", "attention")
        report, arrays = self.explain("--method", "rollout,flow,gradient-x-input,blank-out", *blanked)
        words = [i for i, token in enumerate(report["input"]["tokens"]) if not token["special"]]
        drops = arrays["blank_out"][0]
        maps = {one["method"]: one for one in report["check"]["maps"]}
        self.assertEqual(list(maps), ["rollout", "flow", "gradient-x-input"])

        def ranks(values):  # there are no ties here
            return np.argsort(np.argsort(values))

        for method, values, reference in (
            ("rollout", arrays["rollout"][-1, 0], np.abs(drops)),
            ("gradient-x-input", arrays["gradient_x_input"][0], drops),
        ):
            expected = np.corrcoef(ranks(values[words]), ranks(reference[words]))[0, 1]
            self.assertAlmostEqual(maps[method]["rank_correlation"], expected, places=12)
            first = words[int(np.argmax(values[words]))]
            self.assertEqual(maps[method]["first_token"], first)
        self.assertEqual([one["token"] for one in report["check"]["tokens"]], words)
        np.testing.assert_allclose([one["drop"] for one in report["check"]["tokens"]], drops[words], atol=1e-12)

    def test_every_output_has_them(self):
        files = ["a.svg", "a.png", "a.pdf", "a.csv", "a.md", "a.txt", "a.html", "a.safetensors"]
        outputs = [word for name in files for word in ("-o", name)]
        methods = ("--method", "rollout,attnlrp,blank-out")
        self.run_program("explain", TEXT, "--model", MODEL, *methods, "--view", "overview", *outputs)
        self.assertIn("strip-attnlrp", (self.folder / "a.svg").read_text())
        self.assertIn("argue for", (self.folder / "a.txt").read_text())
        self.assertIn("attnlrp,blank_out", (self.folder / "a.csv").read_text().splitlines()[0])
        self.run_program("explain", TEXT, "--model", MODEL, "--method", "blank-out", "-o", "only.svg")

    def test_words_are_explained_at_the_same_position(self):
        """The position of a prediction refers to tokens, even if the report merges them."""
        single, of_tokens = self.explain("--method", "attnlrp", text="The keys rust", model=DECODER)
        words, of_words = self.explain("--method", "attnlrp", "--words", text="The keys rust", model=DECODER)
        self.assertLess(len(words["input"]["tokens"]), len(single["input"]["tokens"]))
        self.assertAlmostEqual(of_tokens["attnlrp"].sum(), of_words["attnlrp"].sum(), places=9)

    def test_refusals(self):
        text = ("explain", TEXT, "--model", MODEL)
        file = ("explain", "--attention", self.save_attention(random_attention()))
        steps = ["--method", "integrated-gradients", "--integration-steps", "0"]
        same = ["--method", "blank-out", "--target", "neutral", "--against", "neutral"]
        for words, command in (
            (["expected a class other than", "found 'neutral'"], [*text, *same]),
            (["an attention file", "blank-out"], [*file, "--method", "raw,blank-out"]),
            (["1"], ["generate", "The", "--model", DECODER, *steps]),
            (["--target", "a method that does"], [*text, "--mixing", "attention", "--target", "neutral"]),
            (["has none", "--view strip"], [*text, "--method", "blank-out", "--view", "heatmap", "-o", "b.svg"]),
        ):
            with self.subTest(words):
                self.refuse(USAGE, words, *command)


if __name__ == "__main__":
    unittest.main()
