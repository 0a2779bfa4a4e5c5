"""Flow on the command line: certificates, degeneracy, tolerance, and insufficient memory."""

import json
import resource
import subprocess
import unittest
from fractions import Fraction

import numpy as np
from support import MODELS, OTHER, PROGRAM, USAGE, CommandTest, random_attention

from reference.attention_graph import AttentionGraph

BERT = str(MODELS / "bert_masked_lm")


class CertificateTest(CommandTest):
    def check(self, certificate, capacities) -> None:
        """Checks the proof in exact fractions, using only the report and the network."""
        layer, start_layer = certificate["layer"], certificate["start_layer"]
        source = (layer, certificate["output_token"])
        sink = (start_layer, certificate["input_token"])
        capacity = {}
        for k in range(start_layer + 1, layer + 1):
            for p, q in np.ndindex(capacities[k - 1].shape):
                capacity[k, p, q] = Fraction(float(capacities[k - 1][p, q]))
        unit = Fraction(1, 2 ** certificate["unit_exponent"])
        balance = {}
        for k, p, q, units in certificate["arc_flows"]:
            # The product may round differently here: by one unit in the last place of the capacity.
            self.assertLessEqual(units * unit, capacity[k, p, q] * (1 + Fraction(1, 2**51)))
            balance[k, p] = balance.get((k, p), 0) + units
            balance[k - 1, q] = balance.get((k - 1, q), 0) - units
        value = balance.pop(source, 0)
        self.assertEqual(balance.pop(sink, 0), -value)
        self.assertTrue(all(units == 0 for units in balance.values()))
        flow, gap = Fraction(certificate["flow"]), Fraction(certificate["flow_gap"])
        self.assertLessEqual(flow, value * unit)

        cut = {(k, p, q) for k, p, q, _ in certificate["minimum_cut"]}
        price = sum(capacity[arc] for arc in cut)
        self.assertLessEqual(price, (flow + gap) * (1 + Fraction(1, 2**50)))
        reached = {certificate["output_token"]}
        for k in range(layer, start_layer, -1):
            rows = capacities[k - 1]
            reached = {q for p in reached for q in range(rows.shape[1]) if rows[p, q] > 0 and (k, p, q) not in cut}
        self.assertNotIn(certificate["input_token"], reached)

        checked = certificate["checked"]
        self.assertEqual([checked[key] for key in ("feasible", "conserves", "separates")], [True] * 3)
        self.assertEqual(checked["problem"], "")
        self.assertEqual(checked["low"], certificate["flow"])
        self.assertLessEqual(checked["high"], certificate["flow"] + certificate["flow_gap"])
        shares = certificate["cut_shares"]
        self.assertEqual([share["layer"] for share in shares], list(range(layer, start_layer, -1)))
        for share in shares:
            arcs = [arc for arc in certificate["minimum_cut"] if arc[0] == share["layer"]]
            self.assertEqual(share["arcs"], len(arcs))
            self.assertAlmostEqual(share["capacity"], sum(arc[3] for arc in arcs), places=14)
        self.assertAlmostEqual(sum(share["share"] for share in shares), 1.0 if cut else 0.0, places=14)

    def test_of_an_attention_file(self):
        for causal in (False, True):
            weights = random_attention(layers=4, heads=2, tokens=7, causal=causal)
            path = self.save_attention(weights)
            pairs = ("3,1", "last,0", "auto,2", "0,6")
            for layers, start_layer in ((None, 0), ("2-3", 1), ("1", 0)):
                more = [*(["--layers", layers] if layers else []), "--start-layer", start_layer]
                asked = [part for pair in pairs for part in ("--certificate", pair)]
                document = self.run_program("explain", "--attention", path, *more, *asked, "--json").stdout
                report = json.loads(document)
                self.assertEqual(len(report["certificates"]), len(pairs))
                self.run_program("explain", "--attention", path, *more, "--output-token", "all", "-o", "a.npz")
                with np.load(self.folder / "a.npz") as made:
                    flow, gap = made["flow"][-1], made["flow_gap"][-1]
                for certificate in report["certificates"]:
                    self.check(certificate, AttentionGraph(weights).top)
                    at = certificate["output_token"], certificate["input_token"]
                    self.assertLessEqual(certificate["flow"], flow[at] + gap[at])
                    self.assertLessEqual(flow[at], certificate["flow"] + certificate["flow_gap"])

    def test_of_a_text(self):
        arguments = ("explain", "the key to the cabinets", "--model", BERT, "--certificate", "cls,2")
        self.run_program(*arguments, "--keep-attention", "-o", "a.json", "-o", "a.npz")
        report = json.loads((self.folder / "a.json").read_text())
        weights = np.load(self.folder / "a.npz")["attention"]
        self.check(report["certificates"][0], AttentionGraph(weights).top)
        table = self.run_program(*arguments).stdout
        self.assertIn("Flow from output token 0", table)
        self.assertIn("Checked: a flow on", table)
        self.assertIn("minimum cut", table)
        for kind in ("md", "txt"):
            self.run_program(*arguments, "-o", f"a.{kind}")
            self.assertIn("Checked", (self.folder / f"a.{kind}").read_text())

    def test_the_text_may_come_last(self):
        for option in (("--certificate", "cls,2"), ("-o", "a.txt")):
            self.run_program("explain", "--model", BERT, "--method", "flow", *option, "the key to the cabinets")

    def test_what_is_refused(self):
        path = self.save_attention(random_attention())
        outputs = ["-o", "a.npz", "-o", "a.svg"]
        for words, more in (
            (["such as cls,5"], ["1,2,3"]),
            (["class token"], ["cls,0"]),
            (["0,4", "twice"], ["0,4", "--certificate", "0,last"]),
            ([".json", "a.npz"], ["0,1", *outputs]),
        ):
            command = ("explain", "--attention", path, "--certificate", *more)
            self.refuse(USAGE, ["--certificate", *words], *command)


