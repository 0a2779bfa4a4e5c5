"""The same arrays give the same numbers, and the same files, as `attnflow explain --attention`."""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support import PackageTest, random_attention

import attnflow


class SameAsProgram(PackageTest):
    tokens = ["[CLS]", "the", "key", "##s", "are", "[SEP]"]
    special = [True, False, False, False, False, True]

    def written(self, path: Path, **arrays: NDArray[Any]) -> Path:
        np.savez(path, allow_pickle=False, **arrays)
        return path

    def assert_same_arrays(self, report: attnflow.Report, path: Path) -> None:
        with np.load(path) as expected:
            for name in ("raw", "rollout", "flow", "flow_gap", "flow_degenerate", "layers", "output_tokens"):
                if name in expected:
                    self.assert_same_bits(getattr(report, name), expected[name], name)
                else:
                    self.assertNotIn(name, report.methods)

    def test_numbers(self) -> None:
        cases: list[dict[str, Any]] = [
            {},
            {"heads": "max", "residual": 0.3},
            {"heads": 1, "layers": [2, 3]},
            {"method": ["rollout", "flow"], "start_layer": 1},
            {"discard": 0.4, "mask_columns": [0, 5]},
            {"normalize": "row", "output_token": "##s"},
            {"normalize": "receptive-field", "flow_tolerance": 1e-9},
            {"threads": 1, "top_k": 3},
            {"only_output_token": True},
            {"only_output_token": True, "method": ["raw", "rollout", "flow"], "layers": [1, 3], "output_token": 2},
        ]
        for causal in (False, True):
            attention = random_attention(causal=causal)
            path = self.written(
                self.folder / "a.npz", attention=attention, tokens=np.array(self.tokens), special=np.array(self.special)
            )
            for options in cases:
                with self.subTest(causal=causal, **options):
                    arguments = []
                    for name, value in options.items():
                        arguments.append("--" + name.replace("_", "-"))
                        if value is not True:
                            arguments.append(",".join(map(str, value)) if isinstance(value, list) else str(value))
                    self.run_program("explain", "--attention", path, *arguments, "-o", "out.npz")
                    report = attnflow.attribute(attention, self.tokens, special=self.special, **options)
                    self.assert_same_arrays(report, self.folder / "out.npz")

    def test_types_of_floats(self) -> None:
        for dtype in (np.float16, np.float32, np.float64):
            with self.subTest(dtype=dtype):
                attention = random_attention(seed=5).astype(dtype)
                path = self.written(self.folder / "a.npz", attention=attention)
                self.run_program("explain", "--attention", path, "-o", "out.npz")
                self.assert_same_arrays(attnflow.attribute(attention), self.folder / "out.npz")

    def test_rows_that_do_not_sum_to_1(self) -> None:
        attention = random_attention() * np.float32(1.5)
        path = self.written(self.folder / "a.npz", attention=attention)
        self.run_program("explain", "--attention", path, "--renormalize", "-o", "out.npz")
        self.assert_same_arrays(attnflow.attribute(attention, renormalize=True), self.folder / "out.npz")
        self.run_program("explain", "--attention", path, "--any-weights", "-o", "out.npz")
        self.assert_same_arrays(attnflow.attribute(attention, any_weights=True), self.folder / "out.npz")

    def test_contributions(self) -> None:
        contributions = random_attention().mean(axis=1, dtype=np.float64)
        path = self.written(self.folder / "a.npz", contributions=contributions)
        self.run_program("explain", "--attention", path, "--mixing", "alti", "-o", "out.npz")
        report = attnflow.attribute(contributions, mixing="alti")
        self.assert_same_arrays(report, self.folder / "out.npz")
        self.assertEqual(report.settings["mixing"], "alti")

    def test_files(self) -> None:
        attention = random_attention()
        self.written(
            self.folder / "a.npz", attention=attention, tokens=np.array(self.tokens), special=np.array(self.special)
        )
        report = attnflow.attribute(
            attention, self.tokens, special=self.special, name="a.npz", keep_attention=True, certificate="0,3"
        )
        expected = self.folder / "program"
        found = self.folder / "python"
        expected.mkdir()
        found.mkdir()
        endings = ("json", "csv", "npz", "safetensors", "html", "svg", "png", "pdf")
        outputs = [argument for ending in endings for argument in ("-o", expected / f"report.{ending}")]
        self.run_program("explain", "--attention", "a.npz", "--keep-attention", "--certificate", "0,3", *outputs)
        for ending in endings:
            getattr(report, f"to_{ending}")(found / f"report.{ending}")
            self.assertEqual(
                (found / f"report.{ending}").read_bytes(), (expected / f"report.{ending}").read_bytes(), ending
            )
        self.assertEqual(report.to_json(), (expected / "report.json").read_text(encoding="utf-8"))
        self.assertEqual(report.to_csv(), (expected / "report.csv").read_text(encoding="utf-8"))
        self.assertEqual(report.to_html(), (expected / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(report.to_svg(), (expected / "report.svg").read_text(encoding="utf-8"))
        self.assertEqual(report.to_png(), (expected / "report.png").read_bytes())


if __name__ == "__main__":
    unittest.main()
