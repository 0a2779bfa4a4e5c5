"""The score methods of `attnflow explain` compared with the packages that published them: AttnLRP with lxt, integrated
gradients with captum.

ATTNFLOW is the program (default: the release build's), ATTNFLOW_TORCH_PYTHON a Python with PyTorch, transformers and
captum (`./dev test oracle` makes one), ATTNFLOW_LXT_PYTHON one with lxt, which needs a 2025 version of transformers: 5
GB, so only `./dev test --all oracle` makes it.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GOLDEN = ROOT / "tests" / "golden"
PROGRAM = os.environ.get("ATTNFLOW", str(ROOT / "build" / "release" / "bin" / "attnflow"))
PYTHONS = {"captum": os.environ.get("ATTNFLOW_TORCH_PYTHON"), "lxt": os.environ.get("ATTNFLOW_LXT_PYTHON")}
METHODS = "attnlrp,gradient-x-input,integrated-gradients"
CASES = (  # model, text, its uninformative token
    ("decoders/gpt2_tied", "The key a b", 297),
    ("decoders/llama_grouped", "The key a b", 297),
    ("decoders/qwen2_tied", "The key a b", 297),
    ("models/bert_classification", "the key to the cabinets", 1),
)


class MethodsOracleTest(unittest.TestCase):
    def check(self, package: str):
        python = PYTHONS[package]
        if not python:
            self.skipTest(f"no Python with {package} is named")
        for model, text, blank in CASES:
            with self.subTest(model), tempfile.TemporaryDirectory() as folder:
                files = [str(Path(folder) / name) for name in ("a.json", "a.npz")]
                explain = [PROGRAM, "explain", text, "--model", str(GOLDEN / model), "--method", METHODS]
                self.run_command(*explain, "-o", files[0], "-o", files[1])
                self.run_command(
                    python, str(HERE / "methods_oracle.py"), package, str(GOLDEN / model), *files, str(blank)
                )

    def run_command(self, *command: str):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_gradients_against_captum(self):
        self.check("captum")

    def test_attnlrp_against_lxt(self):
        self.check("lxt")


if __name__ == "__main__":
    unittest.main()
