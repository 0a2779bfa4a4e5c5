"""2,000 sentences through Ray Data with two workers, and the same in one process.

Needs the package, torch, transformers, Ray and MiniLM in $ATTNFLOW_MINILM_DIR; `./dev bench python` provides all. Each
computing process uses one thread. The rows are compared before anything is timed: Ray cuts other batches, so numbers may
differ by rounding. Each run is a separate process; runs take turns, times are medians. The work lasts from when the first
model is loaded until the last row is on disk; the start is everything before: Python, PyTorch, Ray, its workers, the model
in each.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODEL = os.environ.get("ATTNFLOW_MINILM_DIR", str(HERE.parent.parent / ".cache" / "models" / "minilm"))
WORKERS = 2
SENTENCES = 2000
COMPARED = 256
RUNS = 3
ROUNDING = 1e-5


def rows(count: int) -> list[dict[str, Any]]:
    """Sentences of prose, repeated from the beginning if needed."""
    prose = (HERE / "prose.txt").read_text(encoding="utf-8")
    sentences = [one for one in re.split(r"(?<=[.!?])\s+", prose) if one]
    return [{"id": number, "sentence": sentences[number % len(sentences)]} for number in range(count)]


def loaded(folder: str) -> None:
    """Records when a process has loaded its model."""
    Path(f"{folder}.loaded-{os.getpid()}").write_text(str(time.time()), encoding="ascii")


def in_one_process(count: int, folder: str) -> None:
    import torch
    import transformers

    import attnflow

    torch.set_num_threads(1)
    model = transformers.AutoModel.from_pretrained(MODEL).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    loaded(folder)
    attnflow.data.explain(rows(count), model, tokenizer, folder, column="sentence", threads=1)


def through_ray(count: int, folder: str) -> None:
    import ray

    import attnflow

    path, note = MODEL, loaded

    def load() -> tuple[Any, Any]:  # a local function, which can be sent to the workers
        import transformers

        model = transformers.AutoModel.from_pretrained(path).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        note(folder)
        return model, tokenizer

    ray.init(num_cpus=WORKERS, include_dashboard=False, logging_level="error", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = ray.data.from_items(rows(count))
    done = attnflow.data.explain_ray(dataset, load, column="sentence", index="id", workers=WORKERS)
    done.write_parquet(folder)


WAYS = {"one process": in_one_process, "Ray Data, 2 workers": through_ray}


def run(way: str, count: int, folder: str) -> tuple[float, float]:
    """Seconds to start, and of the work, of a separate process."""
    begin = time.time()
    command = [sys.executable, __file__, way, str(count), folder]
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise SystemExit(f"corpus: {way} ended with {done.returncode}\n{done.stderr}")
    end = max(path.stat().st_mtime for path in Path(folder).glob("*.parquet"))
    place = Path(folder)
    notes = [float(note.read_text(encoding="ascii")) for note in place.parent.glob(f"{place.name}.loaded-*")]
    return min(notes) - begin, end - min(notes)


def same(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether rows are equal, and their numbers up to what float32 rounds in batches of other sizes."""
    import numpy as np

    def close(name: str) -> bool:
        found = [np.zeros(0) if one[name] is None else np.atleast_1d(one[name]) for one in (row, other)]
        return found[0].shape == found[1].shape and np.allclose(*found, rtol=0, atol=ROUNDING)

    values = ("raw", "rollout", "flow", "probability")
    return all(close(name) if name in values else row[name] == other[name] for name in row)


def same_rows(folder: Path) -> None:
    """Checks that both ways give the same rows."""
    import pyarrow.parquet as pq

    found = []
    for number, way in enumerate(WAYS):
        run(way, COMPARED, str(folder / f"rows-{number}"))
        table = pq.read_table(sorted((folder / f"rows-{number}").glob("*.parquet")))
        found.append(table.sort_by("index").to_pylist())
    for row, other in zip(*found, strict=True):
        if not same(row, other) or row["error"] is not None or not row["rollout"]:
            raise SystemExit(f"corpus: expected the same row of both, found {row} and {other}")
    if [row["index"] for row in found[0]] != list(range(COMPARED)):
        raise SystemExit("corpus: expected a row for each sentence, found others")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        same_rows(folder)
        runs: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for number in range(RUNS):
            for way in WAYS:
                runs[way].append(run(way, SENTENCES, str(folder / f"{number}-{way}")))
    print(
        f"| {SENTENCES:,} sentences, MiniLM, one thread each | start | work | of one process |\n| --- | --- | --- | --- |"
    )
    base = 0.0
    for way, found in runs.items():
        start, work = (statistics.median(seconds) for seconds in zip(*found, strict=True))
        base = base or work
        print(f"| {way} | {start:.1f} s | {work:.1f} s | {work / base:.2f} |")
    print()


if __name__ == "__main__":
    WAYS[sys.argv[1]](int(sys.argv[2]), sys.argv[3]) if len(sys.argv) > 1 else main()
