"""What `attnflow explain` and `attnflow model` do with valid input."""

import json
import re
import subprocess
import unittest
from fractions import Fraction
from pathlib import Path

import numpy as np
from support import ALBERT, MINILM, MODELS, PROGRAM, USAGE, CommandTest, random_attention

BERT = str(MODELS / "bert_masked_lm")
KINDS = ("npz", "html", "svg", "pdf", "png", "json", "csv", "safetensors", "md", "txt")
MAGIC = {"npz": b"PK", "pdf": b"%PDF-", "png": b"\x89PNG", "svg": b"<svg", "html": b"<!doctype html>", "json": b"{"}


class AllKindsMixin:
    """Every kind of output, from a text."""

    def check_all_kinds(self, model: str, text: str, *more: str):
        outputs = [part for kind in KINDS for part in ("-o", f"a.{kind}")]
        self.run_program("explain", text, "--model", model, "--keep-attention", *more, *outputs)
        for kind in KINDS:
            content = (self.folder / f"a.{kind}").read_bytes()
            self.assertTrue(content.lower().startswith(MAGIC.get(kind, b"").lower()), f"{kind}: {content[:20]}")
            self.assertGreater(len(content), 100, kind)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), sorted(f"a.{kind}" for kind in KINDS))
        return np.load(self.folder / "a.npz")

    def check_dump_gives_the_same(self, made, *more: str):
        """`--attention` on the output of `--keep-attention`: the same numbers, to the bit."""
        for dump in ("a.npz", "a.safetensors"):
            self.run_program("explain", "--attention", dump, *more, "-o", "b.npz")
            again = np.load(self.folder / "b.npz")
            for key in ("tokens", "special", "layers", "output_tokens", "raw", "rollout", "flow", "flow_gap"):
                np.testing.assert_array_equal(again[key], made[key], f"{dump}: {key}")
            np.testing.assert_array_equal(again["flow_degenerate"], made["flow_degenerate"])


