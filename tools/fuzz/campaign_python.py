"""The Python package with hostile arrays, options and files: each case is a few calls in a separate interpreter, which
must not crash; errors must be exceptions that name the problem."""

import os
import subprocess
from pathlib import Path
from random import Random

from running import LEAKS as LIBRARY_WORDS
from running import Fallen, Runner, limit, wait, wrong

# An environment that has the package and NumPy; ./dev makes one.
PYTHON = os.environ.get("ATTNFLOW_PACKAGE_PYTHON", "")
WORKER = Path(__file__).with_name("python_worker.py")
CALLS = 25
SECONDS = 120
MEMORY = 2 << 30


def case(random: Random, runner: Runner) -> None:
    if not PYTHON:
        raise wrong("expected the Python of the package in ATTNFLOW_PACKAGE_PYTHON; ./dev fuzz mutate sets it")
    seed = random.randrange(2**63)
    command = [PYTHON, "-X", "faulthandler", str(WORKER), str(seed), str(CALLS)]
    runner.steps.append(" ".join(command))
    runner.runs += 1
    process = subprocess.Popen(
        command, cwd=runner.folder, preexec_fn=limit, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=open(runner.folder.parent / "case.err", "w+b"),
    )  # fmt: skip
    ended = wait(process, SECONDS)
    said = (runner.folder.parent / "case.err").read_bytes().decode(errors="replace")
    if ended is None:
        raise Fallen("hang", f"still running after {SECONDS} s: {said[-600:]}")
    code, peak = ended
    runner.peak = peak
    if code < 0 or code == 134:
        raise Fallen("crash", f"the interpreter ended with {code}: {said[-1200:]}")
    if code != 0:
        raise wrong(said[-1200:])
    if peak > MEMORY:
        raise wrong(f"took {peak >> 20} MB of memory")
    found = LIBRARY_WORDS.search(said)
    if found:
        raise wrong(f"an error shows what is inside ({found[0]!r}): {said[-1200:]}")