class DegeneracyTest(CommandTest):
    def test_deep_flow_says_so_once(self):
        path = self.save_attention(random_attention(layers=9, heads=4, tokens=10))
        report = json.loads(self.run_program("explain", "--attention", path, "--json").stdout)
        (note,) = [note for note in report["notes"] if note["code"] == "flow-degenerate"]
        self.run_program("explain", "--attention", path, "-o", "a.npz")
        degenerate = np.load(self.folder / "a.npz")["flow_degenerate"] != 0
        first = next(layer for layer in range(9) if degenerate[layer].mean() > 0.5) + 1
        self.assertEqual(note["values"]["layers"], list(range(first, 10)))
        # In the terminal, and along with files, it appears once.
        for more in ((), ("-o", "a.json")):
            done = self.run_program("explain", "--attention", path, *more)
            self.assertEqual((done.stdout + done.stderr).count("of the flow values"), 1)


class MemoryTest(CommandTest):
    def test_too_little_is_said_before_it_starts(self):
        # One layer of 4,000 tokens: 0.6 GB for its flow, but no work in case the check is missing.
        n = 4000
        weights = np.broadcast_to(np.full((n, n), 1 / n, np.float16), (1, 1, n, n))
        np.save(self.folder / "a.npy", weights)
        limit = 450 << 20  # bytes of address space

        def explain(*more):
            return subprocess.run(
                [PROGRAM, "explain", "--attention", "a.npy", "--method", "flow", "--threads", "1", *more],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            )

        done = explain("--output-token", "all", "-o", "out.npz")
        self.assertEqual(done.returncode, OTHER, done.stderr)
        for part in ("flow of 4000 tokens over 1 layer:", "expected", "found", "available", "what would fit", "MiB"):
            self.assertIn(part, done.stderr)
        self.assertFalse((self.folder / "out.npz").exists())


if __name__ == "__main__":
    unittest.main()
