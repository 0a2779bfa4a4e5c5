#!/usr/bin/env python3
"""Tests of what `./dev test` does not run again: only what passed, and only with the same bits."""

import tempfile
import unittest
from pathlib import Path

import programs


class ProgramsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)
        (self.build / "CMakeCache.txt").touch()
        self.program = self.build / "flow_test"
        self.program.write_bytes(b"reads libattnflow_torch.so")
        (self.build / "bin").mkdir()
        self.library = self.build / "bin" / "libattnflow_torch.so"
        self.other = self.build / "bin" / "libattnflow_llama.so"
        self.library.write_bytes(b"torch")
        self.other.write_bytes(b"llama")
        self.tests = [{"name": "flow", "command": [str(self.program), "--all"]}]
        self.memory = self.build / "memory"

    def run_once(self, status="run", cases=("", ""), inputs="inputs", meanwhile=lambda: None):
        junit = self.build / "ctest.xml"
        junit.write_text(f'<testsuite><testcase name="flow" status="{status}"/></testsuite>')
        inner = "".join(f'<testcase name="c" status="run">{case}</testcase>' for case in cases)
        (self.build / "flow_test.xml").write_text(f"<testsuites><testsuite>{inner}</testsuite></testsuites>")
        programs.unchanged(self.tests, self.memory, inputs)
        meanwhile()
        programs.remember(self.tests, self.memory, inputs, junit, self.build)

    def unchanged(self, inputs="inputs"):
        return programs.unchanged(self.tests, self.memory, inputs)

    def test_what_passed_with_the_same_bits_is_unchanged(self):
        self.assertEqual(self.unchanged(), (0, []))
        self.run_once()
        self.assertEqual(self.unchanged(), (2, ["flow"]))
        self.other.write_bytes(b"a library that the program does not name")
        self.assertEqual(self.unchanged(), (2, ["flow"]))

    def test_every_input_counts(self):
        changes = {
            "the program": lambda: self.program.write_bytes(b"changed libattnflow_torch.so"),
            "a library": lambda: self.library.write_bytes(b"changed"),
            "its arguments": lambda: self.tests[0]["command"].append("--more"),
            "its properties": lambda: self.tests[0].update(properties=[{"name": "ENVIRONMENT", "value": ["A=1"]}]),
        }
        for name, change in changes.items():
            with self.subTest(name):
                self.run_once()
                self.assertEqual(self.unchanged(), (2, ["flow"]))
                change()
                self.assertEqual(self.unchanged(), (0, []))
        self.run_once()
        self.assertEqual(self.unchanged(inputs="others"), (0, []))

    def test_what_did_not_pass_runs_again(self):
        for status, cases in (
            ("fail", ("",)),
            ("run", ("", "<failure/>")),
            ("run", ("", "<skipped/>")),
            ("notrun", ("",)),
            ("run", ()),
        ):
            with self.subTest(status=status, cases=cases):
                self.run_once()
                self.run_once(status, cases)
                self.assertEqual(self.unchanged(), (0, []))

    def test_what_was_built_while_it_ran_runs_again(self):
        self.run_once(meanwhile=lambda: self.program.write_bytes(b"new"))
        self.assertEqual(self.unchanged(), (0, []))

    def test_a_program_that_is_gone_runs_again(self):
        self.run_once()
        self.program.unlink()
        self.assertEqual(self.unchanged(), (0, []))


if __name__ == "__main__":
    unittest.main()
