"""Runs the unittest cases in every test_*.py of a folder and writes "PASSED FAILED SKIPPED" to a file.

    run_unittest.py [--without FILE --stage STAGE] FOLDER TALLY_FILE

--without leaves out the tests that FILE lists for the stage. Each of its lines is "STAGE NAME REASON", where NAME is a
case, a class or a module (test_wheel.Wheel.test_index, test_wheel.Wheel, test_wheel); a name that no test has is an
error, so that the list stays true.

Names the slowest cases at the end. Exits with status 1 if a case fails, a file cannot be imported, or there are no
cases.
"""

import argparse
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


def cases_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases_of(item)
        else:
            yield item


def names_to_leave_out(file: str, stage: str) -> list[str]:
    lines = (line.split(maxsplit=2) for line in Path(file).read_text().splitlines() if not line.startswith("#"))
    return [fields[1] for fields in lines if fields and fields[0] == stage]


def without(suite, names: list[str]):
    """The suite without the named cases. Raises SystemExit for a name that no case has."""

    def is_named(case, name):
        return (case.id() + ".").startswith(name + ".")

    cases = list(cases_of(suite))
    for name in names:
        if not any(is_named(case, name) for case in cases):
            raise SystemExit(f"run_unittest: no test is called {name}, which the list of long tests names")
    return unittest.TestSuite(case for case in cases if not any(is_named(case, name) for name in names))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--without")
    parser.add_argument("--stage")
    parser.add_argument("folder")
    parser.add_argument("tally_file")
    arguments = parser.parse_args()
    folder = arguments.folder
    sys.path.insert(0, folder)
    suite = unittest.defaultTestLoader.discover(folder, pattern="test_*.py", top_level_dir=folder)
    if arguments.without:
        suite = without(suite, names_to_leave_out(arguments.without, arguments.stage))
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=CountingResult)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for case, reason in result.skipped:
        print(f"skipped: {case.id()}: {reason}")
    print("seconds of the slowest:")
    for seconds, case in sorted(result.seconds, reverse=True)[:SLOWEST]:
        print(f"{seconds:7.1f} {case}")
    Path(arguments.tally_file).write_text(f"{result.passed} {failed} {len(result.skipped)}\n")
    return 0 if failed == 0 and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
