"""Every family of the program's list, run by the program as transformers runs it; and no family without a row."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import families
import transformers

TOLERANCE = 2e-5  # in float32; the seeded models' largest difference is a tenth of it
PICTURES = {"vit", "vit_msn", "deit", "dinov2", "dinov2_with_registers"}  # tests/golden compares these

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class FamiliesTest(unittest.TestCase):
    def test_each_is_run_as_transformers_does(self):
        for name, family in families.FAMILIES.items():
            with self.subTest(name):
                outcome = families.outcome_of(family)
                self.assertLess(outcome.worst, TOLERANCE, f"{name}: {outcome}")

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
