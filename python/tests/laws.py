"""What rollout and flow are, by NumPy's matrix products and SciPy's maximum flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import csgraph

# Products of float64 over a few dozen terms of size 1.
ROUNDING = 1e-13
# SciPy's capacities are rounded down: less than 2^-30 for each arc of a cut.
STEP = 2.0**-30


def mixed(attention: NDArray[Any], residual: float = 0.5) -> NDArray[np.float64]:
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
