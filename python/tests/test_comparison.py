"""Two reports side by side."""

from __future__ import annotations

import unittest

import numpy as np
import scipy.stats
from support import PackageTest, random_attention

import attnflow


class Comparison(PackageTest):
    def setUp(self) -> None:
        super().setUp()
        self.tokens = list("abcdef")
        self.a = attnflow.attribute(random_attention(seed=1), self.tokens)
        self.b = attnflow.attribute(random_attention(seed=2), self.tokens, layers="2-3", method=["rollout", "flow"])

    def test_differences_of_what_both_have(self) -> None:
        found = attnflow.compare(self.a, self.b)
        self.assertEqual(found.methods, ["rollout", "flow"])
        self.assertEqual(found.layers("rollout").tolist(), [2, 3])
        self.assert_same_bits(found.difference("rollout"), self.a.rollout[1:] - self.b.rollout)
        self.assert_same_bits(found.difference("flow"), self.a.flow[1:] - self.b.flow)

    def test_correlations_are_those_of_scipy(self) -> None:
        found = attnflow.compare(self.a, self.b).correlation()
        for layer in range(2):
            for row in range(6):
                expected = scipy.stats.spearmanr(self.a.rollout[layer + 1, row], self.b.rollout[layer, row]).statistic
                self.assertAlmostEqual(found[layer, row], expected, places=12)
        np.testing.assert_array_equal(attnflow.compare(self.a, self.a).correlation(), np.ones((3, 6)))

    def test_of_decoders_only_what_is_seen(self) -> None:
        a, b = (attnflow.attribute(random_attention(seed=seed, causal=True), method="rollout") for seed in (1, 2))
        found = attnflow.compare(a, b).correlation()
        self.assertTrue(np.isnan(found[:, 0]).all())
        expected = scipy.stats.spearmanr(a.rollout[2, 3, :4], b.rollout[2, 3, :4]).statistic
        self.assertAlmostEqual(found[2, 3], expected, places=12)

    def test_tables(self) -> None:
        found = attnflow.compare(self.a, self.b)
        frame = found.to_pandas()
        self.assertEqual(len(frame), 2 * 6 * 6)
        row = frame[(frame.layer == 3) & (frame.output_token == 4) & (frame.input_token == 1)].iloc[0]
        self.assertEqual((row.rollout_a, row.rollout_b), (self.a.rollout[2, 4, 1], self.b.rollout[1, 4, 1]))
        self.assertEqual(row.rollout_difference, found.difference()[1, 4, 1])
        self.assertEqual((row.output_text, row.input_text), ("e", "b"))
        self.assertEqual(found.to_arrow().column_names, list(frame.columns))

    def test_shows_both(self) -> None:
        found = attnflow.compare(self.a, self.b)
        self.assertEqual(found._repr_html_().count("<details id="), 2)
        self.assertIn("rollout: rank correlation", str(found))
        self.assertIn("attnflow.Comparison", repr(found))

    def test_refusals(self) -> None:
        other = attnflow.attribute(random_attention(), list("abcxef"))
        with self.assertRaisesRegex(attnflow.Error, "the same tokens, found 'd' and 'x' at 3"):
            attnflow.compare(self.a, other)
        with self.assertRaisesRegex(attnflow.Error, "the same tokens, found 6 and 4"):
            attnflow.compare(self.a, attnflow.attribute(random_attention(tokens=4), list("abcd")))
        with self.assertRaisesRegex(attnflow.Error, "a method that both reports have, found raw and rollout, flow"):
            attnflow.compare(attnflow.attribute(random_attention(), self.tokens, method="raw"), self.b)
        with self.assertRaisesRegex(attnflow.Error, "a layer that both reports have"):
            attnflow.compare(attnflow.attribute(random_attention(), self.tokens, layers=1), self.b)
        with self.assertRaisesRegex(attnflow.Error, "expected one of rollout, flow, found 'raw'"):
            attnflow.compare(self.a, self.b).difference("raw")
        with self.assertRaisesRegex(attnflow.Error, "expected two reports, found ndarray"):
            attnflow.compare(self.a, self.a.rollout)  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
