#!/usr/bin/env python3
"""Tests of the campaigns' own checks: a program that does each wrong thing must be detected."""

import tempfile
import unittest
from pathlib import Path
from random import Random

import campaign_server
import mutations
import numpy as np
import results
import running
import samples
import seeds

from reference import attention_graph, max_flow


class Judged(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name, "case")
        self.folder.mkdir()
        self.program = Path(folder.name, "attnflow")

    def run_script(self, script: str, outputs: tuple = (), **how) -> running.Done:
        self.program.write_text("#!/bin/sh\n" + script)
        self.program.chmod(0o755)
        return running.Runner(self.folder, self.program).run("explain", outputs=outputs, **how)

    def falls(self, kind: str, words: str, script: str, outputs: tuple = (), **how) -> None:
        with self.assertRaisesRegex((running.Fallen, results.NotWhole), words) as caught:
            self.run_script(script, outputs, **how)
        self.assertEqual(getattr(caught.exception, "kind", "wrong"), kind)

    def test_what_is_well(self):
        self.assertEqual(self.run_script("exit 0").code, 0)
        self.run_script("echo 'attnflow: a.npz: expected an array, found none' >&2; exit 3")
        self.run_script("echo '{}' >out.json", ("out.json",))

    def test_ends(self):
        self.falls("crash", "SIGSEGV", "kill -SEGV $$")
        self.falls("crash", "exit code 134", "exit 134")
        self.falls("hang", "still running", "exec sleep 20", seconds=0.2)
        self.falls("wrong", "without a message", "exit 3")
        self.falls("wrong", "neither", "echo 'attnflow: oops' >&2; exit 2")

    def test_messages(self):
        for word in (
            "terminate called",
            "thread panicked",
            "/a/b.rs:12",
            "x.cc:7",
            "std::bad_alloc",
            "[json.exception.x",
        ):
            self.falls("wrong", "shows what is inside", f"echo 'attnflow: expected {word}' >&2; exit 3")
        self.falls("wrong", "control character", "printf 'attnflow: expected \\033[31m\\n' >&2; exit 3")
        self.falls("wrong", "not UTF-8", "printf 'attnflow: expected \\377\\n' >&2; exit 3")

    def test_files(self):
        (self.folder / "out.json").write_text("old")
        bad = "echo 'attnflow: expected a, found b' >&2; exit 3"
        self.falls("wrong", "was changed by a run that failed", f"echo new >out.json; {bad}", ("out.json",))
        (self.folder / "out.json").unlink()
        self.falls("wrong", "was written by a run that failed", f"echo new >out.json; {bad}", ("out.json",))
        (self.folder / "out.json").unlink()
        self.falls("wrong", "left behind", "echo x >.attnflow-1-1.tmp")
        (self.folder / ".attnflow-1-1.tmp").unlink()
        self.falls("wrong", "was not written", "exit 0", ("out.json",))
        self.falls("wrong", "NaN", "echo '{\"a\": NaN}' >out.json", ("out.json",))
        self.falls("wrong", "out.npz", "echo half >out.npz", ("out.npz",))

    def test_values_that_are_not_finite(self):
        for value in (np.nan, np.inf):
            for name, content in (
                ("a.npz", samples.npz_bytes({"flow.npy": samples.npy_bytes(np.array([1.0, value]))}, True)),
                ("a.csv", f"raw,input_text\n{value},nan\n".encode()),
            ):
                path = self.folder / name
                path.write_bytes(content)
                with self.assertRaises(results.NotWhole, msg=name):
                    results.check_file(path)

    def test_answers_of_a_server(self):
        json_type = b"Content-Type: application/json\r\n"
        for heard in (
            b"HTTP/1.1 500 X\r\n" + json_type + b'\r\n{"error": {"kind": "x", "message": "expected"}}',
            b"HTTP/1.1 200 OK\r\n" + json_type + b'\r\n{"a": NaN}',
            b"HTTP/1.1 400 X\r\n" + json_type + b'\r\n{"a": 1}',
            b"HTTP/1.1 400 X\r\n" + json_type + b'\r\n{"error": {"kind": "x", "message": "panicked"}}',
            b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n\r\n",
            b"hello",
        ):
            with self.assertRaises((running.Fallen, results.NotWhole), msg=heard):
                campaign_server.check_answer(heard)
        self.assertEqual(campaign_server.check_answer(b""), 0)


class Cases(unittest.TestCase):
    def test_a_case_is_its_seed(self):
        content = samples.npy_bytes(samples.stack(Random(1)))
        for seed in range(20):
            self.assertEqual(mutations.damage(Random(seed), content), mutations.damage(Random(seed), content))
            self.assertEqual(
                mutations.damage_json(Random(seed), b'{"a": [1, 2]}'),
                mutations.damage_json(Random(seed), b'{"a": [1, 2]}'),
            )


class Numbers(unittest.TestCase):
    def test_two_layers_in_closed_form(self):
        for seed in range(5):
            attention = samples.stack(Random(seed), layers=2, heads=2, tokens=5)
            graph = attention_graph.AttentionGraph(attention)
            first, top = graph.matrices(2)
            expected = np.minimum(top[:, :, None], first[None]).sum(axis=1)
            network = max_flow.Network(graph.matrices(2))
            low, high = network.enclosures()
            self.assertTrue(((low <= expected + 1e-15) & (expected <= high + 1e-15)).all())
            self.assertAlmostEqual(network.exact(1, 3), expected[1, 3], delta=1e-15)
            np.testing.assert_allclose(graph.rollout()[1], top @ first, atol=1e-15)

    def test_what_is_discarded_first(self):
        even = np.full((2, 2), 0.5)
        np.testing.assert_array_equal(attention_graph.discard_smallest(even, 0.5), [[0.5, 0.5], [0, 0]])
        with self.assertRaises(attention_graph.Ambiguous):
            attention_graph.discard_smallest(even, 0.5, exact=False)


class Seeds(unittest.TestCase):
    def test_every_fuzzer_has_some(self):
        fuzzers = {file.name.removesuffix("_fuzz.cc") for file in running.ROOT.glob("attnflow/**/*_fuzz.cc")}
        self.assertGreater(len(fuzzers), 10)
        self.assertEqual(fuzzers, set(seeds.SEEDS))
        for name, make in seeds.SEEDS.items():
            self.assertTrue(any(make()), name)


if __name__ == "__main__":
    unittest.main()
