"""`--mixing norm|alti|ifr|value-zeroing` with GGUF files: libllama compared with the folder of the same weights."""

import csv
import json
import os
import unittest

import numpy as np
from gguf_folder import as_gguf, read_gguf, write_gguf
from support import ROOT, UNSUPPORTED, CommandTest

DECODERS = ROOT / "tests" / "golden" / "decoders"
GGUF = ROOT / "tests" / "golden" / "gguf"
TEXT = "the key to the cabinets is on the table"
METHODS = ("norm", "alti", "ifr", "value-zeroing")
# Both compute in float32, in different orders.
TOLERANCE = 1e-5
# libllama's GELU is a table of half-precision numbers; it comes after the first layer's attention.
GELU_TOLERANCE = 1e-3


class GgufContributionsTest(CommandTest):
    def arrays(self, name):
        with np.load(self.folder / name) as arrays:
            return dict(arrays)

    def explained(self, model, mixing, *more):
        self.run_program("explain", TEXT, "--model", model, "--mixing", mixing, *more, "-o", "a.npz")
        return self.arrays("a.npz")

    def compare(self, file, folder, tolerance=TOLERANCE, mixings=METHODS):
        for mixing in mixings:
            with self.subTest(mixing=mixing):
                found, expected = self.explained(file, mixing), self.explained(folder, mixing)
                for method in ("raw", "rollout", "flow"):
                    if mixing != "value-zeroing":  # which also passes through the feed-forward network
                        np.testing.assert_allclose(found[method][0], expected[method][0], atol=TOLERANCE, rtol=0)
                    np.testing.assert_allclose(found[method], expected[method], atol=tolerance, rtol=0)
                # Far from attention, which would show up if only that were passed on.
                attention = self.explained(file, "attention")
                self.assertGreater(np.abs(found["raw"] - attention["raw"]).max(), 0.01)

    def test_the_folder_that_is_made_of_the_file(self):
        self.run_program("model", GGUF / "llama.gguf", "-o", "folder")
        self.compare(GGUF / "llama.gguf", "folder")

    def test_families(self):
        """Query, key and value in one matrix, with biases for all of them (GPT-2); separate biases for the three
        (Qwen2)."""
        for name in ("gpt2_base", "qwen2_tied", "llama_grouped", "llama_scaled"):
            with self.subTest(name):
                write_gguf(self.folder / f"{name}.gguf", *as_gguf(DECODERS / name))
                self.compare(f"{name}.gguf", DECODERS / name, GELU_TOLERANCE if "gpt2" in name else TOLERANCE)

    def renamed(self, family, **settings):
        """The small model's metadata, relabeled as another architecture."""
        metadata, tensors = read_gguf(GGUF / "llama.gguf")
        renamed = {
            (key.replace("llama.", f"{family}.") if key.startswith("llama.") else key): value
            for key, value in metadata.items()
        }
        more = {f"{family}.{key}": value for key, value in settings.items()}
        return renamed | {"general.architecture": family} | more, tensors

    def test_a_factor_behind_the_projection(self):
        """Granite multiplies its blocks' outputs; Llama with smaller matrices computes the same."""
        factor = 0.375
        write_gguf(self.folder / "granite.gguf", *self.renamed("granite", residual_scale=factor, logit_scale=1.0))
        metadata, tensors = read_gguf(GGUF / "llama.gguf")
        for name in tensors:
            if name.endswith(("attn_output.weight", "ffn_down.weight")):
                tensors[name] = np.float32(factor) * tensors[name]
        write_gguf(self.folder / "llama.gguf", metadata, tensors)
        self.compare("granite.gguf", "llama.gguf")

    def test_a_feed_forward_net_beside_the_attention(self):
        metadata, tensors = self.renamed("falcon", **{"attention.layer_norm_epsilon": 1e-5})
        made = {name: tensors[name] for name in tensors if not name.startswith("blk.")}
        made["output_norm.bias"] = np.zeros_like(tensors["output_norm.weight"])
        for layer in range(metadata["falcon.block_count"]):
            for name in ("attn_norm", "attn_output", "ffn_up", "ffn_down"):
                made[f"blk.{layer}.{name}.weight"] = tensors[f"blk.{layer}.{name}.weight"]
            made[f"blk.{layer}.attn_norm.bias"] = made["output_norm.bias"]
            made[f"blk.{layer}.attn_qkv.weight"] = np.concatenate(
                [tensors[f"blk.{layer}.attn_{part}.weight"] for part in "qkv"]
            )
        write_gguf(self.folder / "falcon.gguf", metadata, made)
        # From the torch backend: libllama's graph has no stream after the attention alone.
        self.run_program("model", "falcon.gguf", "-o", "folder")
        self.compare("falcon.gguf", "folder", mixings=("norm", "alti", "ifr"))
        explain = ("explain", TEXT, "--model", "falcon.gguf", "--mixing", "value-zeroing")
        self.refuse(UNSUPPORTED, ["value-zeroing"], *explain)

    def test_generation(self):
        """Token by token with the cache; the last token's row is that of an explanation of all preceding tokens."""
        self.run_program("model", GGUF / "llama.gguf", "-o", "folder")
        made = []
        for number, model in enumerate((GGUF / "llama.gguf", "folder")):
            self.run_program(
                *("generate", TEXT, "--model", model, "--mixing", "alti", "-n", "6"),
                *("-o", f"{number}.npz", "-o", f"{number}.json"),
            )
            made.append(self.arrays(f"{number}.npz"))
        self.assertEqual(list(made[0]["generated_tokens"]), list(made[1]["generated_tokens"]))
        self.assertEqual(len(made[0]["generated_tokens"]), 6)
        np.testing.assert_allclose(made[0]["rollout"], made[1]["rollout"], atol=TOLERANCE, rtol=0)
        first = self.explained(GGUF / "llama.gguf", "alti", "--output-token", "last")
        np.testing.assert_allclose(made[0]["rollout"][0].T, first["rollout"][:, -1], atol=TOLERANCE, rtol=0)

    def test_evidence(self):
        rows = [("a b c d", "e", "f", "b"), ("the key to the", "a", "b", "key")]
        with (self.folder / "e.csv").open("w") as file:
            csv.writer(file).writerows([("prefix", "good", "bad", "evidence"), *rows])
        self.run_program("model", GGUF / "llama.gguf", "-o", "folder")
        values = []
        for model in (GGUF / "llama.gguf", "folder"):
            evidence = ("evaluate", "evidence", "--model", model, "--data", "e.csv", "--mixing", "alti,norm")
            report = json.loads(self.run_program(*evidence, "--scores", "blank-out", "--json").stdout)
            self.assertEqual(report["impossible_mixings"], {})
            values.append([cell for cell in report["cells"] if cell.get("mixing") in ("alti", "norm")])
        self.assertEqual(*values)
        self.assertGreater(len(values[0]), 0)

    def test_refused(self):
        norms = ["RMS_NORM after the output projection", "--mixing attention", "attnflow model FILE.gguf -o FOLDER"]
        for name, mixing, words in (
            ("olmo3", "alti", norms),  # with a setting that nothing but libllama knows
            ("llama", "globenc", ["mixing globenc", "norm after attention"]),
        ):
            explain = ("explain", TEXT, "--model", GGUF / f"{name}.gguf", "--mixing")
            self.refuse(UNSUPPORTED, words, *explain, mixing)
            self.run_program(*explain, "attention")

    @unittest.skipUnless(os.environ.get("ATTNFLOW_SMOLLM2"), "ATTNFLOW_SMOLLM2 does not name the model's file")
    def test_smollm2(self):
        """Activations are rounded to 8 bits where weights have 4; those of the folder are not."""
        model = os.environ["ATTNFLOW_SMOLLM2"]
        self.run_program("model", model, "-o", "folder")
        for mixing in METHODS:
            found = self.explained(model, mixing, "--method", "raw,rollout")
            expected = self.explained("folder", mixing, "--method", "raw,rollout")
            for method in ("raw", "rollout"):
                difference = np.abs(found[method] - expected[method])
                # Value zeroing compares outputs that hardly differ.
                factor = 10 if mixing == "value-zeroing" else 1
                self.assertLess(difference.max(), 0.03 * factor, (mixing, method))
                self.assertLess(difference.mean(), 2e-3 * factor, (mixing, method))


if __name__ == "__main__":
    unittest.main()
