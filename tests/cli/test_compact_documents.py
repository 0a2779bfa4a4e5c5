"""Compact report documents, read by the decoder shown in docs/report-format.md: they match the exact ones."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
from support import MODELS, PROGRAM, ROOT, CommandTest, note_codes, random_attention

SAMPLES = os.environ.get(
    "ATTNFLOW_SAMPLE_DOCUMENTS",
    str(Path(PROGRAM).resolve().parent.parent / "attnflow" / "draw" / "attnflow_sample_documents"),
)
# Error of a value that is half a code off, and of float16.
LOG_ERROR = 10 ** (5 / 508) - 1 + 1e-6
TOLERANCE = {"f64": 0.0, "f32": 1e-7, "f16": 5e-4, "log8": LOG_ERROR, "top": LOG_ERROR}


def documented_decoder():
    """The function `decode` of the document's example, which ends before it opens a file."""
    text = (ROOT / "docs" / "report-format.md").read_text(encoding="utf-8")
    (example,) = (code for code in re.findall(r"```python\n(.*?)```", text, re.S) if "def decode(" in code)
    names: dict = {}
    exec(example[: example.index("report = json.load")], names)
    return names["decode"]


DECODE = documented_decoder()


def visible(report: dict, name: str) -> list[int] | None:
    """The number of columns that each row of an array sees."""
    n = len(report["input"]["tokens"])
    shape = report["arrays"][name]["shape"]
    if not report["model"]["causal"] or name == "sink_share":
        return None
    if name in ("graph", "attention"):
        positions = range(n)
    else:
        positions = report["flow_output_tokens" if name.startswith("flow") else "output_tokens"]
    before = n if name.endswith("_generated") else 0
    seen = [min(position + 1 - before, shape[-1]) for position in positions]
    return seen * (int(np.prod(shape[:-1])) // len(positions))


def rows_of(array: dict, values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, array["shape"][-1])


class DocumentTest(CommandTest):
    def compare(self, compact: dict, exact: dict) -> set[str]:
        """Checks every array of a compact document; returns the types that occurred."""
        self.assertEqual((exact["version"], compact["version"]), (3, 3))
        for field in exact:
            if field not in ("notes", "arrays", "flow_gap_max"):
                self.assertEqual(compact[field], exact[field], field)
        self.assertEqual(compact["notes"][: len(exact["notes"])], exact["notes"])
        if missing := exact["arrays"].keys() - compact["arrays"].keys() - {"flow_gap", "graph"}:
            self.assertIn("left-out", note_codes(compact), missing)
        met = set()
        for name, array in compact["arrays"].items():
            met.add(array["dtype"])
            if name.endswith("_exact"):
                self.compare_exact_row(compact, exact, name)
                continue
            expected = DECODE(exact["arrays"][name])
            found = DECODE(array, visible(compact, name))
            self.assertEqual(found.shape, expected.shape, name)
            if array["dtype"] == "top":
                self.compare_top(compact, name, array, found, expected)
                continue
            row_maximum = rows_of(array, expected).max(axis=-1, keepdims=True)
            error = np.abs(rows_of(array, found).astype(float) - rows_of(array, expected))
            # float16 has subnormal numbers, and code 0 represents values near 0.
            least = {"f16": 2.0**-25, "log8": row_maximum * 0.51e-5}.get(array["dtype"], 1e-38)
            allowed = TOLERANCE.get(array["dtype"], 0.0) * np.abs(rows_of(array, expected))
            self.assertTrue((error <= np.maximum(allowed, least)).all(), f"{name}: {error.max()}")
        return met

    def compare_exact_row(self, compact: dict, exact: dict, name: str):
        method = name.removesuffix("_exact")
        self.assertIn(compact["arrays"][method]["dtype"], ("log8", "top"))
        tokens = exact["flow_output_tokens" if method == "flow" else "output_tokens"]
        row = DECODE(exact["arrays"][method])[:, tokens.index(exact["output_token"])]
        np.testing.assert_array_equal(DECODE(compact["arrays"][name]), row.astype(np.float32), name)

    def compare_top(self, compact: dict, name: str, array: dict, found: np.ndarray, expected: np.ndarray):
        found, expected = rows_of(array, found), rows_of(array, expected)
        sums = expected.sum(axis=-1)
        np.testing.assert_allclose(found.sum(axis=-1), sums, rtol=LOG_ERROR + 1e-3, err_msg=name)
        least = min(16, expected.shape[1])
        largest = np.sort(expected, axis=-1)[:, -least : -least + 1 or None][:, :1]
        kept = (expected >= largest) & (expected >= 1.001e-5 * expected.max(axis=-1, keepdims=True)) & (expected > 0)
        # Rows with more equal values than that keep the first of them.
        kept &= kept.sum(axis=-1, keepdims=True) <= least
        self.assertTrue(kept.any())
        error = np.abs(found - expected)[kept] / expected[kept]
        self.assertLessEqual(error.max(), LOG_ERROR + 2**-12, name)
        seen = visible(compact, name)
        if seen is not None:
            hidden = np.arange(found.shape[1])[None, :] >= np.array(seen)[:, None]
            self.assertEqual(found[hidden].max(initial=0.0), 0.0, name)


class SampleDocumentsTest(DocumentTest):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.samples = Path(temporary.name)
        subprocess.run([SAMPLES, cls.samples], check=True, capture_output=True, timeout=600)

    def test_every_sample_holds_the_numbers_of_its_report(self):
        met = {}
        for path in sorted(self.samples.glob("*.compact.json")):
            base = path.name.removesuffix(".compact.json")
            exact = self.samples / f"{base.removesuffix('-log8').removesuffix('-top')}.json"
            with self.subTest(base):
                compact = json.loads(path.read_text(encoding="utf-8"))
                met[base] = self.compare(compact, json.loads(exact.read_text(encoding="utf-8")))
                self.assertLess(path.stat().st_size, 7_200_000)
        self.assertGreater(len(met), 8)
        for base, dtypes in met.items():
            for ending in ("log8", "top"):
                if base.endswith(ending):
                    self.assertIn(ending, dtypes, base)
        self.assertTrue(any(base.startswith("generation") and "top" in met[base] for base in met), met)


class PageDocumentTest(DocumentTest):
    """The contents of pages, compared with --json of the same command."""

    def check(self, *arguments):
        exact = json.loads(self.run_program(*arguments, "-o", "a.html", "--json").stdout)
        page = (self.folder / "a.html").read_text(encoding="utf-8")
        document = re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.S)[1]
        return self.compare(json.loads(document), exact)

    def test_text(self):
        self.check("explain", "the key to the cabinets", "--model", MODELS / "bert_masked_lm", "--keep-attention")

    def test_attention_of_all_sizes(self):
        for tokens, layers, causal in ((7, 2, True), (150, 4, False), (200, 6, True)):
            with self.subTest(tokens):
                path = self.save_attention(random_attention(layers, 3, tokens, seed=tokens, causal=causal))
                self.check("explain", "--attention", path, "--keep-attention", "--method", "raw,rollout")


if __name__ == "__main__":
    unittest.main()
