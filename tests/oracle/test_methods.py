"""`attnflow explain`'s methods beside the graph against the packages that published them: AttnLRP against lxt, integrated
gradients against captum.

ATTNFLOW names the program (default: the release build's), ATTNFLOW_METHODS_PYTHON a Python with PyTorch, transformers,
lxt and captum (skipped without it; `./dev test python` makes one).
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
PYTHON = os.environ.get("ATTNFLOW_METHODS_PYTHON")
METHODS = "attnlrp,gradient-x-input,integrated-gradients"


@unittest.skipUnless(PYTHON, "ATTNFLOW_METHODS_PYTHON is not set")
class MethodsOracleTest(unittest.TestCase):
    def check(self, model: str, text: str, blank: int, left_out: tuple[str, ...] = ()):
        with tempfile.TemporaryDirectory() as folder:
            files = [str(Path(folder) / name) for name in ("a.json", "a.npz")]
            explain = [PROGRAM, "explain", text, "--model", str(GOLDEN / model), "--method", METHODS]
            for file in files:
                explain += ["-o", file]
            done = subprocess.run(explain, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            oracle = [PYTHON, str(HERE / "methods_oracle.py"), str(GOLDEN / model), *files, str(blank)]
            done = subprocess.run(oracle, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        named = [line.split(":")[0] for line in done.stdout.splitlines() if "left out" in line]
        self.assertEqual(tuple(named), left_out, done.stdout)

    def test_gpt2(self):
        self.check("decoders/gpt2_tied", "The key a b", blank=297)

    def test_llama(self):
        self.check("decoders/llama_grouped", "The key a b", blank=297)

    def test_qwen2(self):
        self.check("decoders/qwen2_tied", "The key a b", blank=297)

    def test_bert(self):
        self.check("models/bert_classification", "the key to the cabinets", blank=1)


if __name__ == "__main__":
    unittest.main()
