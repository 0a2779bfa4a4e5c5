#!/usr/bin/env python3
"""Breaks the product on purpose, one fault at a time, and says which stage of ./dev test finds each.

    tools/faults/faults.py [--seed N] [--count N] [--only NUMBER,...] [--stages NAME,...] [--list] [--results FILE]

Faults are single edits of a line, chosen at random by the seed among all places where they are possible: a sign
(+ becomes -), an index (+ 1 goes), a bound (< becomes <=), a condition (== becomes !=, && becomes ||), a message (a word
of it goes), an option (a letter of its name changes) and a style (a declaration goes). An edit that does not compile is
replaced by the next, since the compiler finds it; so is one after which the program does the same for every input
(equivalent.txt lists those, each with its reason, and what an assert says is compiled out), since no test can find it.
For each fault the build is brought up to date, and the stages that can see it run in the order of their cost until one
fails (--stages: only these). The file is put back in any case. Instead of a whole stage, a fault gets that part of it
that can see it: the page's tests that import the file, and Python's tests on a copy of the installed package.

Results are added to FILE (JSON lines), so that an interrupted run goes on where it was: faults that are in it are not
tried again (--only: these are, and the last result counts). At the end, a table counts them by stage, and the faults
that no stage found are listed with their edits: those are either equivalent to the original or a gap in the tests.

Run it in a clone without changes, after ./dev test, which leaves the sample pages and the package that it needs.
"""

import argparse
import collections
import dataclasses
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOG = ROOT / "build" / "faults.log"
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
PACKAGE = ROOT / "build" / "faults" / "package"  # the installed package with the sources of this clone

# The number of faults in each language, for every fifty.
SHARES = {"c++": 29, "typescript": 11, "python": 5, "css": 3, "rust": 2}
FILES = {
    "c++": ("attnflow/**/*.cc", r"_(test|benchmark|fuzz|for_test)\.cc$|/page/|command_runner|bare_forward"),
    "typescript": ("viewer/src/**/*.ts*", r"\.d\.ts$"),
    "python": ("python/attnflow/*.py", r"$^"),
    "css": ("viewer/src/styles/*.css", r"print\.css"),
    "rust": ("rust/src/*.rs", r"tests\.rs$"),
}
# The stages that can see a fault, the cheapest first; module: the part of release that tests the fault's module.
STAGES = {
    "c++": ["module", "release", "cli", "oracle", "serve", "python", "mutate", "capture", "dev"],
    "typescript": ["viewer", "browser"],
    "python": ["python", "capture"],
    "css": ["viewer", "browser"],
    "rust": ["module", "release", "cli", "oracle"],
}
# The folders of tests that run in an environment of .cache/venv with the package in it.
PACKAGE_TESTS = {"python": ("package", "python/tests"), "capture": ("models", "python/tests/capture")}
TIMEOUT = 1500  # seconds of a stage: a fault may make a loop endless


@dataclasses.dataclass(frozen=True)
class Edit:
    kind: str  # sign, index, bound, condition, message, option, style
    language: str
    file: str
    line: int  # from 1
    before: str
    after: str


CODE_RULES = (
    ("sign", r"(?<=[\w\)\]] )\+(?= [\w\(])", "-"),
    ("sign", r"(?<=[\w\)\]] )-(?= [\w\(])", "+"),
    ("sign", r"(?<=[\w\)\]] )\+=(?= )", "-="),
    ("index", r"(?<=[\w\)\]]) \+ 1\b(?!\.)", ""),
    ("index", r"(?<=[\w\)\]]) - 1\b(?!\.)", ""),
    ("bound", r"(?<=[\w\)\]] )<(?= [\w\(])", "<="),
    ("bound", r"(?<=[\w\)\]] )<=(?= [\w\(])", "<"),
    ("bound", r"(?<=[\w\)\]] )>(?= [\w\(])", ">="),
    ("bound", r"(?<=[\w\)\]] )>=(?= [\w\(])", ">"),
    ("condition", r"(?<= )==(?= )", "!="),
    ("condition", r"(?<= )&&(?= )", "||"),
    ("condition", r"(?<= )\|\|(?= )", "&&"),
)
COMMENT = {"c++": "//", "typescript": "//", "python": "#", "rust": "//", "css": "/*"}


def code_of(line: str, language: str) -> str:
    """The line with strings and comments blanked, so that places in it keep their columns."""
    blanked = re.sub(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\'(?:[^\'\\]|\\.)\'', lambda found: "\0" * len(found[0]), line)
    comment = blanked.find(COMMENT[language])
    return blanked if comment < 0 else blanked[:comment]


