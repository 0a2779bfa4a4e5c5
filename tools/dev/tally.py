"""Counts the tests of a ctest run: prints "PASSED FAILED SKIPPED".

    tally.py CTEST_JUNIT_XML GTEST_FOLDER

A ctest test is a program. If the program left a GoogleTest report in GTEST_FOLDER, its cases are counted individually;
otherwise the program counts as one test. A program that failed without a failed case (a crash, a sanitizer report, a
timeout) counts as one additional failure.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree


def gtest_cases(report: Path) -> tuple[int, int, int]:
    passed = failed = skipped = 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def statuses(junit: Path) -> dict[str, str]:
    """How each program ended, by its name in ctest."""
    return {test.get("name"): test.get("status") for test in ElementTree.parse(junit).getroot().iter("testcase")}


def tally(junit: Path, folder: Path) -> tuple[int, int, int]:
    passed = failed = skipped = 0
    for name, status in statuses(junit).items():
        report = folder / f"{name}_test.xml"
        if report.exists():
            counts = gtest_cases(report)
            passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
            if status != "run" and counts[1] == 0:
                failed += 1
        elif status == "run":
            passed += 1
        elif status == "notrun" or status == "disabled":
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


if __name__ == "__main__":
    print(*tally(Path(sys.argv[1]), Path(sys.argv[2])))
