"""Type checkers know the package: mypy --strict, of the package as it is installed and of these tests."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

from support import ROOT, PackageTest

import attnflow
from attnflow import _core


class Types(PackageTest):
    def check(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / "build" / "mypy"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        return done.stdout + done.stderr

    def test_package_and_tests(self) -> None:
        package = Path(attnflow.__file__).parent
        self.assertTrue((package / "py.typed").exists())
        for what in (["-p", "attnflow"], [str(ROOT / "python" / "tests")]):
            found = self.check("--ignore-missing-imports", *what)
            self.assertIn("Success", found, found)

    def test_options_are_known(self) -> None:
        script = self.folder / "user.py"
        script.write_text(
            "import numpy as np\n"
            "import attnflow\n"
            "weights = np.zeros((1, 1, 2, 2))\n"
            "attnflow.rollout(weights, residual=0.3, layers=[1], heads='max')\n"
            "attnflow.rollout(weights, residuum=0.3)\n"
            "attnflow.rollout(weights, residual='much')\n"
        )
        found = self.check(str(script))
        self.assertIn('user.py:5: error: Unexpected keyword argument "residuum"', found)
        self.assertIn("user.py:6: error:", found)
        self.assertNotIn("user.py:4", found)

    def test_options_are_documented(self) -> None:
        page = (ROOT / "docs" / "python.md").read_text().split("## Options\n")[1].split("\n## ")[0]
        rows = {row.split("`")[1]: row.split(" | ")[1] for row in page.splitlines() if row.startswith("| `")}
        named = {function: set(re.findall("`([a-z_]+)`", options)) for function, options in rows.items()}
        named["explain()"] |= named["attribute()"]
        for asks in ("attribute", "explain", "generate"):  # each the name of its function as well
            with self.subTest(asks):
                self.assertTrue(callable(getattr(attnflow, asks)))
                function = f"{asks}()"
                self.assertEqual(named[function], {name for name, *_ in _core.described_options(asks)})


if __name__ == "__main__":
    unittest.main()
