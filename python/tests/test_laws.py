"""The numbers: against NumPy's matrix products and SciPy's maximum flow."""

from __future__ import annotations

import unittest

import numpy as np
from laws import ROUNDING, STEP, maximum_flow, mixed
from support import PackageTest, random_attention

import attnflow


class Laws(PackageTest):
    def test_raw_is_the_mean_over_heads(self) -> None:
        attention = random_attention()
        np.testing.assert_allclose(attnflow.raw(attention), attention.astype(float).mean(axis=1), atol=ROUNDING)
        np.testing.assert_allclose(attnflow.raw(attention, heads=1), attention[:, 1], atol=ROUNDING)

    def test_rollout_is_the_product(self) -> None:
        for residual in (0.0, 0.5, 0.8):
            attention = random_attention(layers=4, seed=3)
            product = np.eye(attention.shape[-1])
            found = attnflow.rollout(attention, residual=residual)
            for layer, matrix in enumerate(mixed(attention, residual)):
                product = matrix @ product
                np.testing.assert_allclose(found[layer], product, atol=ROUNDING)

    def test_flow_is_the_maximum_flow(self) -> None:
        for causal in (False, True):
            attention = random_attention(layers=3, tokens=5, seed=7, causal=causal)
            report = attnflow.attribute(attention)
            matrices = mixed(attention)
            for layer in range(3):
                for output in range(5):
                    for source in range(5):
                        expected = maximum_flow(matrices[: layer + 1], output, source)
                        low = report.flow[layer, output, source]
                        self.assertGreaterEqual(low + report.flow_gap[layer, output, source], expected)
                        self.assertLessEqual(low, expected + 50 * STEP)  # a cut has at most 50 arcs
            self.assertTrue(np.all(report.rollout <= report.flow + report.flow_gap + ROUNDING))

    def test_flow_of_one_layer_is_that_layer(self) -> None:
        attention = random_attention(layers=1)
        np.testing.assert_allclose(attnflow.flow(attention)[0], mixed(attention)[0], atol=1e-6)


if __name__ == "__main__":
    unittest.main()
