#!/usr/bin/env python3
"""How long a newcomer and a developer wait: the build from scratch, and again after one file has changed.

    ./dev bench build [--keep]

Copies the sources known to git (including uncommitted changes) into a temporary folder, with nothing built and an empty
compiler cache, and runs ./dev demo there; then changes one source file, and the most included header, and rebuilds.
The caches that it cannot empty are stated: installed Debian packages stay, and npm's and cargo's downloads come from
their caches. Prints Markdown: seconds per stage, the slowest objects, sizes.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SLOWEST = 20
# A line of code, because the compiler cache ignores comments.
CHANGED = {
    "attnflow/attribution/attribute.cc": "namespace attnflow { int measured_change() { return 1; } }",
    "attnflow/report/report.h": "namespace attnflow { int changed_to_measure(); }",
}


def copy_sources(target):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    subprocess.run(["git", "init", "--quiet"], cwd=target, check=True)


def run(folder, environment, *command):
    """Seconds that a command took; its output is shown only if it fails."""
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return time.monotonic() - start


def objects(folder):
    """(seconds, name) of each build step, the slowest first."""
    steps = {}
    for line in (folder / "build/release/.ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, command = line.split("\t")
        steps[command] = ((int(end) - int(begin)) / 1000, output.removeprefix(f"{folder}/"))
    return sorted(steps.values(), reverse=True)


def batch(folder, output):
    """The source files of an object: its own, or those of its batch."""
    source = folder / "build/release" / re.sub(r"\.o$", "", output)
    if "/Unity/" not in output or not source.exists():
        return output
    names = re.findall(r"attnflow/(\S+)\.cc", source.read_text())
    return f"{Path(names[0]).parent}: {', '.join(Path(name).name for name in names)}"


def megabytes(*paths):
    return f"{sum(path.stat().st_size for path in paths) / 1e6:.1f} MB"


def load():
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def main():
    keep = "--keep" in sys.argv
    folder = Path(tempfile.mkdtemp(prefix="attnflow-build-"))
    environment = os.environ | {
        "CCACHE_DIR": str(folder / ".ccache"),
        "CCACHE_BASEDIR": str(folder / "clone"),
        "ATTNFLOW_STAGE_LOG": str(folder / "stages"),
    }
    clone = folder / "clone"
    try:
        print(f"{os.cpu_count()} processors, load before: {load()}\n")
        copy_sources(clone)
        total = run(clone, environment, "./dev", "demo")
        print("| stage | seconds |\n| --- | --- |")
        for line in (folder / "stages").read_text().splitlines():
            seconds, title = line.split("\t")
            print(f"| {title.strip()} | {seconds} |")
        print(f"| `./dev demo` in all | {total:.0f} |")
        steps = objects(clone)
        nothing = run(clone, environment, "./dev", "build", "program")
        print(f"| `./dev build program` again, nothing changed | {nothing:.1f} |")
        for name, line in CHANGED.items():
            with (clone / name).open("a") as file:
                file.write(f"\n{line}\n")
            print(f"| after a change of `{name}` | {run(clone, environment, './dev', 'build', 'program'):.1f} |")
        print(f"\nload after: {load()}; all steps one after the other: {sum(s for s, _ in steps):.0f} s\n")
        print(f"| the {SLOWEST} slowest steps | seconds |\n| --- | --- |")
        for seconds, output in steps[:SLOWEST]:
            print(f"| {batch(clone, output)} | {seconds:.1f} |")
        prefix = folder / "installed"
        run(clone, environment, "cmake", "--install", "build/release", "--prefix", str(prefix))
        program, backend = prefix / "bin/attnflow", prefix / "lib/attnflow/libattnflow_torch.so"
        print(f"\ninstalled: attnflow {megabytes(program)}, libattnflow_torch.so {megabytes(backend)}")
    finally:
        if keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
