"""The program compared with the oracles on a real model: `attnflow explain` writes MiniLM's attention with its own raw,
rollout and flow, and NumPy, SciPy and NetworkX recompute all of it from the attention.

ATTNFLOW is the program (default: the release build's), ATTNFLOW_MINILM_DIR the model (skipped without it).
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = os.environ.get("ATTNFLOW", str(ROOT / "build" / "release" / "bin" / "attnflow"))
MINILM = os.environ.get("ATTNFLOW_MINILM_DIR", "")

SHORT = "The key to the cabinets is on the table."
LONG = (
    "When the committee finally published its report, the engineers who had spent years maintaining the old bridge "
    "noticed that nobody had asked them about the cables, the bearings or the foundations, although every delay that "
    "the newspapers complained about had started with one of the three, and each was written down in their own logs."
)


@unittest.skipUnless(MINILM, "ATTNFLOW_MINILM_DIR is not set")
class ExplainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dump = Path(folder.name) / "dump.npz"

    def run_command(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def check(self, text: str, *settings: str, pairs: int = 200):
        """Settings that the oracles need are spelled the same there."""
        explain = ["explain", text, "--model", MINILM, "--method", "raw,rollout,flow", "--output-token", "all"]
        self.run_command(PROGRAM, *explain, "--keep-attention", "--force", *settings, "-o", str(self.dump))
        known = [setting for setting in settings if setting not in ("--layers", "2-4")]
        oracle = [sys.executable, str(HERE / "rollout_oracle.py"), str(self.dump), *known]
        rollout = self.run_command(*oracle)
        oracle[1] = str(HERE / "flow_oracle.py")
        flow = self.run_command(*oracle, f"--pairs={pairs}")
        self.assertTrue(rollout.splitlines()[-1].startswith("ok: "), rollout)
        self.assertTrue(flow.splitlines()[-1].startswith("ok: "), flow)

    def test_every_pair_of_a_short_sentence(self):
        self.check(SHORT)

    def test_sampled_pairs_at_64_tokens(self):
        self.check(LONG, pairs=60)

    def test_settings(self):
        for settings in (
            ("--residual", "0"),
            ("--residual", "0.8"),
            ("--heads", "max"),
            ("--heads", "min"),
            ("--heads", "5"),
            ("--layers", "2-4", "--start-layer", "1"),
        ):
            with self.subTest(settings):
                self.check("A short one.", *settings)


if __name__ == "__main__":
    unittest.main()
