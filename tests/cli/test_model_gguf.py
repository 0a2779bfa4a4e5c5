"""`attnflow model FILE.gguf`: what a GGUF file says about its model, without running it."""

import os
import unittest

from gguf_folder import read_gguf, write_gguf
from support import BAD_FILE, ROOT, USAGE, CommandTest

GGUF = ROOT / "tests" / "golden" / "gguf"
SMOLLM2 = os.environ.get("ATTNFLOW_SMOLLM2", "")


class ModelGgufTest(CommandTest):
    def describe(self, path):
        lines = self.run_program("model", path).stdout.splitlines()
        return {line[:14].strip(): line[14:] for line in lines}

    def test_a_decoder(self):
        """What is read of each entry is tested in attnflow/model/gguf_info_test.cc."""
        said = self.describe(GGUF / "llama.gguf")
        self.assertEqual((said["name"], said["heads"]), ("small random llama", "4 (key-value heads: 2)"))
        self.assertIn("has a template", said["chat"])

    def test_a_file_cannot_command_the_terminal(self):
        metadata, tensors = read_gguf(GGUF / "llama.gguf")
        path = self.folder / "hostile.gguf"
        write_gguf(path, metadata | {"general.name": "\x1b[2Jname", "general.license": "mit\n\x07"}, tensors)
        done = self.run_program("model", path)
        self.assertNotIn("\x1b", done.stdout)
        self.assertNotIn("\x07", done.stdout)
        self.assertIn("[2Jname", done.stdout)

    def test_bad_input(self):
        self.refuse(USAGE, ["--card", "llama.gguf"], "model", GGUF / "llama.gguf", "--card")
        self.refuse(BAD_FILE, ["none.gguf"], "model", self.folder / "none.gguf")
        cut = self.folder / "cut.gguf"
        cut.write_bytes((GGUF / "llama.gguf").read_bytes()[:900])
        self.refuse(BAD_FILE, ["cut.gguf"], "model", cut)

    @unittest.skipUnless(SMOLLM2, "SmolLM2 is not here")
    def test_smollm2(self):
        said = self.describe(SMOLLM2)
        self.assertEqual((said["layers"], said["heads"]), ("30", "9 (key-value heads: 3)"))
        self.assertTrue(said["stored as"].startswith("Q4_1 ("), said)
        self.assertEqual(said["parameters"], "134515008")


if __name__ == "__main__":
    unittest.main()
