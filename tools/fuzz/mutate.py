#!/usr/bin/env python3
"""Runs the program on damaged and hostile input of many kinds, and checks how each run ends.

    ./dev fuzz mutate [--seconds N | --cases N] [--seed S] [CAMPAIGN]...
    ./dev fuzz mutate --seed S --case K CAMPAIGN        # one case again

Campaigns: {campaigns}. All by default; docs/robustness.md says what each does and checks.

Case K of a campaign depends only on the seed and K. A failing case is kept in build/fuzz/mutate/CAMPAIGN-SEED-K: its
input files and again.sh, which runs the same commands. Exits with status 1 if anything failed, or if a campaign ran no
case.
"""

import argparse
import importlib
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

NAMES = ("files", "texts", "options", "numbers", "crash", "server", "python")


@dataclass
class Tally:
    name: str
    cases: int = 0
    fallen: dict[str, int] = field(default_factory=lambda: {"crash": 0, "hang": 0, "wrong": 0})
    peak: int = 0
    seconds: float = 0.0
    slowest: tuple[float, int] = (0.0, 0)  # seconds, case


def keep(runner, target: Path, again: str, why: str) -> None:
    """Saves a case's input files, and a script that runs it again."""
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)

    def no_pipes(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if not (Path(folder, name).is_file() or Path(folder, name).is_dir())]

    shutil.copytree(runner.folder, target, symlinks=True, ignore=no_pipes)
    for name in ("out", "err"):
        stream = runner.folder.parent / f"{runner.folder.name}.{name}"
        if stream.exists():
            shutil.copy(stream, target / f"standard.{name}")
    steps = "\n".join(runner.steps)
    (target / "again.sh").write_text(
        f"#!/bin/sh\n# {again}\n# {why.splitlines()[0][:300]}\n"
        f'ATTNFLOW="${{ATTNFLOW:-{runner.program}}}"\ncd "$(dirname "$0")" || exit\n{steps}\n',
        encoding="utf-8",
        errors="surrogateescape",
    )
    (target / "again.sh").chmod(0o755)
    (target / "why.txt").write_text(f"{again}\n{why}\n", encoding="utf-8", errors="backslashreplace")


def run_case(module, tally: Tally, seed: int, number: int, kept: Path) -> None:
    from results import NotWhole
    from running import Fallen, Runner

    tally.cases += 1
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attnflow-mutate-") as scratch:
        folder = Path(scratch, "case")
        folder.mkdir()
        runner = Runner(folder)
        try:
            module.case(Random(f"{seed}/{tally.name}/{number}"), runner)
        except Exception as fallen:
            kind = getattr(fallen, "kind", "wrong")
            if not isinstance(fallen, (Fallen, NotWhole)):
                traceback.print_exc()  # an unexpected form of answer, or a bug in this script
            tally.fallen[kind] += 1
            again = f"./dev fuzz mutate --seed {seed} --case {number} {tally.name}"
            target = kept / f"{tally.name}-{seed}-{number}"
            keep(runner, target, again, f"{kind}: {fallen!s:.2000}")
            print(f"{kind}: {fallen!s:.2000}\n  {again}\n  {target}/again.sh", flush=True)
        tally.peak = max(tally.peak, runner.peak)
    tally.slowest = max(tally.slowest, (time.monotonic() - begin, number))


def run_campaign(name: str, arguments, kept: Path) -> Tally:
    module = importlib.import_module(f"campaign_{name}")
    tally = Tally(name)
    begin = time.monotonic()
    numbers = [arguments.case] if arguments.case is not None else range(arguments.cases or 2**62)
    end = begin + arguments.seconds if arguments.case is None and not arguments.cases else None
    try:
        for number in numbers:
            if end is not None and time.monotonic() >= end and tally.cases:
                break
            run_case(module, tally, arguments.seed, number, kept)
    finally:
        finish = getattr(module, "finish", None)
        if finish is not None:
            why = finish(tally)
            if why:
                tally.fallen["wrong"] += 1
                print(f"wrong: {name}, at the end: {why}", flush=True)
    tally.seconds = time.monotonic() - begin
    return tally


def table(tallies: list[Tally]) -> str:
    lines = [
        f"{'campaign':<10}{'cases':>8}{'crashes':>9}{'hangs':>7}{'wrong':>7}{'largest memory':>16}{'seconds':>9}   slowest"
    ]
    for tally in tallies:
        peak = f"{tally.peak >> 20} MB" if tally.peak else "-"
        fell = tally.fallen
        lines.append(
            f"{tally.name:<10}{tally.cases:>8}{fell['crash']:>9}{fell['hang']:>7}{fell['wrong']:>7}{peak:>16}"
            f"{tally.seconds:>9.0f}   {tally.slowest[0]:.1f} s (case {tally.slowest[1]})"
        )
    return "\n".join(lines)


def main() -> int:
    description = __doc__.replace("{campaigns}", ", ".join(NAMES))
    parser = argparse.ArgumentParser(
        prog="./dev fuzz mutate", description=description, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="./dev fuzz mutate [--seconds N | --cases N | --case K] [--seed S] [CAMPAIGN]...",
    )  # fmt: skip
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", default=[], help="all by default")
    parser.add_argument("--seconds", type=float, default=420, help="in all, divided among the campaigns (%(default)s)")
    parser.add_argument("--cases", type=int, default=0, help="of each campaign, in place of a time")
    parser.add_argument("--case", type=int, help="only this case")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    parser.add_argument(
        "--kept", type=Path, default=Path("build/fuzz/mutate"), help="where what fell is kept (%(default)s)"
    )
    parser.add_argument("--names", action="store_true", help="print the campaigns that would run, and end")
    parser.add_argument("--tally", type=Path, help="write 'PASSED FAILED SKIPPED' here, for ./dev test")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.campaigns if name not in NAMES]
    if unknown:
        parser.error(f"expected campaigns of {', '.join(NAMES)}, found '{unknown[0]}'")
    if arguments.cases < 0 or not arguments.seconds > 0:
        parser.error("expected a positive number of seconds, and of cases")
    names = arguments.campaigns or list(NAMES)
    arguments.seconds /= len(names)
    if arguments.names:
        print(*names)
        return 0

    print(f"seed {arguments.seed}", flush=True)
    tallies = [run_campaign(name, arguments, arguments.kept.resolve()) for name in names]
    print(table(tallies))
    cases = sum(tally.cases for tally in tallies)
    fallen = sum(sum(tally.fallen.values()) for tally in tallies)
    if arguments.tally:
        arguments.tally.write_text(f"{cases - min(cases, fallen)} {fallen} 0\n")
    return 1 if fallen or not all(tally.cases for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