class SmallModelTest(AllKindsMixin, CommandTest):
    TEXT = "the key to the cabinets"

    def test_all_kinds_and_the_way_back(self):
        made = self.check_all_kinds(BERT, self.TEXT)
        layers, heads, n, _ = made["attention"].shape
        self.assertEqual(made["attention"].dtype, np.float32)
        self.assertEqual(made["tokens"].dtype.kind, "U")
        self.assertEqual(made["special"].dtype, np.bool_)
        self.assertEqual(list(made["layers"]), list(range(1, layers + 1)))
        self.assertEqual(list(made["output_tokens"]), list(range(n)))
        for key in ("raw", "rollout", "flow", "flow_gap"):
            self.assertEqual(made[key].dtype, np.float64)
            self.assertEqual(made[key].shape, (layers, n, n))
        self.assertEqual(made["flow_degenerate"].dtype, np.uint8)
        np.testing.assert_allclose(made["raw"], made["attention"].astype(np.float64).mean(axis=1), atol=1e-15)
        self.assertTrue((made["rollout"] <= made["flow"] + made["flow_gap"] + 1e-12).all())
        self.check_dump_gives_the_same(made)

    def test_every_architecture(self):
        for model in sorted(path for path in MODELS.iterdir() if path.is_dir()):
            with self.subTest(model.name):
                self.run_program("explain", "a key", "--model", model, "-o", f"{model.name}.npz")
                with np.load(self.folder / f"{model.name}.npz") as made:
                    np.testing.assert_allclose(made["rollout"].sum(axis=-1), 1.0, atol=1e-5)

    def test_same_bytes_whatever_the_threads(self):
        for kind in ("npz", "html", "svg", "pdf", "png", "json", "csv", "safetensors"):
            for threads in ("1", "3"):
                self.run_program(
                    "explain", self.TEXT, "--model", BERT, "--threads", threads, "-o", f"t{threads}.{kind}"
                )
            one = (self.folder / f"t1.{kind}").read_bytes()
            self.assertEqual(one, (self.folder / f"t3.{kind}").read_bytes(), kind)

    def test_options_of_several_values_leave_the_text_alone(self):
        """--method takes one argument, whether the text comes before or after it."""
        for option in (
            ("--method", "flow"),
            ("--method", "raw,flow"),
            ("--candidates", "is"),
            ("--referents", "a,key"),
        ):
            text = "a key [MASK] here" if option[0] == "--candidates" else "a key"
            before = self.run_program("explain", text, "--model", BERT, *option)
            behind = self.run_program("explain", "--model", BERT, *option, text)
            self.assertEqual(before.stdout, behind.stdout)
        once = self.run_program("explain", "a key", "--model", BERT, "--method", "raw,flow").stdout
        twice = self.run_program("explain", "a key", "--model", BERT, "--method", "raw", "--method", "flow").stdout
        self.assertEqual(once, twice)

    def test_views(self):
        sizes = set()
        for view in ("answer", "overview", "graph", "heatmap", "strip", "matrix"):
            self.run_program("explain", self.TEXT, "--model", BERT, "--view", view, "-o", f"{view}.svg")
            picture = (self.folder / f"{view}.svg").read_text()
            self.assertIn("key" if view in ("answer", "strip") else "cabinet", picture)
            sizes.add(len(picture))
        self.assertEqual(len(sizes), 6)

    def test_methods_and_layers(self):
        self.run_program(
            *("explain", self.TEXT, "--model", BERT, "--method", "rollout"),
            *("--layers", "2", "--start-layer", "1", "--keep-attention", "-o", "a.npz"),
        )
        made = np.load(self.folder / "a.npz")
        self.assertNotIn("flow", made)
        self.assertNotIn("raw", made)
        self.assertEqual(list(made["layers"]), [2])
        mean = made["attention"][1].astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(made["rollout"][0], 0.5 * mean + 0.5 * np.eye(len(mean)), atol=1e-15)

    def test_blanked_tokens_are_not_seen(self):
        def said(*more: str):
            made = json.loads(self.run_program("explain", "The keys to the old cabinet", *more, "--json").stdout)
            return made["predictions"][0]["choices"][0]["label"], made["input"]["tokens"]

        whole, tokens = said()
        position = next(i for i, token in enumerate(tokens) if token["text"] == "##s")
        self.assertEqual(whole, "plural")
        without, same = said("--blank", str(position))
        self.assertEqual(without, "singular")
        self.assertEqual([token["text"] for token in same], [token["text"] for token in tokens])
        np.save(self.folder / "a.npy", random_attention(2, 2, 4))
        self.refuse(USAGE, ["--blank", "--attention"], "explain", "--attention", "a.npy", "--blank", "1")

    def test_endings_in_capitals(self):
        outputs = [part for kind in KINDS for part in ("-o", f"A.{kind.upper()}")]
        self.run_program("explain", self.TEXT, "--model", BERT, *outputs)
        self.assertEqual(len(list(self.folder.iterdir())), len(KINDS))


