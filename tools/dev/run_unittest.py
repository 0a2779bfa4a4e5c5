"""Runs the unittest cases in every test_*.py of a folder and writes "PASSED FAILED SKIPPED" to a file.

    run_unittest.py FOLDER TALLY_FILE

Ends with status 1 when a case fails, when a file cannot be imported, or when there is no case at all.
"""

import sys
import unittest
from pathlib import Path


class CountingResult(unittest.TextTestResult):
    """unittest counts failures and skips but not successes, and counts a failed setUpClass as no test at all."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main(folder: str, tally_file: str) -> int:
    sys.path.insert(0, folder)
    suite = unittest.defaultTestLoader.discover(folder, pattern="test_*.py", top_level_dir=folder)
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=CountingResult)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for case, reason in result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    Path(tally_file).write_text(f"{result.passed} {failed} {len(result.skipped)}\n")
    return 0 if failed == 0 and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
