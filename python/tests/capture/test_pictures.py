"""A picture explained in Python is the picture that `attnflow image` explains, on the same weights."""

from __future__ import annotations

import json
import shutil
import unittest
from typing import Any

import numpy as np
import torch
import transformers
from loading import ROOT, PackageTest

import attnflow

VISION = ROOT / "tests" / "golden" / "vision"
PICTURE = ROOT / "tests" / "golden" / "pictures" / "jpeg_444.jpg"
PROCESSOR = {
    "image_processor_type": "ViTImageProcessor",
    "size": {"height": 20, "width": 20},
    "resample": 2,
    "image_mean": [0.5] * 3,
    "image_std": [0.5] * 3,
}


class Pictures(PackageTest):
    def saved(self, name: str) -> tuple[Any, Any, Any]:
        folder = self.folder / name
        shutil.copytree(VISION / name, folder)
        (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR), encoding="utf-8")
        model = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
        return folder, model, transformers.AutoImageProcessor.from_pretrained(folder)

    def same(self, name: str, *mixings: str, **options: Any) -> Any:
        folder, model, processor = self.saved(name)
        for mixing in mixings:
            with self.subTest(name, mixing=mixing):
                given = [part for key, value in options.items() for part in (f"--{key}", value)]
                self.run_program(
                    *("image", PICTURE, "--model", folder, "--mixing", mixing, *given),
                    *("-o", "a.json", "-o", "a.npz", "--force"),
                )
                expected = json.loads((self.folder / "a.json").read_text(encoding="utf-8"))
                report = attnflow.explain(model, processor, PICTURE, mixing=mixing, **options)
                found = json.loads(report.to_json())
                for document in (found, expected):
                    document["input"]["image"].pop("picture")  # PIL's PNG files are not the program's
                self.assertEqual(found["input"], expected["input"])
                self.assertEqual(found["settings"], expected["settings"])
                self.assertEqual([n["code"] for n in found["notes"]], [n["code"] for n in expected["notes"]])
                with np.load(self.folder / "a.npz") as arrays:
                    for method in report.methods:
                        values = arrays[method]
                        scale = np.abs(values).max()
                        np.testing.assert_allclose(getattr(report, method) / scale, values / scale, atol=5e-5)
                program = attnflow.Report.from_json((self.folder / "a.json").read_text(encoding="utf-8"))
                self.assertEqual(report.scores.keys(), program.scores.keys())
                for method, values in program.scores.items():
                    np.testing.assert_allclose(report.scores[method], values, atol=1e-4, err_msg=method)
        return report

    def test_same_as_program(self) -> None:
        every = ("attention", "alti", "relevance", "gradient", "auto")
        for name in ("vit_classification", "deit_teacher", "dinov2_classification", "dinov2_registers"):
            self.same(name, *every)
        self.same("vit_msn_classification", "auto", method="rollout,attnlrp,logit,integrated-gradients,blank-out")

    def test_forms_of_pictures(self) -> None:
        from PIL import Image

        _, model, processor = self.saved("vit_classification")
        picture = Image.open(PICTURE)
        expected = attnflow.explain(model, processor, str(PICTURE), check=False)
        for given in (PICTURE, picture, np.asarray(picture.convert("RGB"))):
            found = attnflow.explain(model, processor, given, check=False)
            self.assert_same_bits(found.rollout, expected.rollout)
        several: Any = attnflow.explain(model, processor, [PICTURE, picture], check=False)
        self.assertEqual(len(several), 2)
        self.assertIn("<svg", expected.to_svg())
        self.assertIn("<details", expected._repr_html_())

    def test_refuses(self) -> None:
        _, model, processor = self.saved("vit_classification")
        for given, words in (
            (3, "expected a picture: PIL's, an array"),
            (torch.zeros(3), "expected a picture"),
            ("no.png", "expected the path of a picture, found .no.png."),
        ):
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.explain(model, processor, given)
        with self.assertRaisesRegex(attnflow.Error, "expected the image processor of the model"):
            attnflow.explain(model, None, PICTURE)
        with self.assertRaisesRegex(attnflow.Error, "words: expected a text, found an image"):
            attnflow.explain(model, processor, PICTURE, words=True)


if __name__ == "__main__":
    unittest.main()