def edits_of(file: Path, language: str) -> list[Edit]:
    name = str(file.relative_to(ROOT))
    edits = []

    def add(kind, number, before, after):
        edits.append(Edit(kind, language, name, number, before, after))

    in_docstring = False
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if language == "python" and line.count('"""') % 2:
            in_docstring = not in_docstring
        if in_docstring or line.lstrip().startswith(("#", "//", "*", "/*", "import ", "from ", "template")):
            continue
        if language == "css":
            if re.fullmatch(r"\s+[a-z-]+: [^;]+;", line):
                add("style", number, line, "")
            continue
        code = code_of(line, language)
        if "static_assert" in code or "<<" in code:
            continue
        for kind, pattern, text in CODE_RULES:
            for found in re.finditer(pattern, code):
                add(kind, number, line, line[: found.start()] + text + line[found.end() :])
        for found in re.finditer(r'"--([a-z][a-z-]+)"', line):
            if language == "c++" and "add_" in line:
                add("option", number, line, line[: found.end() - 2] + "x" + line[found.end() - 1 :])
        words = re.search(r'"[^"]*\bexpected ([a-z]{4,}) ', line)
        if words:
            add("message", number, line, line[: words.start(1)] + line[words.end(1) + 1 :])
    return edits


def equivalents() -> set[tuple[str, str, str]]:
    """File, line before and line after of each entry of the list: paragraphs of a file, "- before", "+ after", reason."""
    found = re.findall(r"^(\S+)\n- (.+)\n\+ (.+)\n(?=\S)", EQUIVALENT.read_text(), re.MULTILINE)
    return {(file, before.strip(), after.strip()) for file, before, after in found}


def is_equivalent(edit: Edit, known: set[tuple[str, str, str]]) -> bool:
    compiled_out = edit.language == "c++" and re.match(r"\s*assert\(", edit.before)
    return bool(compiled_out) or (edit.file, edit.before.strip(), edit.after.strip()) in known


def choose(seed: int) -> "collections.abc.Iterator[Edit]":
    """Edits without end: each language by its share, each kind in it alike, and no line twice."""
    generator = random.Random(seed)
    by_kind: dict[str, dict[str, list[Edit]]] = {}
    for language, (pattern, leave_out) in FILES.items():
        kinds = by_kind.setdefault(language, {})
        for file in sorted(ROOT.glob(pattern)):
            if not re.search(leave_out, str(file)):
                for edit in edits_of(file, language):
                    kinds.setdefault(edit.kind, []).append(edit)
    languages = [language for language, share in SHARES.items() for _ in range(share)]
    seen: set[tuple[str, int]] = set()
    while True:
        generator.shuffle(languages)
        for language in languages:
            kinds = by_kind[language]
            edit = generator.choice(kinds[generator.choice(sorted(kinds))])
            if (edit.file, edit.line) not in seen:
                seen.add((edit.file, edit.line))
                yield edit


def run(command: list[str], timeout: float = TIMEOUT, folder: Path = ROOT, **environment: str) -> int:
    """The exit status; what was printed goes to the log. A command that takes too long has found the fault, too."""
    with LOG.open("ab") as log:
        log.write(f"\n== {' '.join(command)}\n".encode())
        log.flush()
        all_of = {**os.environ, **environment}
        with subprocess.Popen(
            command, cwd=folder, env=all_of, stdout=log, stderr=log, start_new_session=True
        ) as process:
            try:
                return process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return 124


def run_ctest(*options: str) -> int:
    """Tests of the release build, with the inputs that ./dev test gives them."""
    test = 'source tools/dev/common.sh && export_test_inputs && exec ctest --test-dir build/release "$@"'
    return run(["bash", "-c", test, "ctest", "--output-on-failure", "--stop-on-failure", *options])


def build(*targets: str) -> int:
    return run(["ninja", "-C", "build/release", *targets])


def module_test(edit: Edit) -> tuple[str, str] | None:
    """The test of the module that the fault is in, and what to build for it, if it has one."""
    if edit.language == "rust":
        return "attnflow_tokenizers_rust", "text_test"
    folders = Path(edit.file).parts[1:-1]
    for name in ("_".join(folders), folders[0]):
        if list((ROOT / "build/release").rglob(f"{name}_test")):
            return name, f"{name}_test"
    return None


def run_package_tests(stage: str) -> int:
    environment, tests = PACKAGE_TESTS[stage]
    (installed,) = ROOT.glob(f".cache/venv/{environment}-[0-9]*[0-9]/lib/python3*/site-packages/attnflow")
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(installed, PACKAGE / "attnflow", ignore=shutil.ignore_patterns("__pycache__"))
    for file in ROOT.glob("python/attnflow/*.py*"):
        shutil.copy(file, PACKAGE / "attnflow")
    python = installed.parents[3] / "bin" / "python"
    command = ["tools/dev/run_unittest.py", "--without", "tests/long_tests.txt", "--stage", stage]
    return run([str(python), *command, tests, str(PACKAGE / "tally")], PYTHONPATH=str(PACKAGE))


