"""A warning names the line that called the package."""

from __future__ import annotations

import unittest
from typing import Any

from attnflow.capture import _level_of_caller


class Warnings(unittest.TestCase):
    def test_the_level_is_that_of_the_first_frame_outside_the_package(self) -> None:
        scope: dict[str, Any] = {
            "__name__": "attnflow.of_a_test",
            "level": _level_of_caller,
        }
        exec("def inner(): return level()\ndef outer(): return inner()", scope)
        self.assertEqual([_level_of_caller(), scope["inner"](), scope["outer"]()], [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
