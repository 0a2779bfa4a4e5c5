"""The text commands with a picture model, and the output of `attnflow model` for one."""

import json
import unittest

from support import ROOT, UNSUPPORTED, USAGE, CommandTest

VISION = ROOT / "tests" / "golden" / "vision"


class VisionModelTest(CommandTest):
    def test_description(self):
        models = json.loads((VISION / "index.json").read_text())["models"]
        self.assertGreaterEqual(len(models), 8)
        for model in models:
            with self.subTest(model["name"]):
                lines = self.run_program("model", VISION / model["name"]).stdout.splitlines()
                found = {line[:14].strip(): line[14:] for line in lines}
                height, width = model["image"]
                patch_height, patch_width = model["patch"]
                trained = model["cases"][0]
                self.assertEqual(found["architecture"], model["architecture"])
                self.assertTrue(found["images"].startswith(f"{height} x {width} pixels"), found["images"])
                self.assertIn(f"{model['channels']} channel", found["images"])
                self.assertEqual(
                    found["patches"],
                    f"{patch_height} x {patch_width} pixels: {trained['rows']} rows of {trained['columns']}",
                )
                self.assertTrue(found["tokens"].startswith(f"{trained['n']}: 1 class"), found["tokens"])
                registers = model["leading"].count("register")
                self.assertEqual(f"{registers} register" in found["tokens"], registers > 0)
                self.assertEqual("1 distillation" in found["tokens"], "distillation" in model["leading"])
                self.assertEqual(found.get("labels", ""), ", ".join(model["labels"]))
                self.assertNotIn("vocabulary", found)

    def test_commands_for_text_refuse_it(self):
        vit = VISION / "vit_classification"
        words = ["expected a text model", "vit_classification", "a vision model (vit)", "attnflow image"]
        self.refuse(USAGE, words, "explain", "a word", "--model", vit)
        (self.folder / "samples.tsv").write_text("text\tlabel\na word\tshirt\n")
        self.refuse(USAGE, words, "evaluate", "sentiment", "--data", "samples.tsv", "--model", vit)
        self.refuse(UNSUPPORTED, ["decoder", "vit"], "generate", "a word", "--model", vit)


if __name__ == "__main__":
    unittest.main()
