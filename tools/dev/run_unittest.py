"""Runs the unittest cases in every test_*.py of a folder and writes "PASSED FAILED SKIPPED" to a file.

    run_unittest.py FOLDER TALLY_FILE

Names the slowest cases at the end. Exits with status 1 if a case fails, a file cannot be imported, or there are no
cases.
"""

import sys
import time
import unittest
from pathlib import Path

SLOWEST = 15  # number of cases to name


class CountingResult(unittest.TextTestResult):
    """unittest counts failures and skips but not successes, and counts a failed setUpClass as no test at all."""

    passed = 0

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.seconds = []

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds.append((time.monotonic() - self.began, test.id()))

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
    print("seconds of the slowest:")
    for seconds, case in sorted(result.seconds, reverse=True)[:SLOWEST]:
        print(f"{seconds:7.1f} {case}")
    Path(tally_file).write_text(f"{result.passed} {failed} {len(result.skipped)}\n")
    return 0 if failed == 0 and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
