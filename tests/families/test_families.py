"""Every family on the program's list gives the same results as in transformers, and no family lacks a row."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import families
import torch
import transformers

# In float32. On most processors the seeded models' largest difference is a tenth of this; on one with other matrix
# product kernels, transformers' own gradients are up to 4e-5 from those in float64, and the program's 2e-5.
TOLERANCE = 2e-5
GRADIENTS = 6e-5
PICTURES = {"vit", "vit_msn", "deit", "dinov2", "dinov2_with_registers"}  # compared in tests/golden

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class FamiliesTest(unittest.TestCase):
    def test_each_is_run_as_transformers_does(self):
        for name, family in families.FAMILIES.items():
            with self.subTest(name):
                outcome = families.outcome_of(family)
                others = max(outcome.attention, outcome.prediction, outcome.contributions)
                self.assertLess(others, TOLERANCE, f"{name}: {outcome}")
                self.assertLess(outcome.gradient, GRADIENTS, f"{name}: {outcome}")

    def test_the_token_that_is_surest_to_have_a_class_is_explained(self):
        family = families.ENCODERS["modernbert tags"]
        model = family.build()
        with torch.no_grad():  # so that classes differ between tokens
            some = torch.tensor([[2, 5, 6, 7, 8, 9, 10, 11, 3]])
            model.classifier.bias -= model(some).logits[0].mean(0)
        with tempfile.TemporaryDirectory(prefix="attnflow.") as name:
            folder = Path(name)
            families.save(model, family, folder)
            report, _ = families.reported(folder, "explain", families.TEXT)
            read = families.given_to(model, family, folder, report)
            chosen, _ = families.reported(folder, "explain", families.TEXT, "--output-token", "4", "--target", "O")
        likely = torch.softmax(model(read).logits[0].detach(), -1)
        self.assertEqual(report["output_token"], int(likely[1:-1, 0].argmin()) + 1)
        self.assertIn("output-token-surest", [note["code"] for note in report["notes"]])
        told = {one["position"]: one["choices"][0]["label"] for one in report["predictions"]}
        named = {t: families.CLASSES[int(row.argmax())] for t, row in enumerate(likely)}
        expected = {t: label for t, label in named.items() if label != "O" and 0 < t < len(named) - 1}
        self.assertEqual(told, expected | {report["output_token"]: named[report["output_token"]]})
        self.assertGreater(len(set(named.values())), 1)
        self.assertEqual(chosen["output_token"], 4)
        self.assertEqual({one["kind"] for one in chosen["predictions"]}, {"token-class"})
        self.assertIn(4, [one["position"] for one in chosen["predictions"]])
        self.assertNotIn("output-token-surest", [note["code"] for note in chosen["notes"]])

    def test_every_family_of_the_program_has_a_row(self):
        with tempfile.TemporaryDirectory(prefix="attnflow.") as folder:
            (Path(folder) / "config.json").write_text(json.dumps({"model_type": "none_of_these"}))
            command = [str(families.PROGRAM), "explain", "a", "--model", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        listed = {word.strip(" .,;:()") for word in done.stderr.replace("\n", " ").split()}
        missing = ({name.split()[0] for name in families.FAMILIES} | PICTURES) - listed
        self.assertEqual(missing, set(), f"not in the program's list: {done.stderr}")
        named = {name for name in transformers.CONFIG_MAPPING if name in listed}
        self.assertEqual(named - set(families.FAMILIES) - PICTURES, set(), "families without a row in families.py")


if __name__ == "__main__":
    unittest.main()