def run_page_tests(edit: Edit) -> int:
    """Those without a DOM first. Some wait for what the page shows: these get time, and fail only if they do again."""
    file = str(Path(edit.file).relative_to("viewer"))
    patient = ["--run", "--bail", "1", "--retry", "1", "--test-timeout", "300000"]
    pages = str(ROOT / "build" / "test-results" / "viewer.pages")
    for project in ("numbers", "components"):
        command = ["npx", "vitest", "related", file, "--project", project, "--passWithNoTests", *patient]
        if run(command, folder=ROOT / "viewer", ATTNFLOW_HTML=pages) != 0:
            return 1
    return 0


def run_stage(stage: str, edit: Edit) -> int:
    if stage == "release":
        return run_ctest("--label-exclude", "training", "--parallel", "2")
    if edit.language == "python":
        return run_package_tests(stage)
    if stage == "viewer" and edit.language == "typescript":
        return run_page_tests(edit)
    return run(["./dev", "test", stage])


def finder(edit: Edit, stages: list[str]) -> str | None:
    """The stage that finds the fault; "build" if it does not compile; None if none does."""
    left = [stage for stage in STAGES[edit.language] if not stages or stage in stages]
    if edit.language == "typescript" and run(["npx", "tsc", "--noEmit", "-p", "."], folder=ROOT / "viewer") != 0:
        return "build"
    if edit.language in ("c++", "rust"):
        test = module_test(edit) if left[:1] == ["module"] else None
        if test:
            if build(test[1]) != 0:
                return "build"
            if run_ctest("--tests-regex", f"^{test[0]}$", "--timeout", "300") != 0:
                return "module"
        if left != ["module"] and build() != 0:
            return "build"
    return next((stage for stage in left if stage != "module" and run_stage(stage, edit) != 0), None)


def attempt(edit: Edit, stages: list[str]) -> tuple[str | None, float]:
    file = ROOT / edit.file
    original = file.read_text()
    lines = original.splitlines()
    if lines[edit.line - 1] != edit.before:
        raise SystemExit(f"faults: {edit.file}:{edit.line} has changed since the faults were chosen")
    lines[edit.line - 1] = edit.after
    began = time.monotonic()
    try:
        file.write_text("\n".join(lines) + "\n")
        return finder(edit, stages), time.monotonic() - began
    finally:
        file.write_text(original)


def show(number: int, edit: Edit) -> str:
    return f"{number}. {edit.kind}, {edit.file}:{edit.line}\n   - {edit.before.strip()}\n   + {edit.after.strip()}"


def summary(results: dict[int, dict]) -> str:
    stages = collections.Counter(one["stage"] or "none" for one in results.values())
    found = sum(count for stage, count in stages.items() if stage != "none")
    lines = [f"{found} of {len(results)} found"]
    for stage, count in stages.most_common():
        numbers = ", ".join(str(number) for number, one in sorted(results.items()) if (one["stage"] or "none") == stage)
        lines.append(f"{stage:8} {count:3}: {numbers}")
    lines += [show(number, Edit(**one["edit"])) for number, one in sorted(results.items()) if one["stage"] is None]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=44)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--only", default="", help="numbers of faults, such as 3,17")
    parser.add_argument("--stages", default="", help="try no others than these, such as module,viewer")
    parser.add_argument("--list", action="store_true", help="show the edits and run nothing")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "faults.jsonl")
    arguments = parser.parse_args()
    stages = [name for name in arguments.stages.split(",") if name]
    only = {int(number) for number in arguments.only.split(",") if number}
    results: dict[int, dict] = {}
    if arguments.results.exists():
        for line in arguments.results.read_text().splitlines():
            one = json.loads(line)
            results[one["number"]] = one
    if not arguments.list and subprocess.run(["git", "diff", "--quiet"], cwd=ROOT, check=False).returncode != 0:
        raise SystemExit("faults: expected a clone without changes, found some; commit them first")
    compiled = 0
    known = equivalents()
    for number, edit in enumerate(choose(arguments.seed)):
        if compiled == arguments.count or (only and number > max(only)):
            break
        if is_equivalent(edit, known):
            results.pop(number, None)
            if arguments.list:
                print(show(number, edit) + "\n   is equivalent")
            continue
        if arguments.list:
            print(show(number, edit))
            compiled += 1
            continue
        if only and number not in only:
            compiled += number in results and results[number]["stage"] != "build"
            continue
        if number not in results or number in only:
            stage, seconds = attempt(edit, stages)
            print(f"{show(number, edit)}\n   {stage or 'NOT FOUND'}, {seconds:.0f} s", flush=True)
            one = {"number": number, "stage": stage, "seconds": round(seconds), "edit": dataclasses.asdict(edit)}
            results[number] = one
            with arguments.results.open("a") as file:
                file.write(json.dumps(one) + "\n")
        compiled += results[number]["stage"] != "build"
    if not arguments.list:
        print(summary({number: one for number, one in results.items() if one["stage"] != "build"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
