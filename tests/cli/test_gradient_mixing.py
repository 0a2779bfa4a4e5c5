"""`--mixing gradient` of `attnflow explain` and `attnflow image`: classifiers and decoders of libtorch compared with
PyTorch's autograd (tests/golden/gradient_mixing), what is refused, and laws that the numbers obey."""

import base64
import json
import shutil
import unittest

import numpy as np
from support import MODELS, ROOT, USAGE, CommandTest, note_codes, png

from reference.attention_graph import add_residual, rollout
from reference.max_flow import Network

GOLDEN = ROOT / "tests" / "golden" / "gradient_mixing"

CLASSIFIERS = ("bert_classification", "roberta_classification", "distilbert_classification", "albert_classification")
DECODER = ROOT / "tests" / "golden" / "decoders" / "gpt2_tied"
GGUF = ROOT / "tests" / "golden" / "gguf" / "llama.gguf"
TEXT = "the key to the cabinets"


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
        np.testing.assert_allclose(made["rollout"], rollout(add_residual(raw, rule="added")), rtol=1e-12, atol=1e-14)
        self.assertTrue((made["rollout"].sum(axis=-1) >= 1).all())
        self.assertTrue((flow <= 1 + 1e-12).all())
        self.assertTrue((rollout(add_residual(raw, rule="added-normalized")) <= flow + gap + 1e-12).all())
        # Only attention that exists can be weighted.
        self.assertTrue((raw[made["attention"].max(axis=1) == 0] == 0).all())

    def test_classifiers(self):
        for name in CLASSIFIERS:
            with self.subTest(name):
                report, made = self.explain(MODELS / name)
                choices = report["predictions"][0]["choices"]
                self.assertEqual(report["target"]["kind"], "class")
                self.assertEqual(report["target"]["label"], choices[0]["label"])
                self.assertEqual(report["settings"]["mixing"], "gradient")
                self.assertIn("rollout-not-shares", note_codes(report))
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
            expected = rollout(add_residual(made["raw"], rule="added-normalized"))
            np.testing.assert_allclose(shares["rollout"], expected, rtol=1e-12, atol=1e-14)
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
        outputs = [part for kind in ("svg", "md", "txt") for part in ("-o", f"a.{kind}")]
        explain = ("explain", TEXT, "--model", model, "--mixing", "gradient")
        self.run_program(*explain, "--words", "--normalize", "receptive-field", "--target", "0", *outputs)
        for kind in ("svg", "md", "txt"):
            said = " ".join((self.folder / f"a.{kind}").read_text().split())
            self.assertIn("radient-adjusted attention for class", said)
        table = " ".join(self.run_program(*explain, "--certificate", "cls,2").stdout.split())
        for words in ("Gradient-adjusted attention for class", "Checked:"):
            self.assertIn(words, table)

    def test_gguf_is_its_dequantised_weights(self):
        """As from the folder that `attnflow model` makes from the file, whose products add up in another order."""
        self.run_program("model", GGUF, "-o", "folder")
        made = []
        for name, model in (("file", GGUF), ("folder", "folder")):
            self.explain(model, "--target", "id:7", "-o", f"{name}.npz", text="a b c")
            with np.load(self.folder / f"{name}.npz") as arrays:
                made.append({method: arrays[method] for method in ("raw", "rollout", "flow")})
        for method, values in made[0].items():
            np.testing.assert_allclose(values, made[1][method], rtol=0, atol=1e-5 * np.abs(values).max())
        self.assertGreater(np.abs(made[0]["raw"]).max(), 0)

    def test_refused(self):
        explain = ("explain", TEXT, "--mixing", "gradient", "--model", DECODER)
        self.refuse(USAGE, ["--target: expected the id"], *explain, "--target", "id:x")
        self.refuse(USAGE, ["--only-output-token"], *explain, "--only-output-token")


# attnflow uses float32 arithmetic up to the products of attention and gradient, the golden files float64: their
# generator measures the effect of float32 alone in PyTorch, and refuses more than 2e-6 of a case's largest value. A
# different order of sums and the products of two or three layers leave it below 1e-5 of the largest.
TOLERANCE = 1e-5


