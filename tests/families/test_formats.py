"""Weights saved by PyTorch, which give the same numbers as .safetensors without executing anything; and LoRA
adapters."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import families
import numpy as np
import safetensors.torch
import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

LEGACY = {"_use_new_zipfile_serialization": False}


class Touch:
    """The content of a hostile pickle: it makes its reader run a command."""

    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self):
        return os.system, (f"touch '{self.file}'",)


class FormatsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attnflow.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def explain(self, folder: Path):
        options = ["--json", "--keep-attention", "--method", "raw"]
        command = [str(families.PROGRAM), "explain", families.TEXT, "--model", str(folder), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def report(self, folder: Path | None = None) -> dict:
        done = self.explain(folder or self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class PytorchFiles(FormatsTest):
    def save(self, name: str, dtype: torch.dtype) -> tuple[dict, dict]:
        """A model's folder without weights, its weights, and its report from .safetensors."""
        family = families.FAMILIES[name]
        model = family.build().to(dtype)
        families.save(model, family, self.folder)
        report = self.report()
        (self.folder / "model.safetensors").unlink()
        return model.state_dict(), report

    def test_the_same_numbers_as_from_safetensors(self):
        for name in ("bert", "gpt2"):
            for dtype in (torch.float32, torch.float16, torch.bfloat16):
                weights, expected = self.save(name, dtype)
                for options in ({}, LEGACY):
                    with self.subTest(name, dtype=dtype, **options):
                        torch.save(weights, self.folder / "pytorch_model.bin", **options)
                        self.assertEqual(self.report(), expected)
                (self.folder / "pytorch_model.bin").unlink()

    def test_shards_and_views(self):
        weights, expected = self.save("bert", torch.float32)
        turned = {name: w.t().contiguous().t() if w.dim() == 2 else w for name, w in weights.items()}
        shards = [dict(list(turned.items())[:9]), dict(list(turned.items())[9:])]
        index = {}
        for i, shard in enumerate(shards):
            file = f"pytorch_model-{i + 1:05}-of-00002.bin"
            torch.save(shard, self.folder / file)
            index |= dict.fromkeys(shard, file)
        (self.folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": index}))
        self.assertEqual(self.report(), expected)

    def test_nothing_is_run(self):
        weights, _ = self.save("bert", torch.float32)
        ran = self.folder / "ran"
        for options in ({}, LEGACY):
            for held in (weights | {"x": Touch(ran)}, Touch(ran)):
                torch.save(held, self.folder / "pytorch_model.bin", **options)
                done = self.explain(self.folder)
                self.assertEqual(done.returncode, 3, done.stderr)
                for word in ("system", "weights only", "no code in the file was run", "unless you trust"):
                    self.assertIn(word, done.stderr)
        self.assertFalse(ran.exists())


class LoraAdapters(FormatsTest):
    def attention(self, report: dict) -> np.ndarray:
        array = report["arrays"]["attention"]
        self.assertEqual(array["dtype"], "f32")
        return np.frombuffer(base64.b64decode(array["data"]), dtype="<f4").reshape(array["shape"])

    def test_an_adapter_is_added_to_its_base(self):
        """As W + alpha / r B A, computed here; docs/models.md has peft's own result."""
        maps = {"bert": ("query", "value"), "gpt2": ("attn.c_attn", "attn.c_proj")}
        rank, alpha = 3, 6
        for name, adapted in maps.items():
            family = families.FAMILIES[name]
            model = family.build()
            base, adapter, merged = (self.folder / f"{name}-{part}" for part in ("base", "adapter", "merged"))
            families.save(model, family, base)
            factors = {}
            for module, part in model.named_modules():
                if not module.endswith(adapted):
                    continue
                turned = name == "gpt2"
                inner, outer = part.weight.shape if turned else reversed(part.weight.shape)
                a, b = torch.randn(rank, inner) * 0.3, torch.randn(outer, rank) * 0.3
                factors |= {f"{module}.lora_A.weight": a, f"{module}.lora_B.weight": b}
                change = alpha / rank * b @ a
                part.weight.data += change.T if turned else change
            families.save(model, family, merged)
            adapter.mkdir()
            safetensors.torch.save_file(
                {f"base_model.model.{key}": value for key, value in factors.items()},
                adapter / "adapter_model.safetensors",
            )
            settings = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "fan_in_fan_out": name == "gpt2"}
            settings["base_model_name_or_path"] = str(base)
            (adapter / "adapter_config.json").write_text(json.dumps(settings))
            expected = self.attention(self.report(merged))
            self.assertGreater(np.abs(expected - self.attention(self.report(base))).max(), 0.01)
            for folder in (adapter, base):
                with self.subTest(name, folder=folder.name):
                    if folder == base:  # and so it is next to the weights
                        for file in adapter.iterdir():
                            shutil.copy(file, base)
                    report = self.report(folder)
                    self.assertLess(np.abs(self.attention(report) - expected).max(), 2e-5)
                    self.assertIn("adapter-applied", [note["code"] for note in report["notes"]])
                    self.assertEqual(report["model"]["name"], folder.name)


if __name__ == "__main__":
    unittest.main()
