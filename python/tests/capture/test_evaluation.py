"""attnflow.evaluate(): the same as `attnflow evaluate evidence`, for a loaded model."""

from __future__ import annotations

import csv
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from loading import DECODERS, MODELS, PackageTest, loaded

import attnflow

SAMPLES: dict[str, list[dict[str, Any]]] = {
    "gpt2_tied": [
        {"text": "the keys to the cabinet", "evidence": "keys"},
        {"text": "a key is near the old door", "evidence": "old"},
    ],
    "bert_masked_lm": [
        {"text": "the keys to the [MASK] are here", "evidence": "keys", "good": "cabinet"},
        {"text": "a [MASK] is on the table", "evidence": "table", "good": "key"},
    ],
    "bert_classification": [
        {"text": "the keys to the cabinet", "evidence": "keys"},
        {"text": "a key is on the table", "evidence": "table"},
    ],
}
OPTIONS: dict[str, Any] = {"method": "raw,rollout,flow", "mixing": "attention,relevance"}


class EvaluationTest(PackageTest):
    def of_command(self, name: str, samples: list[dict[str, Any]]) -> Any:
        folder = MODELS / name if (MODELS / name).exists() else DECODERS / name
        with tempfile.TemporaryDirectory() as made:
            data, document = Path(made) / "samples.csv", Path(made) / "found.json"
            with data.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(samples[0]))
                writer.writeheader()
                writer.writerows(samples)
            options = [word for key, value in OPTIONS.items() for word in (f"--{key}", value)]
            scores = ["--scores", "check,blank-out", "--samples", 0]
            self.run_program(
                "evaluate", "evidence", "--model", folder, "--data", data, *options, *scores, "-o", document
            )
            with self.subTest(name=name, file=True):
                read = attnflow.evaluate(*loaded(name), data, scores="check,blank-out", limit=0, **OPTIONS)
            return json.loads(document.read_text(encoding="utf-8")), read

    def test_is_what_the_command_makes_of_the_same_weights(self) -> None:
        for name, samples in SAMPLES.items():
            with self.subTest(name=name):
                expected, read = self.of_command(name, samples)
                found = attnflow.evaluate(*loaded(name), samples, scores="check,blank-out", limit=0, **OPTIONS)
                self.assertEqual(found.document["samples"], expected["samples"])
                self.assertEqual(len(found.cells), len(expected["cells"]))
                self.assertEqual(found.cells, read.cells)
                for cell, own in zip(found.cells, expected["cells"], strict=True):
                    for key in ("method", "mixing", "variant", "layer", "count"):
                        self.assertEqual(cell.get(key), own.get(key))
                    self.assertAlmostEqual(cell["mean"], own["mean"], places=5, msg=str(own))

    def test_has_columns_and_words(self) -> None:
        found = attnflow.evaluate(*loaded("bert_classification"), SAMPLES["bert_classification"], mixing="attention")
        columns = found.columns()
        self.assertEqual({len(column) for column in columns.values()}, {len(found.cells)})
        self.assertIn("check", columns["method"])
        self.assertIn("of 2 texts", repr(found))
        self.assertIn("check", str(found))
        self.assertIn("| ", found.to_markdown())
        self.assertEqual(len(found.to_csv().splitlines()), len(found.cells) + 1)

    def test_refuses_what_it_cannot_read(self) -> None:
        model, tokenizer = loaded("bert_classification")
        refused: list[tuple[Any, str]] = [
            ([], "expected at least one text"),
            ({"text": "a"}, "expected a list of mappings"),
            (["the key"], r"samples\[0\]: expected a mapping"),
            ([{"text": "the key"}], r"samples\[0\]: expected evidence as a text"),
            ([{"text": "the key", "evidence": "key", "label": 1}], "found 'label'"),
            ([{"text": "the key", "evidence": "dog"}], "does not occur"),
            ([{"text": "the key", "evidence": "key", "good": "nothing"}], "classes"),
        ]
        for samples, words in refused:
            with self.subTest(words=words), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.evaluate(model, tokenizer, samples)
        with self.assertRaisesRegex(attnflow.Error, "did you mean attention"):
            attnflow.evaluate(model, tokenizer, SAMPLES["bert_classification"], mixing="atention")


if __name__ == "__main__":
    unittest.main()