class GoldenTest(CommandTest):
    def run_case(self, case, target, *more):
        """Arrays of `attnflow explain` or `image` for a golden case, and the target in its report."""
        model = ROOT / "tests" / "golden" / case["family"] / case["model"]
        if case["family"] == "vision":
            with np.load(GOLDEN / f"{case['name']}.npz") as arrays:
                (self.folder / "picture.png").write_bytes(png(arrays["picture"]))
            what = ["image", "picture.png"]
            model = self.with_processor(model)
        else:
            what = ["explain", case["text"]] + (["--pair", case["pair"]] if case["pair"] else [])
        self.run_program(*what, "--model", model, "--target", f"id:{target}", *more, "-o", "a.npz", "-o", "a.json")
        with np.load(self.folder / "a.npz") as arrays:
            return {key: arrays[key] for key in arrays.files}, json.loads((self.folder / "a.json").read_text())

    def with_processor(self, model):
        """A copy that accepts pictures of any size unchanged."""
        folder = self.folder / model.name
        if not folder.exists():
            shutil.copytree(model, folder)
            processor = {
                "image_processor_type": "ViTImageProcessor",
                "do_resize": False,
                "image_mean": [0.5] * 3,
                "image_std": [0.25] * 3,
            }
            (folder / "preprocessor_config.json").write_text(json.dumps(processor))
        return folder

    def close(self, made, golden, what):
        for layer, (ours, theirs) in enumerate(zip(made, golden, strict=True), start=1):
            scale = max(1.0, theirs.max())
            np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0, atol=TOLERANCE, err_msg=f"{what} {layer}")

    def test_raw_and_rollout_of_every_target(self):
        cases = json.loads((GOLDEN / "index.json").read_text())["cases"]
        self.assertGreaterEqual(len(cases), 13)
        for case in cases:
            with np.load(GOLDEN / f"{case['name']}.npz") as arrays:
                golden = {key: arrays[key].astype(np.float64) for key in arrays.files}
            self.assertEqual(len(case["targets"]), 3)
            for target in case["targets"]:
                index = target["index"]
                with self.subTest(case["name"], target=index):
                    made, report = self.run_case(case, index, "--mixing", "gradient")
                    self.assertEqual(report["target"]["index"], index)
                    self.assertEqual(len(report["input"]["tokens"]), case["n"])
                    self.assertAlmostEqual(report["target"]["logit"], target["logit"], places=4)
                    self.assertEqual(made["raw"].shape, (case["layers"], case["n"], case["n"]))
                    self.close(made["raw"], golden[f"target{index}_raw"], "raw of layer")
                    self.close(made["rollout"], golden[f"target{index}_rollout"], "rollout from layer")
                    self.check_flow(made, golden[f"target{index}_raw"], seed=index)
            index = case["targets"][0]["index"]
            with self.subTest(case["name"], renormalised=index):
                made, _ = self.run_case(case, index, "--mixing", "gradient-renormalized")
                self.close(made["rollout"], golden[f"target{index}_rollout_renormalized"], "rollout from layer")

    def check_flow(self, made, weights, seed):
        """Checks a few pairs of every layer, where the result is not trivial."""
        random = np.random.default_rng(seed)
        for layer in range(1, len(weights) + 1):
            found = made["flow"][layer - 1]
            network = Network(add_residual(weights[:layer], rule="added-normalized"))
            pairs = np.argwhere(found > 1e-3)
            for output, to in random.permutation(pairs)[:4]:
                low, high = network.enclosure(output, to)
                gap = made["flow_gap"][layer - 1, output, to]
                self.assertLessEqual(found[output, to], high + TOLERANCE)
                self.assertGreaterEqual(found[output, to] + gap, low - TOLERANCE)

    def test_the_graph_that_flow_is_computed_on(self):
        cases = {case["name"]: case for case in json.loads((GOLDEN / "index.json").read_text())["cases"]}
        for name in ("bert_classification_pair", "vit_classification_3x5", "mistral_window"):
            case = cases[name]
            index = case["targets"][1]["index"]
            with self.subTest(name), np.load(GOLDEN / f"{name}.npz") as golden:
                # With all layers, the report omits the graph, which equals raw.
                _, report = self.run_case(case, index, "--mixing", "gradient", "--layers", case["layers"])
                graph = report["arrays"]["graph"]
                made = np.frombuffer(base64.b64decode(graph["data"]), dtype=np.float64).reshape(graph["shape"])
                self.close(made, golden[f"target{index}_raw"], "graph of layer")


if __name__ == "__main__":
    unittest.main()
