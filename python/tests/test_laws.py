"""Raw attention, rollout and flow of arrays, compared with tools/reference."""

from __future__ import annotations

import unittest

import numpy as np
from support import PackageTest, random_attention

import attnflow
from reference.attention_graph import AttentionGraph
from reference.max_flow import Network

# Products of float64 over a few dozen terms of size 1.
ROUNDING = 1e-13


class Laws(PackageTest):
    def test_raw_is_the_mean_over_heads(self) -> None:
        attention = random_attention()
        np.testing.assert_allclose(attnflow.raw(attention), attention.astype(float).mean(axis=1), atol=ROUNDING)
        np.testing.assert_allclose(attnflow.raw(attention, heads=1), attention[:, 1], atol=ROUNDING)

    def test_rollout_is_the_product(self) -> None:
        for residual in (0.0, 0.5, 0.8):
            attention = random_attention(layers=4, seed=3)
            expected = AttentionGraph(attention, residual=residual).rollout()
            np.testing.assert_allclose(attnflow.rollout(attention, residual=residual), expected, atol=ROUNDING)

    def test_flow_is_the_maximum_flow(self) -> None:
        for causal in (False, True):
            attention = random_attention(layers=3, tokens=5, seed=7, causal=causal)
            report = attnflow.attribute(attention)
            graph = AttentionGraph(attention)
            for layer in range(3):
                low, high = Network(graph.matrices(layer + 1)).enclosures()
                self.assertTrue(np.all(report.flow[layer] + report.flow_gap[layer] >= low - ROUNDING))
                self.assertTrue(np.all(report.flow[layer] <= high + ROUNDING))
            self.assertTrue(np.all(report.rollout <= report.flow + report.flow_gap + ROUNDING))

    def test_flow_of_one_layer_is_that_layer(self) -> None:
        attention = random_attention(layers=1)
        np.testing.assert_allclose(attnflow.flow(attention), AttentionGraph(attention).top, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
