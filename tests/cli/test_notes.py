"""The advice in notes can be followed."""

import re
import unittest

from support import ROOT, CommandTest

COMMANDS = ("explain", "generate", "image", "serve", *(f"evaluate {task}" for task in ("sentences", "evidence")))


class AdviceTest(CommandTest):
    def test_every_option_that_is_named_exists(self):
        words = (ROOT / "attnflow" / "attribution" / "note_texts.cc").read_text()
        named = set(re.findall(r"--[a-z][a-z-]+", words))
        self.assertGreater(len(named), 10)
        helped = "".join(self.run_program(*command.split(), "--help").stdout for command in COMMANDS)
        self.assertEqual(named - set(re.findall(r"--[a-z][a-z-]+", helped)), set())


if __name__ == "__main__":
    unittest.main()
