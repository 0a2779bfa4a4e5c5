#!/usr/bin/env python3
"""Tests of the counting for `./dev test`: nothing that failed or did not run may count as passed."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import tally


class TallyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def tally(self, ctest: dict[str, str], gtest: dict[str, list[str]]) -> tuple[int, int, int]:
        tests = "".join(f'<testcase name="{name}" status="{status}"/>' for name, status in ctest.items())
        junit = self.folder / "ctest.xml"
        junit.write_text(f"<testsuite>{tests}</testsuite>")
        for name, cases in gtest.items():
            inner = "".join(f'<testcase name="c" status="run">{case}</testcase>' for case in cases)
            (self.folder / f"{name}_test.xml").write_text(f"<testsuites><testsuite>{inner}</testsuite></testsuites>")
        return tally.tally(junit, self.folder)

    def test_counts_cases_where_there_is_a_report_and_programs_elsewhere(self):
        counts = self.tally({"graph": "run", "layering": "run"}, {"graph": ["", "", "<skipped/>"]})
        self.assertEqual(counts, (3, 0, 1))

    def test_failed_cases_and_programs(self):
        counts = self.tally({"graph": "fail", "layering": "fail"}, {"graph": ["", "<failure/>"]})
        self.assertEqual(counts, (1, 2, 0))

    def test_a_crash_after_passing_cases_is_a_failure(self):
        self.assertEqual(self.tally({"graph": "fail"}, {"graph": ["", ""]}), (2, 1, 0))
        self.assertEqual(self.tally({"flow": "fail"}, {}), (0, 1, 0))

    def test_what_did_not_run_has_not_passed(self):
        self.assertEqual(self.tally({"a": "notrun", "b": "disabled", "c": "anything"}, {}), (0, 1, 2))

    def run_file(self, text: str) -> tuple[int, str]:
        (self.folder / "test_sample.py").write_text(text)
        out = self.folder / "tally"
        runner = Path(__file__).with_name("run_unittest.py")
        done = subprocess.run([sys.executable, runner, self.folder, out], capture_output=True, check=False)
        return done.returncode, out.read_text().strip()

    def test_unittest_counts(self):
        text = """import unittest
class T(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): self.fail()
    def test_c(self): self.skipTest("why")
    def test_d(self): raise ValueError
"""
        self.assertEqual(self.run_file(text), (1, "1 2 1"))

    def test_no_case_fails(self):
        self.assertEqual(self.run_file("x = 1\n"), (1, "0 0 0"))


if __name__ == "__main__":
    unittest.main()
