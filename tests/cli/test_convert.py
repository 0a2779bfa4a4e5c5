"""`attnflow model FILE.gguf -o FOLDER`: GGUF files as Hugging Face folders."""

import json
import shutil
import unittest

import numpy as np
from gguf_folder import as_gguf, read_gguf, weights_of, write_gguf
from support import BAD_FILE, OTHER, ROOT, UNSUPPORTED, USAGE, CommandTest

DECODERS = ROOT / "tests" / "golden" / "decoders"
GGUF = ROOT / "tests" / "golden" / "gguf"
TEXT = "The key to the cabinets is on the table, isn't it? 24 Caf\u00e9s \U0001f642"


class ConvertTest(CommandTest):
    def explained(self, model, name):
        self.run_program(*("explain", TEXT, "--model", model, "--method", "raw", "--keep-attention", "-o", name))
        with np.load(self.folder / name) as arrays:
            return dict(arrays)

    def convert(self, model, *more):
        return self.run_program("model", model, "-o", "made", *more)

    def change(self, metadata=None, tensors=None, base=GGUF / "llama.gguf"):
        """A copy of a model with some entries replaced, or removed if the value is None."""
        old_metadata, old_tensors = read_gguf(base)
        new_metadata = old_metadata | (metadata or {})
        new_tensors = old_tensors | (tensors or {})
        path = self.folder / "changed.gguf"
        write_gguf(
            path,
            {key: value for key, value in new_metadata.items() if value is not None},
            {key: value for key, value in new_tensors.items() if value is not None},
        )
        return path

    def refuse_changed(self, code, words, metadata=None, tensors=None):
        self.refuse(code, words, "model", self.change(metadata, tensors), "-o", "made")

    def pieces(self):
        return read_gguf(GGUF / "llama.gguf")[0]["tokenizer.ggml.tokens"]