class AttentionFileTest(CommandTest):
    def test_float64_stays_float64(self):
        """The flow of the file's own numbers lies in the enclosure, and no intermediate result is rounded to
        float32."""
        rng = np.random.default_rng(5)
        weights = rng.dirichlet(np.ones(6), size=(2, 1, 6))
        path = self.folder / "a.npy"
        np.save(path, weights)
        ask = ("--residual", "0", "--flow-tolerance", "1e-12", "--output-token", "all")
        self.run_program("explain", "--attention", path, *ask, "-o", "a.npz")
        with np.load(self.folder / "a.npz") as made:
            np.testing.assert_array_equal(made["raw"], weights[:, 0])
            flow, gap = made["flow"][-1], made["flow_gap"][-1]
        below, above = ([[Fraction(w) for w in row] for row in weights[layer, 0].tolist()] for layer in (0, 1))
        for i, j in np.ndindex(flow.shape):
            truth = sum(min(above[i][k], below[k][j]) for k in range(6))
            self.assertLessEqual(Fraction(float(flow[i, j])), truth)
            self.assertLessEqual(truth, Fraction(float(flow[i, j])) + Fraction(float(gap[i, j])))
            self.assertLess(gap[i, j], 1e-12)

        # Rows are divided in float64, even for files of narrower numbers.
        for kind in (np.float64, np.float32, np.float16):
            scaled = (weights * rng.uniform(0.5, 2, size=(2, 1, 6, 1))).astype(kind)
            np.save(path, scaled)
            self.run_program("explain", "--attention", path, "--renormalize", *ask, "-o", "a.npz")
            exact = scaled[:, 0].astype(np.float64)
            with np.load(self.folder / "a.npz") as made:
                np.testing.assert_allclose(made["raw"], exact / exact.sum(-1, keepdims=True), rtol=1e-15)

        # Attention kept with the results is float32, and a note says so.
        done = self.run_program("explain", "--attention", path, "--renormalize", "--keep-attention", "-o", "a.npz")
        self.assertIn("rounded to float32", done.stdout + done.stderr)

    def test_no_backend_is_loaded(self):
        path = self.save_attention(random_attention(layers=6, heads=12, tokens=12))
        trace = subprocess.run(
            [PROGRAM, "explain", "--attention", str(path), "-o", "a.npz"],
            cwd=self.folder,
            env={"LD_DEBUG": "files", "PATH": "/usr/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(trace.returncode, 0)
        self.assertIn("libc.so", trace.stderr)
        self.assertIsNone(re.search(r"torch|openblas", trace.stderr))


@unittest.skipUnless(MINILM, "ATTNFLOW_MINILM_DIR is not set")
class MiniLmTest(AllKindsMixin, CommandTest):
    def test_all_kinds_and_the_way_back(self):
        made = self.check_all_kinds(MINILM, "The key to the cabinets is on the table.")
        self.assertEqual(made["flow"].shape, (6, 12, 12))
        self.check_dump_gives_the_same(made)

    def test_every_script_survives(self):
        text = "Naïve ☕ 👩‍🔬 العربية 中文 e\u0301"
        self.check_all_kinds(MINILM, text)
        page = (self.folder / "a.html").read_text(encoding="utf-8")
        for part in ("👩‍🔬", "中"):
            self.assertIn(part, page)
        self.assertEqual(json.loads((self.folder / "a.json").read_text())["input"]["text"], text)

    def test_page_of_128_tokens_is_small(self):
        self.run_program(
            *("explain", "the " * 126, "--model", MINILM, "--method", "raw,rollout,flow", "-o", "a.html"),
            *("-o", "a.npz"),
        )
        self.assertEqual(np.load(self.folder / "a.npz")["flow"].shape, (6, 129, 129))  # with [mean]
        self.assertLess((self.folder / "a.html").stat().st_size, 3_000_000)


@unittest.skipUnless(ALBERT and Path(ALBERT).is_dir(), "ATTNFLOW_SHARED_DATA is not set")
class AlbertTest(AllKindsMixin, CommandTest):
    REACTION = "CC(=O)Cl.Nc1ccccc1>>CC(=O)[MASK]c1ccccc1"

    def test_all_kinds_and_the_way_back(self):
        made = self.check_all_kinds(ALBERT, self.REACTION, "--mixing", "attention")
        self.check_dump_gives_the_same(made)

    def test_masked_atom(self):
        report = json.loads(
            self.run_program("explain", self.REACTION, "--model", ALBERT, "--candidates", "N,O", "--json").stdout
        )
        best = report["predictions"][0]["choices"][0]
        self.assertEqual(best["label"], "N")
        self.assertAlmostEqual(best["probability"], 0.984, places=3)


if __name__ == "__main__":
    unittest.main()
