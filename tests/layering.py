#!/usr/bin/env python3
"""Checks every #include below attnflow/, and in the programs next to it, against tools/layering.toml.

    layering.py [--root FOLDER] [--table FILE]

Prints one line for each forbidden include, `file:line: what and why`, and exits with status 1 if there is any, if a
folder is not in the table, if the table itself points downward, or if nothing was scanned: a check that looked at
nothing has not passed.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
# Headers of this namespace are not installed (cmake/attnflow.cmake), so users never see what they include.
INTERNAL = re.compile(r"^namespace (attnflow::)?internal", re.MULTILINE)
CPP_ENDINGS = {".h", ".cc", ".cpp", ".hpp", ".inc", ".in"}


def table_problems(table: dict) -> list[str]:
    """The table may only point up, must name known modules only, and must keep the core closed."""
    problems = []
    order = list(table["modules"])
    for position, (module, uses) in enumerate(table["modules"].items()):
        for used in uses:
            if used not in order:
                problems.append(f"layering table: '{module}' uses '{used}', which is no module")
            elif order.index(used) >= position:
                problems.append(f"layering table: '{module}' uses '{used}', which does not stand above it")
            if module in table["core"] and used in order and used not in table["core"]:
                problems.append(f"layering table: '{module}' is core and uses '{used}', which is not")
    problems += [f"layering table: core names '{m}', which is no module" for m in table["core"] if m not in order]
    for program, uses in table["programs"].items():
        problems += [f"layering table: '{program}' uses '{m}', which is no module" for m in uses if m not in order]
    return problems


def include_problem(
    table: dict, path: Path, quoted: str | None, angled: str | None, *, installed: bool = True
) -> str | None:
    """Why a file (its path relative to attnflow/, or for a program to the root) may not have this include; None if it
    may."""
    module = path.parts[0]
    is_test = any(path.match(pattern) for pattern in table["tests"]["files"])
    order = list(table["modules"])
    if module in table["programs"]:
        allowed = order if is_test else table["programs"][module]
    else:
        allowed = order[: order.index(module)] if is_test else table["modules"][module]
    name = quoted or angled

    program = name.split("/")[0]
    if program in table["programs"]:
        return None if program == module else f'"{name}": belongs to a program of its own, which nothing else may use'
    if name.startswith("attnflow/"):
        used = name.split("/")[1]
        if used not in table["modules"]:
            return f"\"{name}\": there is no module '{used}'"
        if used != module and used not in allowed:
            return f"\"{name}\": '{module}' may use {allowed or 'no other module'}, not '{used}'"
        return None
    if not is_test and name.startswith(tuple(table["tests"]["libraries"])):
        return f"<{name}>: belongs in tests only"
    for beginning, folders in table["only_in"].items():
        if not name.startswith(beginning):
            continue
        if not any(path.is_relative_to(folder) for folder in folders):
            where = " or ".join(f if f.split("/")[0] in table["programs"] else f"attnflow/{f}" for f in folders)
            return f"<{name}>: belongs in {where} only"
    if quoted:
        return f'"{name}": our own headers are included by their path from the root, "attnflow/..."'
    public = installed and module in table["core"] and path.suffix == ".h" and not is_test
    if public and name.startswith(tuple(table["private"]["beginnings"])):
        return f"<{name}>: a header of the core does not show other projects' headers to its users; include it in a .cc"
    return None


def scan(root: Path, table: dict) -> tuple[list[str], int, int]:
    """All problems of a tree, with the numbers of files and of includes checked."""
    problems = table_problems(table)
    files = includes = 0
    source = root / "attnflow"
    places = [source, *(root / program for program in table["programs"])]
    for path in sorted(path for place in places for path in place.rglob("*")):
        if not path.is_file() or path.suffix not in CPP_ENDINGS:
            continue
        shown = path.relative_to(root)
        relative = path.relative_to(source) if path.is_relative_to(source) else shown
        if path.is_relative_to(source) and (len(relative.parts) < 2 or relative.parts[0] not in table["modules"]):
            problems.append(f"{shown}: not in a module of the layering table")
            continue
        files += 1
        text = path.read_text(encoding="utf-8")
        installed = not INTERNAL.search(text)
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match is None:
                continue
            includes += 1
            problem = include_problem(table, relative, match[1], match[2], installed=installed)
            if problem:
                problems.append(f"{shown}:{number}: {problem}")
    if files == 0 or includes == 0:
        problems.append(f"{source}: scanned {files} files with {includes} includes; expected some of both")
    return problems, files, includes


def main(arguments: list[str]) -> int:
    here = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=here)
    parser.add_argument("--table", type=Path, default=here / "tools" / "layering.toml")
    options = parser.parse_args(arguments)
    with options.table.open("rb") as file:
        table = tomllib.load(file)
    problems, files, includes = scan(options.root, table)
    for problem in problems:
        print(problem)
    print(f"layering: {files} files, {includes} includes, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
