"""Corpora: a row in, a row out, whatever ends the work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import transformers

import attnflow

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import ROOT, PackageTest  # noqa: E402

transformers.logging.set_verbosity_error()
BERT = ROOT / "tests" / "golden" / "models" / "bert_classification"
TEXTS = [f"the key {'is ' * (number % 5)}here" for number in range(23)]


def load() -> tuple[Any, Any]:
    model = transformers.AutoModelForSequenceClassification.from_pretrained(BERT).eval()
    return model, transformers.AutoTokenizer.from_pretrained(BERT)


class Corpus(PackageTest):
    model: Any
    tokenizer: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.model, cls.tokenizer = load()

    def explain(self, dataset: Any, name: str = "out", **options: Any) -> int:
        given = {"rows_per_file": 5} | options
        return attnflow.data.explain(dataset, self.model, self.tokenizer, self.folder / name, **given)

    def read(self, name: str = "out") -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = attnflow.data.read(self.folder / name).to_pylist()
        return rows

    def test_rows_are_those_of_explain(self) -> None:
        self.assertEqual(self.explain(TEXTS, method=["rollout", "flow"]), 23)
        rows = self.read()
        self.assertEqual([row["index"] for row in rows], list(range(23)))
        self.assertEqual([row["text"] for row in rows], TEXTS)
        for row in rows[:3]:
            report = attnflow.explain(self.model, self.tokenizer, row["text"], method=["rollout", "flow"])
            self.assertEqual(row["tokens"], report.tokens)
            np.testing.assert_array_equal(row["rollout"], report.rollout[-1, report.output_token])
            np.testing.assert_array_equal(row["flow"], report.flow[-1, report.output_token])
            self.assertIsNone(row["raw"])
            label, probability = report.predictions[0].choices[0]
            self.assertEqual((row["prediction"], row["probability"]), (label, probability))
        self.assertTrue(attnflow.data.read(self.folder / "out").schema.equals(attnflow.data.schema()))

    def test_datasets_of_every_kind(self) -> None:
        import datasets

        whole = datasets.Dataset.from_dict({"sentence": TEXTS, "other": list(range(23))})
        for name, dataset, column in (
            ("generator", (text for text in TEXTS), "text"),
            ("mappings", [{"sentence": text} for text in TEXTS], "sentence"),
            ("hugging", whole, "sentence"),
            ("streamed", whole.to_iterable_dataset(), "sentence"),
        ):
            with self.subTest(name):
                self.assertEqual(self.explain(dataset, name, column=column), 23)
                self.assertEqual([row["text"] for row in self.read(name)], TEXTS)

    def test_bad_rows_say_what_is_wrong(self) -> None:
        self.explain([{"text": "the key"}, {"text": None}, {"other": "a"}, {"text": "a " * 500}, {"text": ""}, 3])
        rows = self.read()
        self.assertIsNone(rows[0]["error"])
        for row, words in zip(
            rows[1:4], ("expected a text in 'text', found NoneType", "found 'other'", "expected at most"), strict=True
        ):
            self.assertIn(words, row["error"])
            self.assertIsNone(row["rollout"])
        self.assertIn("found int", rows[5]["error"])
        self.assertEqual([row["index"] for row in rows], list(range(6)))

    def test_goes_on_where_it_ended(self) -> None:
        def ends() -> Iterator[str]:
            yield from TEXTS[:13]
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.explain(ends())
        self.assertEqual(len(self.read()), 10)
        kept = self.folder / "out" / "rows-000000.parquet"
        before = kept.stat().st_mtime_ns
        self.assertEqual(self.explain(TEXTS), 13)
        self.assertEqual(self.explain(TEXTS), 0)
        self.assertEqual([row["index"] for row in self.read()], list(range(23)))
        self.assertEqual(kept.stat().st_mtime_ns, before)
        self.assertEqual(self.explain([*TEXTS, "one more"]), 4)  # the last file was not full
        self.assertEqual([row["text"] for row in self.read()], [*TEXTS, "one more"])

    def test_a_killed_worker_loses_nothing(self) -> None:
        script = (
            "import os, signal, sys\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "import attnflow, test_data\n"
            "model, tokenizer = test_data.load()\n"
            "def rows():\n"
            "    for number, text in enumerate(test_data.TEXTS):\n"
            "        if number == 17:\n"
            "            os.kill(os.getpid(), signal.SIGKILL)\n"
            "        yield text\n"
            "attnflow.data.explain(rows(), model, tokenizer, sys.argv[2], rows_per_file=5)\n"
        )
        command = [sys.executable, "-c", script, str(Path(__file__).parent), str(self.folder / "out")]
        self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, -signal.SIGKILL)
        self.assertEqual(len(self.read()), 15)
        (self.folder / "out" / ".rows-000003.parquet-1.tmp").write_bytes(b"half")
        self.explain(TEXTS)
        self.explain(TEXTS, "at_once")
        self.assertEqual(self.read(), self.read("at_once"))

    def test_workers_share_the_files(self) -> None:
        self.assertEqual(self.explain(TEXTS, worker=1, workers=2), 10)
        self.assertEqual(self.explain(TEXTS, worker=0, workers=2), 13)
        self.assertEqual([row["text"] for row in self.read()], TEXTS)

    def test_refusals(self) -> None:
        self.explain(TEXTS[:3])
        for words, options in (
            ("options", {"residual": 0.2}),
            ("rows_per_file, 5, found 6", {"rows_per_file": 6}),
            ("worker from 0 to 1", {"worker": 2, "workers": 2}),
            ("keep_attention", {"keep_attention": True}),
            ("residual: expected", {"residual": 3.0}),
        ):
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                self.explain(TEXTS, **options)
        (self.folder / "out" / "settings.json").unlink()
        with self.assertRaisesRegex(attnflow.Error, "choose an empty folder"):
            self.explain(TEXTS)


class Ray(PackageTest):
    def test_rows_are_those_of_one_process(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
        import ray

        folder = str(BERT)

        def load_there() -> tuple[Any, Any]:  # a function of its own travels to the workers
            import transformers

            model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
            return model, transformers.AutoTokenizer.from_pretrained(folder)

        ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
        self.addCleanup(ray.shutdown)
        ray.data.DataContext.get_current().enable_progress_bars = False
        texts: list[Any] = [*TEXTS, None]
        items = ray.data.from_items([{"id": number, "sentence": text} for number, text in enumerate(texts)])
        done = attnflow.data.explain_ray(
            items.repartition(4), load_there, column="sentence", index="id", workers=2, batch_size=4, cpus=0.5
        )
        done.write_parquet(str(self.folder / "ray"))
        found = pq.read_table(self.folder / "ray").to_pylist()
        found.sort(key=lambda row: int(row["index"]))
        rows = [{"sentence": text} for text in texts]
        model, tokenizer = load()
        attnflow.data.explain(rows, model, tokenizer, self.folder / "local", column="sentence", threads=1)
        expected = attnflow.data.read(self.folder / "local").to_pylist()
        self.assertEqual([row["index"] for row in found], list(range(24)))
        for row, other in zip(found, expected, strict=True):
            for name, value in other.items():
                if isinstance(value, list) and value and isinstance(value[0], float):
                    np.testing.assert_allclose(row[name], value, atol=1e-6)  # of other numbers of threads
                elif name == "probability" and value is not None:
                    self.assertAlmostEqual(row[name], value, places=6)
                else:
                    self.assertEqual(row[name], value, name)

    def test_refusals(self) -> None:
        with self.assertRaisesRegex(attnflow.Error, "expected a dataset of ray.data, found list"):
            attnflow.data.explain_ray(TEXTS, load)


if __name__ == "__main__":
    unittest.main()
