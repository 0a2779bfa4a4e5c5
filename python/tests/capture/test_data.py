"""Corpora: a row in, a row out, whatever ends the work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import transformers
from loading import MODELS, PackageTest, loaded

import attnflow

BERT = MODELS / "bert_classification"
TEXTS = [f"the key {'is ' * (number % 5)}here" for number in range(23)]


class Slow:
    """A tokenizer that gives no places."""


def load() -> tuple[Any, Any]:
    return loaded(BERT.name)


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
            np.testing.assert_allclose(row["rollout"], report.rollout[-1, report.output_token], atol=1e-6)
            np.testing.assert_allclose(row["flow"], report.flow[-1, report.output_token], atol=2e-6)
            self.assertIsNone(row["raw"])
            label, probability = report.predictions[0].choices[0]
            self.assertEqual(row["prediction"], label)
            self.assertAlmostEqual(row["probability"], probability, places=6)
        self.assertTrue(attnflow.data.read(self.folder / "out").schema.equals(attnflow.data.schema()))

    def test_embeddings_have_no_prediction(self) -> None:
        model, tokenizer = loaded("bert_base")
        attnflow.data.explain(TEXTS, model, tokenizer, self.folder / "out")
        rows = self.read()
        self.assertEqual([row["text"] for row in rows], TEXTS)
        for row in rows:
            self.assertIsNone(row["error"])
            self.assertIsNone(row["prediction"])
            self.assertIsNone(row["probability"])
        report = attnflow.explain(model, tokenizer, TEXTS[0], method=["raw", "rollout"])
        np.testing.assert_allclose(
            rows[0]["rollout"], report.rollout[-1, list(report.output_tokens).index(report.output_token)], atol=1e-6
        )

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

    def test_what_is_no_rows_fault_ends_the_work(self) -> None:
        def fails(*_: Any, **__: Any) -> Any:
            raise problem

        for problem in (
            RuntimeError("CUDA error: device-side assert triggered"),
            RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
            attnflow.Error("expected attention of 2 layers", kind="unsupported_model"),
        ):
            with self.subTest(problem), mock.patch.object(self.model, "forward", fails):
                with self.assertRaises(type(problem)):
                    self.explain(TEXTS)
                self.assertEqual(list((self.folder / "out").glob("rows-*")), [])
        with attnflow.capture(self.model), self.assertRaisesRegex(attnflow.Error, "one capture at a time"):
            self.explain(TEXTS)
        self.assertEqual(self.explain(TEXTS), 23)

    def test_places_that_one_text_lacks(self) -> None:
        self.assertEqual(self.explain(["the", "the key is here"], output_token=4), 2)
        first, second = self.read()
        self.assertIn("output_token: expected", first["error"])
        self.assertEqual((second["error"], second["output_token"]), (None, 4))

    def test_texts_that_a_tokenizer_refuses(self) -> None:
        class Refuses:
            is_fast = True

            def __init__(self, tokenizer: Any) -> None:
                self.tokenizer = tokenizer

            def __getattr__(self, name: str) -> Any:
                return getattr(self.tokenizer, name)

            def __call__(self, text: str, **options: Any) -> Any:
                if text == "bad":
                    raise ValueError("no such text")
                return self.tokenizer(text, **options)

        with mock.patch.object(self, "tokenizer", Refuses(self.tokenizer)):
            self.explain(["the key", "bad"])
        self.assertEqual([row["error"] for row in self.read()][0], None)
        self.assertIn("ValueError: no such text", self.read()[1]["error"])

    def test_what_is_wrong_with_every_row_ends_the_work_before_it_begins(self) -> None:
        import torch

        wrapped = torch.nn.Sequential(self.model)
        wrapped.config = self.model.config
        with self.assertRaisesRegex(attnflow.Error, "PreTrainedModel.*found Sequential"):
            attnflow.data.explain(TEXTS, wrapped.eval(), self.tokenizer, self.folder / "out")
        with mock.patch.object(self, "tokenizer", Slow()):
            with self.assertRaisesRegex(attnflow.Error, "is_fast"):
                self.explain(TEXTS, words=True)
        with self.assertRaisesRegex(attnflow.Error, "expected raw, rollout or flow for a corpus, found logit"):
            self.explain(TEXTS, method="logit")
        self.assertFalse((self.folder / "out").exists())

    def test_shorter_datasets_leave_a_folder_as_it_was(self) -> None:
        self.explain(TEXTS)
        before = self.read()
        for rows in (TEXTS[:22], TEXTS[:20], TEXTS[:3], []):
            for dataset in (rows, iter(rows)):
                with self.subTest(len(rows)), self.assertRaisesRegex(attnflow.Error, "from a longer dataset"):
                    self.explain(dataset)
                self.assertEqual(self.read(), before)

    def test_other_datasets_and_models_are_refused(self) -> None:
        self.explain(TEXTS[:7])
        other = [*TEXTS[:5], "another", *TEXTS[6:]]
        with self.assertRaisesRegex(attnflow.Error, "'another', found 'the key here' from another dataset"):
            self.explain(other)
        settings = self.folder / "out" / "settings.json"
        made_by = json.loads(settings.read_text(encoding="utf-8"))
        for name, value in (("version", attnflow.__version__), ("dtype", "float32"), ("tokenizer", str(BERT))):
            self.assertEqual(made_by[name], value)
            settings.write_text(json.dumps(made_by | {name: "another"}), encoding="utf-8")
            with self.assertRaisesRegex(attnflow.Error, f"the same {name} as in the folder, another, found"):
                self.explain(TEXTS)

    def test_layers_as_a_range(self) -> None:
        self.assertEqual(self.explain(TEXTS[:2], layers=range(1, 3)), 2)
        self.assertEqual(self.explain(TEXTS[:3], layers=np.arange(1, 3)), 1)

    def test_file_systems_without_links(self) -> None:
        with mock.patch("os.link", side_effect=PermissionError("no links here")):
            self.assertEqual(self.explain(TEXTS[:2]), 2)
            self.assertEqual(self.explain(TEXTS[:3]), 1)
        self.assertEqual(len(self.read()), 3)

    def test_tables_are_refused_with_what_makes_rows_of_them(self) -> None:
        import pandas
        import pyarrow

        class DataFrame:  # as of polars
            def to_dicts(self) -> list[Any]:
                return []

        for dataset, words in (
            (pyarrow.table({"text": TEXTS}), r"found pyarrow\.Table; pass its to_pylist\(\)"),
            (pyarrow.array(TEXTS), r"found pyarrow\.StringArray; pass its to_pylist\(\)"),
            (pandas.DataFrame({"text": TEXTS}), r"found pandas\.DataFrame; pass its to_dict\(\"records\"\)"),
            (DataFrame(), r"DataFrame; pass its to_dicts\(\)"),
            (3, r"found builtins\.int"),
        ):
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                self.explain(dataset)

    def test_folders_that_are_not_there(self) -> None:
        with self.assertRaisesRegex(attnflow.Error, "found none at .*typo"):
            attnflow.data.read(self.folder / "typo")

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
        self.assertEqual(self.explain([*TEXTS, "one more"]), 1)  # the last file was not full
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
            ("the same rows_per_file as in the folder, 5, found 6", {"rows_per_file": 6}),
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
        letters = ray.data.from_items([{"id": "a1", "sentence": "the key"}])
        with self.assertRaisesRegex(
            Exception, "index: expected whole numbers of 64 bits in the column 'id', found 'a1'"
        ):
            attnflow.data.explain_ray(letters, load_there, column="sentence", index="id", workers=1).take_all()
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

    def test_numbers_of_rows(self) -> None:
        from attnflow.data.ray import _number_of

        self.assertEqual(_number_of({"id": 7}, "id"), 7)
        self.assertEqual(_number_of({"id": 7}, None), -1)
        for row, words in (
            ({"id": 1}, "index: expected a column 'idx', found 'id'"),
            ({"idx": "a1"}, "found 'a1'"),
            ({"idx": None}, "found None"),
        ):
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                _number_of(row, "idx")

    def test_is_checked_before_an_actor_starts(self) -> None:
        class Dataset:
            def map_batches(self, *_: Any, **__: Any) -> Any:
                raise AssertionError("actors start")

            def columns(self, fetch_if_missing: bool) -> list[str]:
                return ["id", "sentence"]

        for words, options in (
            ("index: expected a column 'idx'", {"index": "idx"}),
            ("residual: expected", {"residual": 3.0}),
            ("keep_attention", {"keep_attention": True}),
        ):
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.data.explain_ray(Dataset(), load, **options)


if __name__ == "__main__":
    unittest.main()
