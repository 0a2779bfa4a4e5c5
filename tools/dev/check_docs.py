#!/usr/bin/env python3
"""Checks the documents: links inside the project lead to a file (and to a heading in it), docs/versioning.md lists
exactly the core's public headers, and the places that people cite state the version being built.

Prints one line for each problem, and exits with status 1 if there is any or if there was nothing to check.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\[[^\]]*\]\(<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
INTERNAL = re.compile(r"^namespace (attnflow::)?internal", re.MULTILINE)


def documents() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = {ROOT / name for name in listed.stdout.split("\0") if name}
    return sorted(path for path in paths if path.exists())


def anchors(markdown: str) -> set[str]:
    """The names that a renderer gives to headings: lower case, no punctuation, hyphens for spaces."""
    names: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", markdown)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = 1
        unique = name
        while unique in names:
            unique = f"{name}-{number}"
            number += 1
        names.add(unique)
    return names


def link_problems(document: Path) -> list[str]:
    problems = []
    text = CODE.sub("", FENCE.sub("", document.read_text(encoding="utf-8")))
    for target in LINK.findall(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        where = f"{document.relative_to(ROOT)}: link to '{target}'"
        if not path.exists():
            problems.append(f"{where}: there is no such file")
        elif not path.is_relative_to(ROOT):
            problems.append(f"{where}: leads out of the project")
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")):
            problems.append(f"{where}: no heading of that name")
    return problems


def public_headers() -> set[str]:
    """The headers that CMake installs: no test helpers, nothing in the namespace attnflow::internal."""
    with (ROOT / "tools" / "layering.toml").open("rb") as file:
        core = tomllib.load(file)["core"]
    headers = {"attnflow/base/version.h"}  # written by CMake
    for module in core:
        for path in (ROOT / "attnflow" / module).glob("*.h"):
            if not path.name.endswith("_for_test.h") and not INTERNAL.search(path.read_text(encoding="utf-8")):
                headers.add(str(path.relative_to(ROOT)))
    return headers


def header_problems() -> list[str]:
    document = ROOT / "docs" / "versioning.md"
    listed = set(re.findall(r"`(attnflow/[\w/]+\.h)`", document.read_text(encoding="utf-8")))
    public = public_headers()
    problems = [f"docs/versioning.md: public header {name} is not listed" for name in sorted(public - listed)]
    problems += [f"docs/versioning.md: {name} is no public header" for name in sorted(listed - public)]
    return problems


def version_problems() -> list[str]:
    """People who cite attnflow copy the version from CITATION.cff or from the README."""
    built = re.search(
        r"^project\(attnflow VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M
    )
    assert built
    stated = {"CITATION.cff": r"^version: (\S+)$", "README.md": r"^  version = {(\S+)},$"}
    problems = []
    for name, pattern in stated.items():
        found = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
        if found != [built[1]]:
            problems.append(f"{name}: expected the version {built[1]} of CMakeLists.txt once, found {found}")
    return problems


def main() -> int:
    found = documents()
    problems = [problem for document in found for problem in link_problems(document)] + header_problems()
    problems += version_problems()
    if not found:
        problems.append("no document found")
    for problem in problems:
        print(problem)
    print(f"docs: {len(found)} documents, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
