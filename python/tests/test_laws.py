"""The numbers: against NumPy's matrix products and SciPy's maximum flow."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import csgraph
from support import PackageTest, random_attention

import attnflow

# Products of float64 over a few dozen terms of size 1.
ROUNDING = 1e-13


def mixed(attention: NDArray[np.float32], residual: float = 0.5) -> NDArray[np.float64]:
    """A_l = (1 - rho) W_l + rho I, heads fused by their mean."""
    fused = attention.astype(np.float64).mean(axis=1)
    matrices: NDArray[np.float64] = (1.0 - residual) * fused + residual * np.eye(fused.shape[-1])
    return matrices


def maximum_flow(matrices: NDArray[np.float64], output: int, source: int) -> float:
    """From the output token above the last matrix down to the input token, in steps of 2^-30."""
    layers, n, _ = matrices.shape
    blocks: list[list[Any]] = [[None] * (layers + 1) for _ in range(layers + 1)]
    for depth, matrix in enumerate(matrices[::-1]):
        blocks[depth][depth + 1] = scipy.sparse.csr_matrix(np.floor(matrix * 2**30).astype(np.int32))
    blocks[layers][0] = scipy.sparse.csr_matrix((n, n), dtype=np.int32)
    network = scipy.sparse.csr_matrix(scipy.sparse.bmat(blocks), dtype=np.int32)
    return float(csgraph.maximum_flow(network, output, layers * n + source).flow_value) / 2**30


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
                        # SciPy's capacities are rounded down: less than 2^-30 for each of at most 50 arcs of a cut.
                        self.assertGreaterEqual(low + report.flow_gap[layer, output, source], expected)
                        self.assertLessEqual(low, expected + 50 * 2.0**-30)
            self.assertTrue(np.all(report.rollout <= report.flow + report.flow_gap + ROUNDING))

    def test_flow_of_one_layer_is_that_layer(self) -> None:
        attention = random_attention(layers=1)
        np.testing.assert_allclose(attnflow.flow(attention)[0], mixed(attention)[0], atol=1e-6)


if __name__ == "__main__":
    unittest.main()