class RoundTripTest(ConvertTest):
    def round_trip(self, name):
        """A folder, converted to a GGUF file and back to a folder: the same attention to the last bit, the same
        tokens."""
        path = self.folder / "model.gguf"
        write_gguf(path, *as_gguf(DECODERS / name))
        done = self.convert(path)
        self.assertIn("0 of", done.stderr)  # nothing was quantized
        before = self.explained(DECODERS / name, "before.npz")
        after = self.explained(self.folder / "made", "after.npz")
        np.testing.assert_array_equal(before["attention"], after["attention"])
        np.testing.assert_array_equal(before["tokens"], after["tokens"])
        original = weights_of(DECODERS / name)
        made = weights_of(self.folder / "made")
        self.assertEqual(sorted(made), sorted(original))
        for key, array in original.items():
            np.testing.assert_array_equal(made[key], array, key)
        return json.loads((self.folder / "made" / "config.json").read_text())

    def test_folders(self):
        llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
        llama3["original_max_position_embeddings"] = 32
        grouped = {"model_type": "llama", "tie_word_embeddings": False, "num_key_value_heads": 2}
        scaled = {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "rope_theta": 50.0}
        for name, expected in (
            ("llama_grouped", grouped | {"attention_bias": False}),
            ("llama_linear", {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
            ("llama_scaled", scaled | {"rope_scaling": llama3}),
            # As written before its conversion to float32.
            ("qwen2_tied", {"architectures": ["Qwen2ForCausalLM"], "rms_norm_eps": 1e-5}),
            ("gpt2_tied", {"architectures": ["GPT2LMHeadModel"]}),
            ("gpt2_base", {"architectures": ["GPT2LMHeadModel"]}),
        ):
            with self.subTest(name):
                config = self.round_trip(name)
                self.assertEqual({key: config[key] for key in expected}, expected)
                shutil.rmtree(self.folder / "made")

    def test_a_model_in_several_files(self):
        """Their tensors are read from each: the same folder, and the same gradients, as from one file."""
        metadata, tensors = read_gguf(GGUF / "llama.gguf")
        names = sorted(tensors)
        for number in range(3):
            mine = {name: tensors[name] for name in names[number::3]}
            split = {"split.no": np.uint16(number), "split.count": np.uint16(3)}
            split["split.tensors.count"] = np.int32(len(tensors))
            path = self.folder / f"model-0000{number + 1}-of-00003.gguf"
            write_gguf(path, (metadata if number == 0 else {}) | split, mine)
        self.convert(self.folder / "model-00001-of-00003.gguf")
        self.run_program("model", GGUF / "llama.gguf", "-o", "whole")
        made, whole = weights_of(self.folder / "made"), weights_of(self.folder / "whole")
        self.assertEqual(sorted(made), sorted(whole))
        for name, array in whole.items():
            np.testing.assert_array_equal(made[name], array, name)
        gradients = []
        for model in (GGUF / "llama.gguf", "model-00001-of-00003.gguf"):
            self.run_program("explain", TEXT, "--model", model, "--method", "gradient-x-input", "-o", "g.npz")
            with np.load(self.folder / "g.npz") as arrays:
                gradients.append(arrays["gradient_x_input"])
        np.testing.assert_array_equal(*gradients)
        (self.folder / "model-00003-of-00003.gguf").unlink()
        self.refuse(
            BAD_FILE, ["model-00003-of-00003.gguf"], "model", self.folder / "model-00001-of-00003.gguf", "-o", "more"
        )

    def test_what_is_written(self):
        metadata = {"general.license": "apache-2.0", "tokenizer.chat_template.tool_use": "{{ messages }}"}
        done = self.convert(self.change(metadata))
        made = self.folder / "made"
        names = ["README.md", "config.json", "generation_config.json", "model.safetensors"]
        names += ["tokenizer.json", "tokenizer_config.json"]
        self.assertEqual(sorted(path.name for path in made.iterdir()), names)
        self.assertIn("1 other chat templates", done.stderr)
        self.assertEqual(done.stdout, "")
        settings = json.loads((made / "tokenizer_config.json").read_text())
        self.assertEqual(settings["chat_template"], read_gguf(GGUF / "llama.gguf")[0]["tokenizer.chat_template"])
        self.assertEqual(settings["eos_token"], "<|im_end|>")
        config = json.loads((made / "config.json").read_text())
        self.assertEqual((config["bos_token_id"], config["eos_token_id"]), (0, 2))
        self.assertIn(2, json.loads((made / "generation_config.json").read_text())["eos_token_id"])
        self.assertTrue((made / "README.md").read_text().startswith("---\nlicense: apache-2.0\n---\n"))
        first = {path.name: path.read_bytes() for path in made.iterdir()}
        made.rename(self.folder / "first")
        self.convert(self.folder / "changed.gguf")
        self.assertEqual({path.name: path.read_bytes() for path in made.iterdir()}, first)


class TokenizerTest(ConvertTest):
    """The command compares both tokenizers on texts of all kinds, and refuses if they differ: here they must not."""

    def compared(self, metadata):
        done = self.convert(self.change(metadata))
        tokenizer = json.loads((self.folder / "made" / "tokenizer.json").read_text())
        shutil.rmtree(self.folder / "made")
        self.assertRegex(done.stderr, "the same tokens as the original for [3-9][0-9] test texts")
        return tokenizer

    def test_every_way_of_splitting(self):
        for pre in ("smollm", "gpt-2", "llama-bpe", "qwen2"):
            for begin in (True, False):
                with self.subTest(f"{pre}, {begin}"):
                    metadata = {"tokenizer.ggml.pre": pre, "tokenizer.ggml.add_bos_token": begin}
                    tokenizer = self.compared(metadata)
                    self.assertEqual(tokenizer["post_processor"]["type"], "Sequence" if begin else "ByteLevel")

    def test_a_token_behind_the_text(self):
        tokenizer = self.compared({"tokenizer.ggml.add_eos_token": True})
        single = tokenizer["post_processor"]["processors"][1]["single"]
        self.assertEqual(single[-1], {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}})

    def test_tokens_of_the_user_and_places_without_a_token(self):
        kinds = read_gguf(GGUF / "llama.gguf")[0]["tokenizer.ggml.token_type"]
        pieces = self.pieces()
        pieces[-1], kinds[-1] = "<tool> x", 4
        pieces[-2], kinds[-2] = "[PAD7]", 5
        merges = read_gguf(GGUF / "llama.gguf")[0]["tokenizer.ggml.merges"]
        merges = [merge for merge in merges if merge.replace(" ", "") in pieces]
        metadata = {"tokenizer.ggml.tokens": pieces, "tokenizer.ggml.token_type": kinds}
        tokenizer = self.compared(metadata | {"tokenizer.ggml.merges": merges})
        added = {token["content"]: token["special"] for token in tokenizer["added_tokens"]}
        self.assertEqual(added["<tool> x"], False)
        self.assertEqual(added["<|im_start|>"], True)
        self.assertNotIn("[PAD7]", tokenizer["model"]["vocab"])
        self.assertEqual(tokenizer["model"]["vocab"]["<tool> x"], len(pieces) - 1)

    def test_others_are_refused(self):
        pre = {"tokenizer.ggml.pre": "deepseek-llm"}
        self.refuse_changed(UNSUPPORTED, ["deepseek-llm", "smollm", "llama-bpe"], pre)
        self.refuse_changed(UNSUPPORTED, ["tokenizer.ggml.pre", "none"], {"tokenizer.ggml.pre": None})
        spm, _ = read_gguf(GGUF / "gemma2.gguf")
        count = len(self.pieces())
        cut = {
            key: value[:count] if isinstance(value, list) else value
            for key, value in spm.items()
            if key.startswith("tokenizer.")
        }
        if len(cut["tokenizer.ggml.tokens"]) < count:
            for key, more in (("tokens", "more{}"), ("scores", -1000.0), ("token_type", 1)):
                old = cut[f"tokenizer.ggml.{key}"]
                fill = [more.format(i) if isinstance(more, str) else more for i in range(count - len(old))]
                cut[f"tokenizer.ggml.{key}"] = old + fill
        self.refuse_changed(UNSUPPORTED, ["byte-level BPE", '"llama"'], cut)

    def test_damaged_lists(self):
        merges = read_gguf(GGUF / "llama.gguf")[0]["tokenizer.ggml.merges"]
        self.refuse_changed(BAD_FILE, ["merges", "zz qq"], {"tokenizer.ggml.merges": [*merges, "zz qq"]})
        pieces = self.pieces()
        pieces[40] = pieces[41]
        self.refuse(BAD_FILE, ["changed.gguf"], "model", self.change({"tokenizer.ggml.tokens": pieces}), "-o", "made")


class RefusedTest(ConvertTest):
    def test_architectures(self):
        for name, words in (
            ("gemma2", ["byte-level BPE", '"llama"']),  # whose weights have a place, but not its tokenizer
            ("olmo3", ["olmo2.attention.sliding_window", "would be lost"]),
            ("mamba", ['"mamba"', "gpt2", "llama", "gemma3", "cohere2"]),
            ("gpt_oss", ["gpt_oss", "stacks its experts in another way", "the file itself"]),
        ):
            self.refuse(UNSUPPORTED, words, "model", GGUF / f"{name}.gguf", "-o", "made")

    def test_sinks_that_are_no_tokens(self):
        """gpt-oss has every method from its file, though it cannot become a folder."""
        asked = ("explain", "The key to", "--model", GGUF / "gpt_oss.gguf", "--method", "raw,rollout,flow,attnlrp")
        for mixing, has_note in (("attention", True), ("relevance", False), ("alti", False)):
            self.run_program(*asked, "--mixing", mixing, "-o", f"{mixing}.json")
            report = json.loads((self.folder / f"{mixing}.json").read_text())
            shares = [note["values"]["share"] for note in report["notes"] if note["code"] == "learned-sinks"]
            self.assertEqual(len(shares), has_note)
            if has_note:
                self.run_program(*asked, "--mixing", mixing, "-o", "a.npz")
                raw = np.load(self.folder / "a.npz")["raw"]
                self.assertAlmostEqual(shares[0], 1 - raw[:, -1].sum() / len(raw), places=6)
                self.assertGreater(shares[0], 0.01)

    def test_sinks_in_a_generation(self):
        asked = ("generate", "The key to", "--model", GGUF / "gpt_oss.gguf", "--mixing", "attention", "-n", "3")
        said = " ".join(self.run_program(*asked, "--ignore-end").stdout.split())
        self.assertIn("goes to learned sinks", said)
        self.assertNotIn("the rest falls on generated tokens", said)

    def test_what_has_no_place(self):
        for words, metadata, tensors in (
            (["blk.0.attn_q_norm.weight"], {}, {"blk.0.attn_q_norm.weight": np.ones(8, np.float32)}),
            (["llama.attention.scale"], {"llama.attention.scale": 0.5}, {}),
            (["sliding_window"], {"llama.attention.sliding_window": 16}, {}),
            (["dynamic"], {"llama.rope.scaling.type": "dynamic"}, {}),
            (["dimension_count", "whole heads", "expected 8", "found 4"], {"llama.rope.dimension_count": 4}, {}),
            (["blk.0.attn_q.bias", "would be lost"], {}, {"blk.0.attn_q.bias": np.zeros(32, np.float32)}),
            (
                ["expected frequency factors (rope_freqs.weight)"],
                {},
                {"rope_freqs.weight": np.array([1, 2, 1, 3], np.float32)},
            ),
        ):
            with self.subTest(words):
                self.refuse_changed(UNSUPPORTED, words, metadata, tensors)

    def test_settings_that_mean_nothing(self):
        metadata = {"llama.expert_count": 0, "llama.attention.sliding_window": 0, "llama.rope.scaling.type": "none"}
        self.convert(self.change(metadata, {"rope_freqs.weight": np.ones(4, np.float32)}))
        config = json.loads((self.folder / "made" / "config.json").read_text())
        self.assertNotIn("rope_scaling", config)

    def test_damage(self):
        bad = np.ones(32, np.float32)
        bad[3] = np.nan
        for words, metadata, tensors in (
            (["model.layers.1.mlp.up_proj.weight"], {}, {"blk.1.ffn_up.weight": None}),
            (["output_norm.weight", "nan"], {}, {"output_norm.weight": bad}),
            (["output_norm.weight", "[32]", "[16]"], {}, {"output_norm.weight": bad[16:]}),
            (["llama.block_count"], {"llama.block_count": None}, {}),
            (["num_attention_heads", "4 and 3"], {"llama.attention.head_count_kv": 3}, {}),
            (["expected 4", "found 3"], {}, {"rope_freqs.weight": np.ones(3, np.float32)}),
            (["first of 3", "-00001-of-00003.gguf", "--merge"], {"split.count": 3}, {}),
        ):
            with self.subTest(words):
                self.refuse_changed(BAD_FILE, words, metadata, tensors)

    def test_usage(self):
        self.refuse(USAGE, ["convert", "attnflow model FILE.gguf -o"], "convert", GGUF / "llama.gguf", "-o", "made")
        self.refuse(USAGE, [".gguf", "none"], "model", "-o", "made")
        self.refuse(USAGE, ["--card", "-o"], "model", GGUF / "llama.gguf", "--card", "-o", "made")
        self.refuse(USAGE, [".gguf", "llama_grouped"], "model", DECODERS / "llama_grouped", "-o", "made")
        self.refuse(BAD_FILE, ["nothing.gguf"], "model", "nothing.gguf", "-o", "made")
        self.refuse(OTHER, ["no folder", "create it"], "model", GGUF / "llama.gguf", "-o", "not/there")
        (self.folder / "made").mkdir()
        (self.folder / "made" / "mine.txt").write_text("mine")
        self.refuse(USAGE, ["made", "new folder"], "model", GGUF / "llama.gguf", "-o", "made")
        self.refuse(USAGE, ["made", "new folder"], "model", GGUF / "llama.gguf", "-o", "made/")


if __name__ == "__main__":
    unittest.main()
