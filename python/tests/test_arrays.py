"""Arrays in any form that frameworks have, and out without copies."""

from __future__ import annotations

import gc
import pickle
import unittest
from collections import OrderedDict
from typing import Any

import numpy as np
from support import PackageTest, random_attention

import attnflow


class OnlyDlpack:
    """An array of a framework that knows nothing of NumPy."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = array.shape

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class ArraysIn(PackageTest):
    def setUp(self) -> None:
        super().setUp()
        self.attention = random_attention(layers=3)
        self.expected = attnflow.rollout(self.attention)

    def assert_same(self, attentions: Any) -> None:
        self.assert_same_bits(attnflow.rollout(attentions), self.expected)

    def test_forms(self) -> None:
        layers = list(self.attention)
        with_batch = [layer[None] for layer in layers]
        self.assert_same(layers)
        self.assert_same(tuple(layers))
        self.assert_same(layer for layer in layers)
        self.assert_same(with_batch)
        self.assert_same(np.stack(with_batch))
        self.assert_same(OrderedDict(logits=None, attentions=tuple(with_batch)))
        cache = {f"blocks.{layer}.attn.hook_pattern": with_batch[layer] for layer in (2, 0, 1)}
        self.assert_same(cache | {"blocks.0.hook_resid_pre": None})

    def test_averaged_heads(self) -> None:
        fused = self.attention.mean(axis=1)
        self.assert_same_bits(attnflow.rollout(list(fused)), attnflow.rollout(fused[:, None]))
        finished = attnflow.rollout(list(fused), mixing="alti")
        self.assert_same_bits(finished, attnflow.rollout(fused, mixing="alti"))

    def test_steps_of_a_generation(self) -> None:
        whole = random_attention(layers=3, tokens=6, causal=True)
        layers = whole[:, None]  # [layer, 1, head, query, key]
        cached = [tuple(layer[:, :, :3, :3] for layer in layers)]
        cached += [tuple(layer[:, :, row : row + 1, : row + 1] for layer in layers) for row in (3, 4, 5)]
        again = [tuple(layer[:, :, :rows, :rows] for layer in layers) for rows in (3, 4, 5, 6)]
        two_at_once = [cached[0], tuple(layer[:, :, 3:5, :5] for layer in layers), cached[3]]
        expected = attnflow.rollout(whole)
        for steps in (cached, again, two_at_once, tuple(cached)):
            self.assert_same_bits(attnflow.rollout(steps), expected)
        window = [cached[0], tuple(layer[..., :3] for layer in cached[1])]
        with self.assertRaisesRegex(
            attnflow.Error, "expected step 1 of generate\\(\\) with 4 keys, found 3, as sliding"
        ):
            attnflow.rollout(window)
        with self.assertRaisesRegex(attnflow.Error, "as many layers in each step"):
            attnflow.rollout([cached[0], cached[1][:2]])

    def test_memory_of_any_order(self) -> None:
        self.assert_same(np.asfortranarray(self.attention))
        self.assert_same(np.repeat(self.attention, 2, axis=0)[::2])
        frozen = self.attention.copy()
        frozen.flags.writeable = False
        self.assert_same(frozen)
        self.assert_same([OnlyDlpack(layer.copy()) for layer in self.attention])

    def test_wide_and_whole_numbers(self) -> None:
        wide = self.attention.astype(np.float64)
        self.assert_same_bits(attnflow.rollout([wide[0], *self.attention[1:]]), attnflow.rollout(wide))
        identity = np.broadcast_to(np.eye(4, dtype=np.int64), (2, 1, 4, 4))
        self.assert_same_bits(attnflow.rollout(identity), np.broadcast_to(np.eye(4), (2, 4, 4)).copy())

    def test_torch(self) -> None:
        import torch

        layers = [torch.from_numpy(layer[None].copy()) for layer in self.attention]
        self.assert_same(tuple(layers))
        self.assert_same([layer.requires_grad_() for layer in layers])
        self.assert_same(torch.stack(layers).detach())
        for dtype in (torch.bfloat16, torch.float16):
            rounded = [layer.detach().to(dtype) for layer in layers]
            expected = attnflow.rollout([layer.float().numpy() for layer in rounded], any_weights=True)
            self.assert_same_bits(attnflow.rollout(rounded, any_weights=True), expected)


class Surface(PackageTest):
    def test_names(self) -> None:
        self.assertLessEqual(len([name for name in dir(attnflow) if not name.startswith("_")]), 15)

    def test_top_and_graph(self) -> None:
        report = attnflow.attribute(random_attention(), list("abcdef"), special=[True, *[False] * 5], output_token=2)
        ranked = report.top(3)
        self.assertEqual([text for _, text, _ in ranked], ["abcdef"[token] for token, _, _ in ranked])
        row = report.rollout[-1, 2]  # the answer's map over attention
        self.assertEqual([value for *_, value in ranked], sorted(row[1:], reverse=True)[:3])
        self.assertEqual(report.top(1, "flow")[0][2], report.flow[-1, 2, 1:].max())
        np.testing.assert_array_equal(report.graph(-1), report.graph(3))
        np.testing.assert_allclose(report.graph(1).sum(axis=1), 1, atol=1e-6)
        with self.assertRaisesRegex(attnflow.Error, "from 1 to 3, or from -3 to -1, found 4"):
            report.graph(4)
        rows = attnflow.attribute(random_attention(), only_output_token=True)
        with self.assertRaisesRegex(attnflow.Error, "found one of rows alone"):
            rows.graph(1)


class OneRow(PackageTest):
    """The row of one output token alone equals that of all output tokens, to the bit."""

    everything = ("raw", "rollout", "flow", "flow_gap", "flow_degenerate")

    def test_is_that_of_all(self) -> None:
        cases: list[dict[str, Any]] = [
            {},
            {"heads": "max", "residual": 0.3},
            {"heads": 1},
            {"layers": [1, 3, 4], "discard": 0.3, "mask_columns": [0]},
            {"start_layer": 1, "normalize": "receptive-field"},
            {"normalize": "row", "threads": 1},
        ]
        for causal in (False, True):
            attention = random_attention(layers=4, tokens=11, seed=2, causal=causal)
            for options in cases:
                for output in (0, 7, "last"):
                    with self.subTest(causal=causal, output=output, **options):
                        self.check(attention, {"layers": [2, 4], "output_token": output} | options)

    def test_of_contributions(self) -> None:
        contributions = random_attention(tokens=9).mean(axis=1, dtype=np.float64)
        for mixing in ("alti", "value-zeroing"):
            self.check(contributions, {"mixing": mixing, "layers": [1, 2, 3], "output_token": 4})

    def test_is_above_the_limit_of_all_flows(self) -> None:
        attention = random_attention(layers=3, heads=1, tokens=140, causal=True)
        self.check(attention, {"layers": [2, 3], "output_token": 130})

    def check(self, attention: Any, options: dict[str, Any]) -> None:
        asked = {"method": ["raw", "rollout", "flow"]} | options
        every = attnflow.attribute(attention, **asked)
        one = attnflow.attribute(attention, only_output_token=True, **asked)
        self.assertEqual(one.output_tokens.tolist(), [every.output_token])
        self.assertEqual(one.flow_output_tokens.tolist(), [every.output_token])
        self.assertEqual((one.output_token, one.layers.tolist()), (every.output_token, every.layers.tolist()))
        self.assertEqual(
            [note for note in one.notes if "flow" not in note], [n for n in every.notes if "flow" not in n]
        )
        for name in self.everything:
            outputs = every.flow_output_tokens if name.startswith("flow") else every.output_tokens
            row = outputs.tolist().index(every.output_token)
            self.assert_same_bits(getattr(one, name), getattr(every, name)[:, row : row + 1].copy(), name)
        for function in (attnflow.raw, attnflow.rollout, attnflow.flow):
            values = function(attention, only_output_token=True, **options)
            self.assert_same_bits(values, getattr(one, function.__name__), function.__name__)

    def test_layers_multiplied_as_they_come_have_the_bits_of_the_graph(self) -> None:
        for causal in (False, True):
            attention = random_attention(layers=4, tokens=70, causal=causal)
            attention[:, :, 40:] *= 0.5  # a decoder whose first token takes much, which a note says
            attention[:, :, 40:, 0] += 0.5
            for options in (
                {},
                {"layers": [4, 2], "start_layer": 1},
                {"heads": "max", "residual": 0.2, "renormalize": True},
                {"normalize": "receptive-field", "layers": 3},
                {"normalize": "row", "heads": "min"},
                {"any_weights": True, "output_token": 65},
                {"mask_columns": "first"},
                {"discard": 0.3},
                {"heads": "1"},
            ):
                with self.subTest(causal=causal, options=options):
                    asked: dict[str, Any] = {"method": ["raw", "rollout"]} | options
                    every = attnflow.attribute(attention, **asked)
                    for function in (attnflow.raw, attnflow.rollout):
                        expected = getattr(every, function.__name__)
                        self.assert_same_bits(function(attention, **options), expected)
                    asked["layers"] = every.layers.tolist()
                    one = attnflow.attribute(attention, only_output_token=True, **asked)
                    self.assertEqual(one.notes, every.notes)
                    row = slice(every.output_token, every.output_token + 1)
                    self.assert_same_bits(one.raw, every.raw[:, row].copy())
                    self.assert_same_bits(one.rollout, every.rollout[:, row].copy())
        with self.assertRaisesRegex(attnflow.Error, "expected"):
            attnflow.rollout(attention, layers=5)
        with self.assertRaisesRegex(attnflow.Error, "one shape"):
            attnflow.rollout([random_attention(tokens=4)[0], random_attention(tokens=5)[0]])

    def test_usual_layers_and_methods(self) -> None:
        attention = random_attention()
        report = attnflow.attribute(attention, only_output_token=True)
        self.assertEqual((report.methods, report.layers.tolist()), (["raw", "rollout"], [3]))
        self.assert_same_bits(attnflow.flow(attention, only_output_token=True), attnflow.flow(attention)[2:, :1].copy())
        self.assertEqual(attnflow.attribute(attention, only_output_token=False).methods, ["raw", "rollout", "flow"])

    def test_shows_itself(self) -> None:
        report = attnflow.attribute(random_attention(), list("abcdef"), method="flow", only_output_token=True)
        self.assertIn("<svg", report.to_svg(view="heatmap"))
        paper = report.to_svg(view="heatmap", width="84mm", font_size=8, notes=False)
        self.assertIn(' width="84mm"', paper)
        self.assertNotIn('id="attnflow-title"', paper)
        self.assertIn("<html", report.to_html())
        self.assertEqual(attnflow.Report.from_json(report.to_json()).to_json(), report.to_json())
        self.assertEqual(report.to_pandas()["output_token"].tolist(), [0] * 6)
        self.assertEqual(pickle.loads(pickle.dumps(report)).to_csv(), report.to_csv())

    def test_refuses_what_needs_more_rows(self) -> None:
        refused: list[tuple[str, dict[str, Any]]] = [
            ("only_output_token: expected no keep_attention", {"keep_attention": True}),
            ("only_output_token: expected no certificate", {"certificate": "0,1"}),
            ("only_output_token: expected one output_token, found all", {"output_token": "all"}),
        ]
        for words, options in refused:
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.attribute(random_attention(), only_output_token=True, **options)


class ArraysOut(PackageTest):
    def test_no_copies(self) -> None:
        report = attnflow.attribute(random_attention())
        for name in ("raw", "rollout", "flow", "flow_gap", "flow_degenerate", "layers", "output_tokens"):
            first, second = getattr(report, name), getattr(report, name)
            self.assertEqual(first.ctypes.data, second.ctypes.data, name)
            self.assertFalse(first.flags.writeable, name)
            self.assertTrue(first.flags.c_contiguous, name)
        self.assertEqual(report.layers.dtype, np.int64)

    def test_arrays_outlive_the_report(self) -> None:
        attention = random_attention(tokens=40)
        report = attnflow.attribute(attention, method="rollout")
        rollout = report.rollout
        copy = rollout.copy()
        del report
        gc.collect()
        for seed in range(5):  # what would take its memory
            attnflow.attribute(random_attention(tokens=40, seed=seed), method="rollout")
        self.assert_same_bits(rollout, copy)

    def test_rows_of_flow(self) -> None:
        attention = random_attention(layers=1, heads=1, tokens=130)
        report = attnflow.attribute(attention, output_token=7)
        self.assertEqual(report.flow.shape, (1, 1, 130))
        self.assertEqual(report.flow_output_tokens.tolist(), [7])
        self.assertEqual(len(report.output_tokens), 130)
        flow = report.columns()["flow"].reshape(130, 130)
        self.assertTrue(np.isnan(np.delete(flow, 7, axis=0)).all())
        self.assert_same_bits(flow[7], report.flow[0, 0])
        self.assertEqual(attnflow.flow(attention, output_token="all").shape, (1, 130, 130))

    def test_tables(self) -> None:
        report = attnflow.attribute(random_attention(), [f"t{i}" for i in range(6)], special=[True] + 5 * [False])
        frame = report.to_pandas()
        self.assertEqual(len(frame), 3 * 6 * 6)
        row = frame[(frame.layer == 2) & (frame.output_token == 4) & (frame.input_token == 1)].iloc[0]
        self.assertEqual((row.output_text, row.input_text, row.input_special), ("t4", "t1", False))
        self.assertEqual((row.raw, row.flow), (report.raw[1, 4, 1], report.flow[1, 4, 1]))
        table = report.to_arrow()
        self.assertEqual(table.column_names, list(frame.columns))
        self.assertEqual(table["rollout"].to_pylist(), report.rollout.ravel().tolist())

    def test_pickles(self) -> None:
        report = attnflow.attribute(random_attention(), keep_attention=True, layers=[2, 3], name="tiny")
        again = pickle.loads(pickle.dumps(report))
        self.assertEqual(again.to_json(), report.to_json())
        for name in ("raw", "rollout", "flow", "flow_gap", "attention"):
            self.assert_same_bits(getattr(again, name), getattr(report, name), name)
        self.assertEqual(str(again), str(report))
        self.assertEqual(attnflow.Report.from_json(report.to_json()).notes, report.notes)
        with self.assertRaisesRegex(attnflow.Error, "expected"):
            attnflow.Report.from_json("{}")

    def test_what_was_not_asked_for(self) -> None:
        report = attnflow.attribute(random_attention(), method="raw")
        self.assertEqual(report.methods, ["raw"])
        with self.assertRaisesRegex(attnflow.Error, r"expected values of flow, found only raw"):
            _ = report.flow_gap
        kept = attnflow.attribute(random_attention(), method="raw", keep_attention=True)
        self.assert_same_bits(kept.attention, random_attention())


if __name__ == "__main__":
    unittest.main()
