"""The embedding that `attnflow explain` checks its maps against, compared with transformers.

ATTNFLOW is the program (default: the release build's), ATTNFLOW_TORCH_PYTHON a Python with PyTorch and transformers
(`./dev test oracle` makes one).
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = os.environ.get("ATTNFLOW", str(ROOT / "build" / "release" / "bin" / "attnflow"))
PYTHON = os.environ.get("ATTNFLOW_TORCH_PYTHON")
MODULES = """[{"path": "", "type": "sentence_transformers.models.Transformer"},
              {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]"""
SMALL = (ROOT / "tests" / "golden" / "models" / "bert_base", "the author and her book")
MINILM = (ROOT / ".cache" / "models" / "minilm", "A man is playing a guitar on the street.")


class EmbeddingOracleTest(unittest.TestCase):
    def setUp(self):
        if not PYTHON:
            self.skipTest("no Python with PyTorch is named")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, model: Path, text: str, *pooling: str):
        report = self.folder / "report.json"
        self.run_command(PROGRAM, "explain", text, "--model", str(model), "--check", "always", "-o", str(report))
        self.run_command(PYTHON, str(HERE / "embedding_oracle.py"), str(model), str(report), *pooling)

    def run_command(self, *command: str):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_mean(self):
        self.check(*SMALL)

    def test_the_first_token(self):
        model = self.folder / "model"
        shutil.copytree(SMALL[0], model)
        (model / "1_Pooling").mkdir()
        (model / "modules.json").write_text(MODULES, encoding="utf-8")
        (model / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
        self.check(model, SMALL[1], "cls")

    def test_minilm(self):
        self.check(*MINILM)


if __name__ == "__main__":
    unittest.main()
