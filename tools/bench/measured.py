"""Shared by the measurements of language models: running programs in turn, reading their JSON, medians."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Hashable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("ATTNFLOW", str(ROOT / "build" / "release" / "bin" / "attnflow")))


def run_json(command: list[str]) -> dict:
    """Runs a program that prints one line of JSON."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def run_timed(command: list[str], environment: dict[str, str] | None = None) -> dict:
    """Wall and CPU seconds and peak memory of a whole process."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
    )
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {process.returncode}\n{error.decode()}")
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_memory_kib": usage.ru_maxrss,
    }


def in_turn(takes: dict[Hashable, Callable[[], dict]], runs: int) -> dict[Hashable, list[dict]]:
    """Each of them once, then each again, `runs` times: a temporary slowdown of the machine affects all equally."""
    samples: dict[Hashable, list[dict]] = {name: [] for name in takes}
    for _ in range(runs):
        for name, take in takes.items():
            samples[name].append(take())
    return samples


def median(samples: list[dict], key: str) -> float:
    return statistics.median(sample[key] for sample in samples)


def machine() -> str:
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors"


def store(name: str, results: dict) -> None:
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n")
