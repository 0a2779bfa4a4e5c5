"""GGUF files of every family that both engines run: libllama's attention and prediction, and the gradients that the
torch backend takes from the file, are those of the folder of the same weights (gguf_families.py)."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import families
import numpy as np
from gguf_families import GIVEN, architecture_of, outcome_of, write_gguf

# The same weights; sums in another order, and a norm's w + 1 is rounded to float32.
GRADIENTS = 2e-5
# Both engines compute in float32, in different orders.
TOLERANCE = 2e-6
# libllama's GELU is a table of half-precision numbers, and has tanh where GPT-NeoX and Falcon have the error function.
GELU_TOLERANCE = 5e-3
GELU = ("gpt2", "gemma", "phi ", "starcoder2", "gpt_neox", "falcon", "bloom")


class GgufFamiliesTest(unittest.TestCase):
    def check(self, name, more=None):
        found = outcome_of(name, more)
        tolerance = GELU_TOLERANCE if f"{name} ".startswith(GELU) else TOLERANCE
        self.assertLess(found.attention, tolerance)
        self.assertLess(found.prediction, tolerance)
        self.assertLess(found.gradient, GRADIENTS)
        self.assertLess(found.contributions, 2 * tolerance)

    def test_file_and_folder_agree(self):
        for name in GIVEN:
            with self.subTest(name):
                self.check(name)

    def test_a_window_that_libllama_ignores(self):
        self.check("phi3", {"phi3.attention.sliding_window": 6})

    def test_every_family_that_the_program_names_has_a_row(self):
        with tempfile.TemporaryDirectory(prefix="attnflow.") as made:
            file = Path(made) / "model.gguf"
            write_gguf(file, {"general.architecture": "none_of_these"}, {"x": np.zeros(1, np.float32)})
            command = [families.PROGRAM, "model", file, "-o", Path(made) / "folder"]
            refused = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        named = refused.split("(")[1].split(")")[0].split(", ")
        self.assertEqual(sorted(named), sorted({architecture_of(name) for name in GIVEN}))


if __name__ == "__main__":
    unittest.main()
