"""Tells which test programs of a build need not run again, and remembers those that passed.

    programs.py unchanged MEMORY INPUTS    reads `ctest --show-only=json-v1`; prints "TESTS NAME...": how many tests passed
                                           in the programs that are the same as when they passed, and their ctest names
    programs.py remember MEMORY INPUTS CTEST_JUNIT_XML GTEST_FOLDER    reads the same, after `unchanged`; prints nothing

A program that passed will pass again if its own bytes, its command line, the shared libraries of ours that it may load
and all other INPUTS (a hash of the files and the environment that tests read) are the same. It may load a library that
it names. MEMORY is a folder of one file per program: its key and how many tests passed. Only programs with a GoogleTest
report are remembered: others (Python files) depend on more than their command line.
"""

import hashlib
import json
import sys
from pathlib import Path

from tally import gtest_cases, statuses

KEYS = "keys.json"  # of all programs, before they run


def libraries_of(program: Path) -> list[Path]:
    """The project's shared libraries of the build to which a program belongs."""
    build = next((folder for folder in program.parents if (folder / "CMakeCache.txt").exists()), program.parent)
    return sorted(build.glob("**/libattnflow_*.so"))


def key_of(test: dict, inputs: str) -> str | None:
    command = test.get("command", [])
    program = Path(command[0]) if command else None
    if program is None or not program.is_file():
        return None
    content = program.read_bytes()
    digest = hashlib.sha256(content)
    for library in libraries_of(program):
        if library.name.encode() in content:
            digest.update(library.name.encode() + hashlib.sha256(library.read_bytes()).digest())
    digest.update(json.dumps([command, test.get("properties", []), inputs]).encode())
    return digest.hexdigest()


def unchanged(tests: list[dict], memory: Path, inputs: str) -> tuple[int, list[str]]:
    keys = {test["name"]: key_of(test, inputs) for test in tests}
    memory.mkdir(parents=True, exist_ok=True)
    (memory / KEYS).write_text(json.dumps(keys))
    count = 0
    names = []
    for test in tests:
        kept = memory / test["name"]
        if not kept.is_file():
            continue
        key, passed = kept.read_text().split()
        if key == keys[test["name"]]:
            count += int(passed)
            names.append(test["name"])
    return count, names


def remember(tests: list[dict], memory: Path, inputs: str, junit: Path, reports: Path) -> None:
    before = json.loads((memory / KEYS).read_text())
    ran = statuses(junit)
    for test in tests:
        if test["name"] not in ran:
            continue
        (memory / test["name"]).unlink(missing_ok=True)
        report = reports / f"{test['name']}_test.xml"
        if ran[test["name"]] != "run" or not report.exists():
            continue
        passed, failed, skipped = gtest_cases(report)
        key = key_of(test, inputs)
        # A skipped test may be possible next time, and a program that was built meanwhile has not run.
        if passed > 0 and failed + skipped == 0 and key is not None and key == before[test["name"]]:
            (memory / test["name"]).write_text(f"{key} {passed}\n")


def main(arguments: list[str]) -> None:
    tests = json.load(sys.stdin)["tests"]
    memory, inputs = Path(arguments[1]), arguments[2]
    if arguments[0] == "unchanged":
        count, names = unchanged(tests, memory, inputs)
        print(count, *names)
    else:
        remember(tests, memory, inputs, Path(arguments[3]), Path(arguments[4]))


if __name__ == "__main__":
    main(sys.argv[1:])
