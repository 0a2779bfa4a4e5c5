"""Helpers of the package's tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tools"))  # for tools/reference
PROGRAM = os.environ.get("ATTNFLOW", str(ROOT / "build" / "release" / "bin" / "attnflow"))


def random_attention(
    layers: int = 3, heads: int = 2, tokens: int = 6, seed: int = 1, causal: bool = False
) -> NDArray[np.float32]:
    """Softmax of normal scores: [layer, head, query, key]."""
    scores = np.random.default_rng(seed).normal(0.0, 2.0, (layers, heads, tokens, tokens))
    if causal:
        scores = np.where(np.tri(tokens, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attention: NDArray[np.float32] = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    return attention


class PackageTest(unittest.TestCase):
    """Has an empty folder, self.folder."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_program(self, *arguments: Any) -> None:
        command = [PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")

    def assert_same_bits(self, found: NDArray[Any], expected: NDArray[Any], what: str = "") -> None:
        self.assertEqual(found.dtype, expected.dtype, what)
        self.assertEqual(found.shape, expected.shape, what)
        self.assertEqual(found.tobytes(), expected.tobytes(), what)
