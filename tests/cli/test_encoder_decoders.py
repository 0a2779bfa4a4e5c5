"""`attnflow explain` and `generate` with encoder-decoders: their output matches that of transformers in tests/golden."""

import json
import unittest

import numpy as np
from support import BAD_FILE, ROOT, TOO_LONG, UNSUPPORTED, USAGE, CommandTest

from reference.attention_graph import AttentionGraph
from reference.max_flow import Network

GOLDEN = ROOT / "tests" / "golden" / "encoder_decoders"
MODELS = json.loads((GOLDEN / "index.json").read_text())["models"]
T5 = GOLDEN / "t5_tied"


class EncoderDecoderTest(CommandTest):
    def generate(self, model, *arguments):
        files = ["-o", "a.npz", "-o", "a.json"]
        self.run_program("generate", model["cases"][3]["text"], "--model", GOLDEN / model["name"], *arguments, *files)
        with np.load(self.folder / "a.npz") as arrays:
            made = {name: arrays[name] for name in arrays.files}
        return json.loads((self.folder / "a.json").read_text()), made

    def rows(self, made, method, n):
        """[layer, generated token, token of source and target]"""
        return np.concatenate([made[method], made[method + "_generated"]], axis=1)[:, :n].transpose(2, 0, 1)

    def test_what_is_written_and_its_graph(self):
        for model in MODELS:
            with self.subTest(model["name"]):
                case = model["cases"][3]
                methods = ["--mixing", "attention", "--method", "raw,rollout,flow", "--layers", "1-7"]
                report, made = self.generate(model, "-n", case["generated"], *methods)
                written = [token["id"] for token in report["generation"]["tokens"]]
                self.assertEqual(written, case["target"][len(model["begin"]) :])
                tokens = report["input"]["tokens"]
                self.assertEqual(sum(token["segment"] == 0 for token in tokens), len(case["source"]))
                (note,) = [note for note in report["notes"] if note["code"] == "joint-layers"]
                self.assertEqual(note["values"]["source_tokens"], len(case["source"]))
                self.assertFalse(report["model"]["causal"])
                with np.load(GOLDEN / f"{model['name']}.npz") as golden:
                    attention = golden["case3_attention"]
                # The last token has not been read.
                attention = attention[:, :, :-1, :-1]
                n, first = attention.shape[-1], len(tokens) - 1
                graph = AttentionGraph(attention)
                np.testing.assert_allclose(self.rows(made, "raw", n), graph.weights[:, first:], atol=1e-5)
                np.testing.assert_allclose(self.rows(made, "rollout", n), graph.rollout()[:, first:], atol=1e-5)
                flow, gap = self.rows(made, "flow", n)[0], made["flow_gap"][:, :, 0]
                for t, source in ((0, 0), (3, 2), (5, first), (5, first + 1)):
                    seen = first + t + 1
                    low, high = Network(graph.top[:, :seen, :seen]).enclosure(first + t, source)
                    # Float32 weights that differ by 1e-7, in a cut of at most 4 n arcs.
                    self.assertLessEqual(flow[t, source], high + 4 * n * 1e-7)
                    width = gap[t, source] if source <= first else 1e-6
                    self.assertGreaterEqual(flow[t, source] + width, low - 4 * n * 1e-7)

    def test_attention_to_the_source_is_a_view_of_its_own(self):
        raw = ["-n", 3, "--mixing", "attention", "--method", "raw"]
        report, _ = self.generate(MODELS[0], *raw)
        self.assertEqual(report["settings"]["layers"], [4, 5, 6, 7])  # the decoder's, target and source in turn
        _, made = self.generate(MODELS[0], *raw, "--layers", "5,7")
        source = len(MODELS[0]["cases"][3]["source"])
        np.testing.assert_allclose(made["raw"][:, :source].sum(axis=1), 1.0, atol=1e-6)
        self.assertFalse(made["raw"][:, source:].any() or made["raw_generated"].any())
        # One head of the decoder's last layer.
        self.generate(MODELS[0], *raw, "--heads", 1, "--layers", 7)

    def test_relevance_of_each_token(self):
        """All of it goes back to the source and the tokens before; what a layer leaves alone stays."""
        for model in MODELS:
            with self.subTest(model["name"]):
                report, made = self.generate(model, "-n", 4, "--method", "raw,rollout,flow")
                self.assertEqual(report["settings"]["mixing"], "relevance")  # the default, as for decoders
                self.assertEqual(report["settings"]["layers"], [7])
                self.assertIn("negative-relevance", [note["code"] for note in report["notes"]])
                n = len(report["input"]["tokens"]) + 3
                np.testing.assert_allclose(self.rows(made, "rollout", n).sum(axis=2), 1.0, atol=1e-9)
                source = len(model["cases"][3]["source"])
                self.assertGreater(made["rollout"][:, :source].sum(), 0.1)
                self.assertFalse(made["raw"][:, source : len(report["input"]["tokens"]) - 1].any())
                _, again = self.generate(
                    model, "-n", 4, "--mixing", "relevance", "--method", "raw,rollout,flow", "--threads", 1
                )
                for name in ("raw", "rollout", "flow"):
                    np.testing.assert_array_equal(made[name], again[name])

    def explained(self, model, *arguments):
        files = ["--target-text", "", "-o", "b.npz", "-o", "b.json"]
        self.run_program("explain", model["cases"][3]["text"], "--model", GOLDEN / model["name"], *arguments, *files)
        with np.load(self.folder / "b.npz") as arrays:
            made = {name: arrays[name] for name in arrays.files}
        return json.loads((self.folder / "b.json").read_text()), made

    def test_a_given_target_and_its_graph(self):
        for model in MODELS:
            with self.subTest(model["name"]):
                report, made = self.explained(model, "--mixing", "attention", "--keep-attention")
                n = len(model["cases"][3]["source"]) + len(model["begin"])
                self.assertEqual((len(report["input"]["tokens"]), report["output_token"]), (n, n - 1))
                with np.load(GOLDEN / f"{model['name']}.npz") as golden:
                    # The target sees nothing behind its beginning.
                    attention = golden["case3_attention"][:, :, :n, :n]
                    logits = golden["case3_logits"][len(model["begin"]) - 1].astype(np.float64)
                np.testing.assert_allclose(made["attention"], attention, atol=1e-5)
                graph = AttentionGraph(attention)
                np.testing.assert_allclose(made["rollout"], graph.rollout(), atol=1e-5)
                for source in range(n):
                    low, high = Network(graph.top).enclosure(n - 1, source)
                    self.assertLessEqual(made["flow"][-1, n - 1, source], high + 4 * n * 1e-7)
                    self.assertGreaterEqual(
                        made["flow"][-1, n - 1, source] + made["flow_gap"][-1, n - 1, source], low - 4 * n * 1e-7
                    )
                (said,) = report["predictions"]
                probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
                self.assertAlmostEqual(said["choices"][0]["probability"], probabilities.max(), places=5)

    def test_the_first_generated_token_is_explained_alike(self):
        """By graph, methods beside it, and the check."""
        ask = ["--mixing", "relevance", "--method", "rollout,flow,attnlrp,integrated-gradients,blank-out"]
        for model in MODELS:
            with self.subTest(model["name"]):
                report, made = self.generate(model, "-n", 1, *ask)
                (token,) = report["generation"]["tokens"]
                # Rules of generation may forbid some of the most probable tokens.
                against = ",".join(f"id:{other['index']}" for other in token["target"]["against"]["others"])
                named = ["--target", f"id:{token['id']}", "--against", against]
                explained, alone = self.explained(model, *ask, *named)
                n = len(report["input"]["tokens"])
                for method in ("rollout", "flow"):
                    np.testing.assert_allclose(made[method][0, :, 0], alone[method][-1, n - 1], rtol=1e-4, atol=1e-6)
                for method in ("attnlrp", "integrated_gradients", "blank_out"):
                    np.testing.assert_allclose(made[method][0], alone[method][0], rtol=1e-4, atol=1e-5)
                drops = [
                    {one["token"]: one["drop"] for one in check["tokens"]}
                    for check in (token["check"], explained["check"])
                ]
                self.assertEqual(drops[0].keys(), drops[1].keys())
                self.assertGreater(len(drops[0]), 0)
                for place, drop in drops[0].items():
                    self.assertAlmostEqual(drop, drops[1][place], places=4)

    def test_terminal_and_page_of_a_given_target(self):
        ask = ["explain", "the key to the cabinets", "--model", T5, "--target-text", "they are"]
        shown = self.run_program(*ask).stdout
        for words in (
            "9 source tokens, 7 target tokens",
            "Check: 9 of 14 tokens were replaced by 4 to 8 others; nothing fits in place of",
            "Encoder and decoder form",
        ):
            self.assertIn(words, shown)
        self.assertNotIn("position 0", shown)
        files = [self.folder / f"a.{ending}" for ending in "html svg pdf csv md safetensors".split()]
        self.run_program(*ask, "--words", *(word for file in files for word in ("-o", file)))
        for file in files:
            self.assertGreater(file.stat().st_size, 100, file)
        self.run_program(*ask, "--check", "never", "-o", "c.json")
        self.assertNotIn("check", json.loads((self.folder / "c.json").read_text()))

    def test_every_kind_of_file_is_written_and_the_same_again(self):
        names = [f"a.{ending}" for ending in "html svg pdf csv safetensors md txt".split()]
        outputs = [word for name in names for word in ("-o", name)]
        self.generate(MODELS[2], "-n", 5, "--method", "raw,rollout,flow", "--words", *outputs)
        first = {name: (self.folder / name).read_bytes() for name in names}
        self.generate(MODELS[2], "-n", 5, "--method", "raw,rollout,flow", "--words", "--threads", 1, *outputs)
        for name in names:
            self.assertGreater(len(first[name]), 100, name)
            self.assertEqual(first[name], (self.folder / name).read_bytes(), name)

    def test_text_begins_without_a_space(self):
        done = self.run_program("generate", "the key", "--model", T5, "-n", 4)
        document = json.loads(self.run_program("generate", "the key", "--model", T5, "-n", 4, "--json").stdout)
        self.assertTrue(done.stdout.startswith(document["generation"]["text"]))
        self.assertFalse(document["generation"]["text"].startswith(" "))
        self.assertIn("source tokens, 4 generated", done.stdout)
        self.assertIn("joint-layers", [note["code"] for note in document["notes"]])

    def test_sampling_follows_the_seed(self):
        def ids(seed):
            options = ["-n", 12, "--json", "--ignore-end", "--temperature", 2, "--seed", seed]
            document = json.loads(self.run_program("generate", "the key", "--model", T5, *options).stdout)
            return [token["id"] for token in document["generation"]["tokens"]]

        self.assertEqual(ids(5), ids(5))
        self.assertNotEqual(ids(5), ids(6))

    def uniform(self, source, n, encoder, layers):
        """[layer, 1, token, token]: every token attends evenly to what it sees in a layer, or to itself alone."""
        weights = np.tile(np.eye(n), (layers, 1, 1))
        weights[:encoder, :source, :source] = 1 / source
        weights[encoder + 1 :: 2, source:] = 0
        weights[encoder + 1 :: 2, source:, :source] = 1 / source
        seen = np.tri(n - source)
        weights[encoder::2, source:, source:] = seen / seen.sum(1, keepdims=True)
        return weights[:, None]

    def test_receptive_fields(self):
        """Values are divided by those of uniform attention, then by their sum."""
        for model in MODELS:
            with self.subTest(model["name"]):
                encoder, source = model["encoder_layers"], len(model["cases"][3]["source"])
                ask = ["--method", "raw,rollout", "--layers", "1-7", "--mixing", "attention"]
                by_field = ["--normalize", "receptive-field"]
                _, made = self.generate(model, *ask, *by_field, "-n", 4)
                first = source + len(model["begin"]) - 1
                n = first + 4
                even = AttentionGraph(self.uniform(source, n, encoder, 7))
                for method, baseline in (("raw", even.weights), ("rollout", even.rollout())):
                    expected = self.divided(self.rows(made, method, n), baseline[:, first:])
                    found = made[f"{method}_normalized"].transpose(2, 0, 1)
                    np.testing.assert_allclose(found, expected[:, :, : first + 1], atol=1e-6)
                # Another text's rows, all of them.
                text = ["the key", "--target-text", "the book", "--model", GOLDEN / model["name"], "-o", "a.npz"]
                plain, normalized = {}, {}
                for arrays, more in ((plain, []), (normalized, by_field)):
                    self.run_program("explain", *text, *ask, *more)
                    with np.load(self.folder / "a.npz") as kept:
                        arrays |= {name: kept[name] for name in ("raw", "rollout")}
                n = plain["raw"].shape[1]
                even = AttentionGraph(self.uniform(3, n, encoder, 7))
                for method, baseline in (("raw", even.weights), ("rollout", even.rollout())):
                    np.testing.assert_allclose(normalized[method], self.divided(plain[method], baseline), atol=1e-6)

    def divided(self, values, baseline):
        """Where uniform attention has next to nothing, 0."""
        found = np.divide(values, baseline, out=np.zeros_like(values), where=baseline >= 1e-6)
        return found / found.sum(-1, keepdims=True)

    def test_logits_are_shared_out(self):
        """Scores and named parts add up. python/tests/capture/test_joint_logits.py recomputes them."""
        asked = ["--method", "logit,alti-logit", "--model", T5, "-o", "a.json"]
        for command in (["generate", "the key", "-n", 3], ["explain", "the key", "--target-text", "the"]):
            self.run_program(*command, *asked)
            document = json.loads((self.folder / "a.json").read_text())
            self.assertEqual([scores["method"] for scores in document["scores"]], ["logit", "alti-logit"])
            for scores in document["scores"]:
                for token in scores.get("sums", [scores]):
                    self.assertGreater(abs(token["total"]), 0.01)
                    self.assertAlmostEqual(token["error"], 0.0, places=9)

    def test_what_does_not_work_says_what_does(self):
        explain = ["explain", "the key", "--model", T5]
        for ask in (["generate", "the key", "--model", T5], [*explain, "--target-text", "the"]):
            self.refuse(UNSUPPORTED, ["globenc", "a norm after attention", "norm or alti"], *ask, "--mixing", "globenc")
        self.refuse(
            UNSUPPORTED,
            ["--method logit", "norms come before its blocks", "found bart", "attnlrp or blank-out"],
            *("generate", "the key", "--model", GOLDEN / "bart", "--method", "logit"),
        )
        self.refuse(USAGE, ["--target-text: expected the text", "t5_tied (t5)", "'attnflow generate'"], *explain)
        self.refuse(
            USAGE, ["--pair: expected none", "--target-text"], *explain, "--pair", "a lock", "--target-text", "the"
        )
        self.refuse(
            USAGE,
            ["--target-text is for encoder-decoders only", "agreement"],
            "explain",
            "the key",
            "--target-text",
            "the",
        )
        self.refuse(
            TOO_LONG,
            ["--target-text: expected at most 40 tokens"],
            *("explain", "the key", "--model", GOLDEN / "bart", "--target-text", "q " * 50),
        )
        (self.folder / "e.csv").write_text("text,good,bad,evidence\nthe key,is,are,key\n")
        self.refuse(
            UNSUPPORTED,
            ["an encoder-decoder (t5)", "'attnflow explain SOURCE --target-text TEXT'"],
            *("evaluate", "evidence", "--data", "e.csv", "--model", T5),
        )
        self.refuse(TOO_LONG, ["at most 40 tokens"], "generate", "q " * 50, "--model", GOLDEN / "bart")
        told = self.run_program("model", T5).stdout
        self.assertIn("7 in one graph: 3 of the encoder, and two for each of the decoder's 2", told)

    def test_a_folder_that_does_not_say_how_a_target_begins(self):
        for file in T5.iterdir():
            (self.folder / file.name).write_bytes(file.read_bytes())
        (self.folder / "generation_config.json").unlink()
        config = json.loads((self.folder / "config.json").read_text())
        for key in ("decoder_start_token_id", "bos_token_id"):
            config.pop(key, None)
        (self.folder / "config.json").write_text(json.dumps(config))
        self.refuse(BAD_FILE, ["decoder_start_token_id"], "generate", "the key", "--model", self.folder)


if __name__ == "__main__":
    unittest.main()
