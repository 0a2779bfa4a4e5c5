"""Errors use the words of the program."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np
from attnflow.hints import Options
from support import PackageTest, random_attention

import attnflow


class Errors(PackageTest):
    def refuse(self, words: str, attentions: Any, /, kind: str = "bad_input", **options: Any) -> None:
        with self.assertRaises(attnflow.Error) as caught:
            attnflow.attribute(attentions, **options)
        self.assertIn(words, str(caught.exception))
        self.assertEqual(caught.exception.kind, kind)

    def test_weights(self) -> None:
        good = random_attention()
        for value, words in ((np.nan, "found nan"), (np.inf, "found inf"), (-0.5, "found -0.5")):
            bad = good.copy()
            bad[1, 0, 2, 3] = value
            self.refuse(f"expected weights from 0 to 3.4e38, {words} at layer 2, head 0, query 2, key 3", bad)
        self.refuse("expected attention rows that sum to 1 within 0.001", good * np.float32(1.01))
        self.refuse("pass renormalize to divide each row by its sum, or any_weights", good * np.float32(1.01))

    def test_shapes(self) -> None:
        good = random_attention()
        self.refuse("found [0, 2, 6, 6]", good[:0])
        self.refuse("expected as many queries as keys", good[..., :4, :], any_weights=True)
        self.refuse("expected layers of one shape", [good[0], good[1][:, :4, :4]], any_weights=True)
        self.refuse("found a batch of 2 in layer 1", [np.stack([good[0], good[1]])])
        self.refuse("found [2]", np.ones(2))
        self.refuse("expected an array of floats of at most 64 bits, found <U1", [["a"]])
        self.refuse("expected an array of floats of at most 64 bits, found complex128", good.astype(complex))
        self.refuse("expected 6 tokens (one for each key of attention), found 2", good, tokens=["a", "b"])
        self.refuse("expected 6 special flags", good, special=[True])
        self.refuse("output_attentions=True", {"logits": good})
        self.refuse("found [2, 6, 6], in which one dimension is missing: attention[:, None] adds the head", good[0])
        self.refuse("take one input of the batch", np.stack([good, good]))
        self.refuse("np.moveaxis(attention, -1, 1)", np.moveaxis(good, 1, -1))

    def test_options_of_any_depth(self) -> None:
        good = random_attention()
        itself: list[Any] = []
        itself.append(itself)
        self.refuse("layers: expected a number, a text, or a list of these", good, kind="usage", layers=itself)
        self.refuse("residual: expected a finite number, found nan", good, kind="usage", residual=np.nan)
        attnflow.attribute(good, **{"renormalize": np.bool_(True)})  # type: ignore[arg-type]

    def test_texts_without_an_encoding(self) -> None:
        good = random_attention()
        half: dict[str, Any] = {"tokens": ["\ud800"] * 6, "name": "\ud800", "heads": "\ud800"}
        for name, value in half.items():
            words = f"{name}: expected a text of Unicode characters, found half of a surrogate pair"
            self.refuse(words, good, kind="usage", **{name: value})
        self.refuse("found '\\ud800'", good, kind="usage", **{"\ud800": 1})

    def test_forms(self) -> None:
        good = random_attention()
        self.refuse("blocks.0.attn.hook_pattern is missing", {"blocks.1.attn.hook_pattern": good[:1]})
        for names in (["cross_attentions"], ["decoder_attentions", "cross_attentions"]):
            outputs = dict.fromkeys(names, good)
            self.refuse(f"found an encoder-decoder's output ({', '.join(names)})", outputs)
        self.refuse("pass its attentions, as output[1]", (np.ones((1, 6, 9)), tuple(good[:, None])))
        self.refuse("expected an array without a mask", np.ma.masked_array(good, good > 0.5))  # type: ignore[no-untyped-call]
        self.refuse("found []", np.float64(1.0))
        other = attnflow.attribute(good.astype(good.dtype.newbyteorder()))
        np.testing.assert_array_equal(other.rollout, attnflow.attribute(good).rollout)

    def test_models_that_give_no_attention(self) -> None:
        good = random_attention()
        for found, absent in (
            ("expected at least one layer, found none", ()),
            ("found none", None),
            ("found none", {"attentions": None}),
            ("(nothing for each of 3 layers)", (None, None, None)),
            ("(nothing for each of 2 layers)", {"attentions": (None, None)}),
        ):
            with self.subTest(absent=absent):
                for words in (found, 'attn_implementation="eager"', "attnflow.capture(model)"):
                    self.refuse(words, absent)
        self.refuse("found None in layer 2 (1 of 3), as layers without attention have", [good[0], None, good[2]])

    def test_rows_of_zeros(self) -> None:
        padded = random_attention()
        padded[:, :, 4:] = 0.0
        padded[:, :, :, 4:] = 0.0
        self.refuse("found 12 rows of zeros, the first at layer 1, head 0, query 4", padded)
        report = attnflow.attribute(padded, renormalize=True)
        np.testing.assert_allclose(report.rollout.sum(axis=-1), 1.0, atol=1e-12)
        self.assert_same_bits(report.rollout[:, 4:], np.broadcast_to(np.eye(6)[4:], (3, 2, 6)).copy())
        alone = attnflow.attribute(padded[:, :, :4, :4], renormalize=True)
        self.assert_same_bits(report.rollout[:, :4, :4].copy(), alone.rollout.copy())
        self.assertIn(
            "12 rows of the attention held zeros alone (layers 1 to 3, heads 0 to 1, positions 4 to 5): each such position "
            "keeps only itself there. If these positions are padding, leave them out of the attention.",
            report.notes,
        )

    def test_names_of_tokens(self) -> None:
        good = random_attention()
        for words, tokens in (
            ("found str; pass tokens.split(), or a list", "abcdef"),
            ("found bytes", b"abcdef"),
            ("found int at 0; pass tokenizer.convert_ids_to_tokens(ids)", list(range(6))),
            ("found bytes at 5", ["a", "b", "c", "d", "e", b"f"]),
            ("convert_ids_to_tokens(encoding.input_ids)", {"input_ids": [1] * 6}),
        ):
            self.refuse(words, good, kind="usage", tokens=tokens)
        self.assertEqual(attnflow.attribute(good, [*np.array(list("abcdef"))]).tokens, list("abcdef"))

    def test_names_of_options(self) -> None:
        good = random_attention()
        calls: list[tuple[Any, dict[str, Any], str]] = [
            (attnflow.attribute, {"metod": "flow"}, "found 'metod'; did you mean 'method'"),
            (attnflow.rollout, {"resdiual": 0.5}, "did you mean 'residual'"),
            (attnflow.attribute, {"token": ["a"]}, "did you mean 'tokens'"),
            (attnflow.attribute, {"output_token": -7}, "expected at least -6, which is the first of 6, found -7"),
            (attnflow.attribute, {"layers": -4}, "layers: expected at least -3, which is the first of 3, found -4"),
        ]
        for function, options, words in calls:
            with self.subTest(**options), self.assertRaises(attnflow.Error) as caught:
                function(good, **options)
            self.assertIn(words, str(caught.exception))
            self.assertEqual(caught.exception.kind, "usage")
        with self.assertRaisesRegex(attnflow.Error, "did you mean 'temperature'"):
            attnflow.generate(None, None, "a", temprature=1.0)  # type: ignore[call-arg]
        self.assertEqual(attnflow.attribute(good, output_token=-1).output_token, 5)
        self.assertEqual(attnflow.attribute(good, output_token=-2).output_token, 4)
        self.assertEqual(attnflow.attribute(good, layers=[-3, -1]).layers.tolist(), [1, 3])

    def test_figures_and_show(self) -> None:
        report = attnflow.attribute(random_attention())
        refused: list[tuple[str, dict[str, Any]]] = [
            ("found 'veiw'; did you mean 'view'\\? \\(options: view, .*\\)", {"veiw": "graph"}),
            ("expected view as a text, .* found layers=2", {"layers": 2}),
            ("width: expected a length above 0 with its unit.*found '3.3'", {"width": "3.3"}),
            ("^width: expected at least .*found 0.3in", {"width": "0.3in"}),
            ("^font_size: expected 2 to 72 points, found 100", {"font_size": 100}),
            ("expected view as a text, .* found font_size='8'", {"font_size": "8"}),
        ]
        for words, options in refused:
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                report.to_svg(**options)
        with self.assertRaisesRegex(attnflow.Error, "expected only a report, found tokens as well"):
            attnflow.show(report, ["a"])

    def test_contributions(self) -> None:
        good = random_attention()
        self.refuse("mixing alti: expected finished contributions", good, kind="usage", mixing="alti")
        self.refuse("found [0, 5, 5]", np.zeros((0, 5, 5)), mixing="alti")

    def test_options(self) -> None:
        good = random_attention()
        for words, options in (
            ("residual: expected a weight from 0 to 1, found 2", {"residual": 2}),
            ("heads: expected mean, max, min or the index of a head, found 'median'", {"heads": "median"}),
            ('expected a number, found "much"', {"residual": "much"}),
            ("residual: expected a number, a text, or a list of these, found object", {"residual": object()}),
            ("flow_tolerance: expected", {"flow_tolerance": 0.0}),
            ("the number of one head, from 0, found a list of 2; explain one head at a time", {"heads": [0, 1]}),
            ("expected a known option, found 'residuum'; did you mean 'residual'? (options: ", {"residuum": 0.5}),
            ("layers: expected layers from 1, found 0", {"layers": [0]}),
            ("output_token", {"output_token": 6}),
            ("renormalize and any_weights are mutually exclusive", {"renormalize": True, "any_weights": True}),
            ("words requires a text and a tokenizer", {"words": True}),
            ("requires a text and a model", {"mixing": "gradient"}),
        ):
            with self.subTest(**options):
                self.refuse(words, good, kind="usage", **options)
        with self.assertRaisesRegex(attnflow.Error, "attribute\\(\\) takes several"):
            attnflow.rollout(good, method="flow")  # type: ignore[call-arg]

    def test_options_of_numpy(self) -> None:
        good = random_attention()
        expected = attnflow.rollout(good, residual=0.25, layers=[2], heads=1)
        of_numpy: dict[str, Any] = {"residual": np.float64(0.25), "layers": np.array([2]), "heads": np.int32(1)}
        found = attnflow.rollout(good, **of_numpy)
        self.assert_same_bits(found, expected)
        self.assert_same_bits(attnflow.rollout(good, residual=0.25, layers=2, heads="1"), expected)
        not_given: dict[str, Any] = {"residual": None}
        self.assert_same_bits(attnflow.rollout(good, **not_given), attnflow.rollout(good))

    def test_what_users_wrote_is_quoted_as_it_is(self) -> None:
        good = random_attention()
        self.refuse(
            "heads: expected mean, max, min or the index of a head, found '--top-k'", good, "usage", heads="--top-k"
        )
        self.refuse("found 'it's --top-k'", good, "usage", output_token="it's --top-k")

    def test_options_are_named_as_in_python(self) -> None:
        attention = np.zeros((4, 1, 6, 6), np.float32)
        attention[..., 0] = 1.0
        report = attnflow.attribute(attention, ["--top-k", "b", "c", "d", "e", "f"])
        self.assertTrue(any("layers" in note for note in report.notes), report.notes)
        table = str(report)
        self.assertIn("Note: ", table)
        self.assertNotRegex(table.replace("--top-k", ""), r"(^|[ (])--[a-z]")
        self.assertIn("--top-k", table)

    def test_help_offers_what_works(self) -> None:
        good = random_attention()
        offered = {
            function: {name for name in Options.__annotations__ if f"\n    {name} (" in (function.__doc__ or "")}
            for function in (attnflow.attribute, attnflow.rollout, attnflow.explain)
        }
        for options in offered.values():
            self.assertTrue({"residual", "layers"} <= options)
            self.assertFalse({"target", "against"} & options)
        self.assertNotIn("words", offered[attnflow.attribute])
        self.assertNotIn("method", offered[attnflow.rollout])
        self.assertNotIn("gradient", attnflow.attribute.__doc__ or "")
        usual: dict[str, Any] = {"method": "raw", "mixing": "attention", "layers": 1, "certificate": "0,1"}
        usual |= {"referents": ["a", "b"], "heads": 0, "output_token": 1, "mask_columns": [0], "normalize": "row"}
        for name in offered[attnflow.attribute]:
            if name in usual:
                attnflow.attribute(good, list("abcdef"), **{name: usual[name]})

    def test_errors_survive_other_processes(self) -> None:
        error = attnflow.Error("expected 1, found 2", kind="usage")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.kind), (str(error), "usage"))

    def test_files(self) -> None:
        report = attnflow.attribute(random_attention())
        with self.assertRaises(attnflow.Error) as caught:
            report.to_npz(self.folder / "no" / "report.npz")
        self.assertEqual(caught.exception.kind, "other")
        with self.assertRaisesRegex(attnflow.Error, r"ending in \.svg"):
            report.to_svg(self.folder / "report.png")
        with self.assertRaisesRegex(attnflow.Error, "view: expected one of answer, overview"):
            report.to_svg(view="all")  # type: ignore[call-overload]


if __name__ == "__main__":
    unittest.main()
