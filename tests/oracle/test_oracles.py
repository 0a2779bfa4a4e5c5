"""Tests of the oracles themselves: they pass correct results, find errors, and never pass if they cannot check."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def minimum_cut(blocks, source, sink):
    """The smallest cut, found by trying every set of inner nodes: for tiny networks only, without a solver."""
    n = blocks[0].shape[0]
    sets = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 > 0
    # cost[s]: the cheapest way to cut everything above if set s of this level is on the source's side.
    cost = np.where(np.arange(2**n) == 2**source, 0.0, np.inf)
    for block in blocks:
        across = sets.astype(float) @ block @ (~sets).astype(float).T
        cost = (cost[:, None] + across).min(axis=0)
    return cost[~sets[:, sink]].min()


def make_dump(layers=4, heads=2, n=5, causal=False, rho=0.5, seed=3):
    random = np.random.RandomState(seed)
    logits = 3.0 * random.standard_normal((layers, heads, n, n))
    if causal:
        logits += np.where(np.tri(n, dtype=bool), 0.0, -np.inf)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    attention = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    raw = attention.astype(np.float64).mean(axis=1)
    mixing = (1 - rho) * raw + rho * np.eye(n)
    rollout, flow, flags = [], [], []
    for layer in range(1, layers + 1):
        blocks = [mixing[k] for k in range(layer - 1, -1, -1)]
        product = np.linalg.multi_dot(blocks) if layer > 1 else blocks[0]
        rollout.append(product)
        values = np.array([[minimum_cut(blocks, i, j) for j in range(n)] for i in range(n)])
        flow.append(blocks[0] if layer == 1 else values)
        # With a residual, i reaches exactly the nodes where product is positive.
        column = (product > 0).astype(float) @ mixing[0] if not causal else np.tri(n) @ mixing[0]
        row = blocks[0].copy() @ (np.ones((n, n)) if not causal else np.tri(n))
        flag = np.where(column - values <= 1e-6, 1, np.where(row - values <= 1e-6, 2, 0))
        flags.append(np.zeros((n, n)) if layer == 1 else np.where(np.minimum(row, column) > 0, flag, 0))
    return {
        "tokens": np.array([f"token{i}" for i in range(n)]),
        "layers": np.arange(1, layers + 1),
        "output_tokens": np.arange(n),
        "attention": attention,
        "raw": raw,
        "rollout": np.stack(rollout),
        "flow": np.stack(flow),
        "flow_gap": np.zeros((layers, n, n)),
        "flow_degenerate": np.stack(flags).astype(np.uint8),
    }


class OracleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "dump.npz"

    def run_oracle(self, name, arrays, *arguments):
        np.savez(self.path, **arrays)
        command = [sys.executable, str(HERE / f"{name}_oracle.py"), str(self.path), *arguments]
        result = subprocess.run(command, capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def expect(self, status, name, arrays, *arguments, says=""):
        found, output = self.run_oracle(name, arrays, *arguments)
        self.assertEqual(found, status, output)
        self.assertIn(says, output)

    def test_right_values_pass(self):
        for causal in (False, True):
            arrays = make_dump(causal=causal)
            self.assertGreater(arrays["flow_degenerate"].max(), 0)
            self.expect(0, "rollout", arrays, says="200 values compared")
            self.expect(0, "flow", arrays, says="100 of 100 pairs by SciPy")

    def test_rows_and_layers_may_be_fewer(self):
        arrays = make_dump()
        for key in ("raw", "rollout", "flow", "flow_gap", "flow_degenerate"):
            arrays[key] = arrays[key][1:3, [0, 4]]
        arrays["layers"] = np.array([2, 3])
        arrays["output_tokens"] = np.array([0, 4])
        self.expect(0, "rollout", arrays, says="40 values compared")
        self.expect(0, "flow", arrays, says="20 of 20 pairs by SciPy")

    def test_wrong_rollout_is_found(self):
        for key in ("raw", "rollout"):
            for wrong in (3e-12, np.float64("1e-3")):
                arrays = make_dump()
                arrays[key][2, 1, 3] += wrong
                self.expect(1, "rollout", arrays, says=f"{key} of layer 3, output token 1, input token 3")

    def test_layers_in_the_wrong_order_are_found(self):
        arrays = make_dump()
        arrays["attention"] = arrays["attention"][::-1]
        self.expect(1, "rollout", arrays)
        self.expect(1, "flow", arrays)

    def test_other_settings_are_found(self):
        self.expect(1, "rollout", make_dump(), "--residual", "0.4")
        self.expect(1, "flow", make_dump(), "--residual", "0.4")
        self.expect(1, "rollout", make_dump(), "--heads", "1")

    def test_wrong_flow_is_found(self):
        for wrong in (2e-7, -2e-7):
            arrays = make_dump()
            arrays["flow"][3, 1, 2] += wrong
            self.expect(1, "flow", arrays, says="SciPy, layer 4, output token 1, input token 2")

    def test_gap_excuses_only_what_it_covers(self):
        arrays = make_dump()
        arrays["flow"][3, 1, 2] -= 2e-7
        arrays["flow_gap"][3, 1, 2] = 4e-7
        self.expect(0, "flow", arrays)
        arrays["flow_gap"][3, 1, 2] = 4e-6
        self.expect(1, "flow", arrays, says="expected a gap of 0 to 1e-06")

    def test_wrong_flags_are_found(self):
        plain = make_dump()
        for flag, other in ((0, 1), (0, 2), (1, 0), (2, 0)):
            places = np.argwhere(plain["flow_degenerate"][1:] == flag)
            self.assertGreater(len(places), 0, f"no pair with flag {flag}")
            arrays = make_dump()
            layer, row, token = places[0] + (1, 0, 0)
            arrays["flow_degenerate"][layer, row, token] = other
            self.expect(1, "flow", arrays, says=f"layer {layer + 1}, output token {row}, input token {token}")
        arrays = make_dump()
        arrays["flow_degenerate"][0, 0, 0] = 2
        self.expect(1, "flow", arrays, says="flag 2")

    def test_what_cannot_be_checked_is_no_pass(self):
        for key, name in (("attention", "rollout"), ("rollout", "rollout"), ("flow", "flow"), ("flow_gap", "flow")):
            arrays = make_dump()
            del arrays[key]
            self.expect(2, name, arrays, says=f"'{key}'")
        arrays = make_dump()
        arrays["layers"] = np.arange(0)
        self.expect(2, "rollout", arrays, says="layers")
        arrays = make_dump()
        arrays["flow"] = arrays["flow"][:, :, :2]
        self.expect(2, "flow", arrays, says="expected shape")
        arrays = make_dump()
        for key in ("flow", "flow_gap", "flow_degenerate"):
            arrays[key] = arrays[key][:, :0]
        arrays["flow_output_tokens"] = np.arange(0)
        self.expect(2, "flow", arrays, says="no pair")
        arrays = make_dump()
        arrays["rollout"][0, 0, 0] = np.nan
        self.expect(2, "rollout", arrays, says="not finite")

    def test_sampled_pairs(self):
        random = np.random.RandomState(5)
        attention = random.dirichlet(np.full(30, 0.2), size=(2, 1, 30)).astype(np.float32)
        mixing = 0.5 * attention[:, 0].astype(np.float64) + 0.5 * np.eye(30)
        two = np.minimum(mixing[1][:, :, None], mixing[0][None]).sum(axis=1)  # exact for two layers
        ends = mixing[0].sum(axis=0)[None] * np.ones((30, 1)), mixing[1].sum(axis=1)[:, None] * np.ones((1, 30))
        flags = np.where(ends[0] - two <= 1e-6, 1, np.where(ends[1] - two <= 1e-6, 2, 0))
        arrays = {
            "layers": np.array([1, 2]),
            "output_tokens": np.arange(30),
            "attention": attention,
            "rollout": np.stack([mixing[0], mixing[1] @ mixing[0]]),
            "flow": np.stack([mixing[0], two]),
            "flow_gap": np.zeros((2, 30, 30)),
            "flow_degenerate": np.stack([np.zeros((30, 30)), flags]).astype(np.uint8),
        }
        self.assertGreater(attention.min(), 0, "a weight of 0 changes what reaches what")
        self.expect(0, "flow", arrays, "--pairs", "51", says="51 of 1800 pairs by SciPy")


if __name__ == "__main__":
    unittest.main()
