"""GGUF files of every family that both engines run: libllama's attention and prediction, and the gradients that the
torch backend takes from the file, are those of the folder of the same weights."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import families
import numpy as np
import transformers

sys.path.append(str(families.ROOT / "tests" / "cli"))
from gguf_folder import ARCHITECTURES, as_gguf, write_gguf  # noqa: E402

# The same weights in the same order; a norm's w + 1 is rounded to float32.
GRADIENTS = 1e-5
# Both engines compute in float32, in different orders.
TOLERANCE = 2e-6
# libllama's GELU is a table of half-precision numbers, and has tanh where GPT-NeoX and Falcon have the error function.
GELU_TOLERANCE = 5e-3
GELU = ("gpt2", "gemma", "phi ", "starcoder2", "gpt_neox", "falcon", "bloom")

LINEAR = {
    "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
}
# Longer than the text, so that libllama chooses the factors for short texts.
LONGER = {"original_max_position_embeddings": 512}
LONGROPE = {"max_position_embeddings": 1024, "rope_parameters": families.LONGROPE | LONGER} | LONGER
PHI3 = {"sliding_window": None, "original_max_position_embeddings": 64}
PARTIAL = {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.75}}
GEMMA = {"head_dim": 12, "sliding_window": 6, "query_pre_attn_scalar": 12}
FALCON = {"ffn_hidden_size": 128, "num_kv_heads": 1}
GROUPED = {"new_decoder_architecture": True, "num_kv_heads": 2}
# Settings that libllama reads, with values other than the usual; variants have another word in their names.
GIVEN = {
    "gpt2": {"n_inner": 128},
    "llama": {},
    "mistral": {"sliding_window": None},
    "qwen2": {},
    "qwen2 yarn": {"rope_parameters": families.YARN},
    "qwen3": {"head_dim": 12},
    "qwen3_moe": families.DECODERS["qwen3_moe"].given,
    "mixtral": families.EXPERTS,
    "gpt_oss": families.GPT_OSS,
    "olmoe": families.EXPERTS | {"num_key_value_heads": 4},  # as libllama expects
    "smollm3": {},
    "granite": families.DECODERS["granite"].given,
    "olmo2": {},
    "gemma": {"head_dim": 12},
    "gemma2": GEMMA | {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 5.0},
    "gemma3_text": GEMMA | {"num_hidden_layers": 7},
    "gemma3_text linear": GEMMA | {"num_hidden_layers": 7, "rope_parameters": LINEAR},
    "gemma3_text whole": GEMMA | {"sliding_window": None, "layer_types": ["full_attention"] * 4},
    "phi": {"num_key_value_heads": 4},
    "phi3": PHI3,
    "phi3 longrope": PHI3 | LONGROPE,
    "phi3 partial": PHI3 | PARTIAL,
    "starcoder2": {"sliding_window": None},
    "stablelm": {"use_qkv_bias": True, "num_key_value_heads": 4},
    "stablelm parallel": {"use_parallel_residual": True},
    "gpt_neox": {},
    "gpt_neox serial": {"use_parallel_residual": False},
    "falcon": FALCON,
    "falcon grouped": FALCON | GROUPED,
    "falcon shared": FALCON | GROUPED | {"num_ln_in_parallel_attn": 1},
    "bloom": {"seq_length": 64},
    "cohere": {"logit_scale": 0.5},
    "cohere2": {"sliding_window": 6, "logit_scale": 0.5},
}

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class GgufFamiliesTest(unittest.TestCase):
    def compare(self, name, folder, file):
        asked = ("explain", families.TEXT, "--force", "--mixing", "attention", "--keep-attention")
        asked += ("--method", "raw,gradient-x-input")
        (report, expected), (told, found) = (families.reported(model, *asked) for model in (folder, file))
        self.assertEqual(list(found["tokens"]), list(expected["tokens"]))
        tolerance = GELU_TOLERANCE if f"{name} ".startswith(GELU) else TOLERANCE
        np.testing.assert_allclose(found["attention"], expected["attention"], rtol=0, atol=tolerance)
        likely, choice = (one["predictions"][0]["choices"][0] for one in (report, told))
        self.assertEqual(choice["label"], likely["label"])
        self.assertAlmostEqual(choice["probability"], likely["probability"], delta=tolerance)
        largest = np.abs(expected["gradient_x_input"]).max()
        self.assertGreater(largest, 0)
        difference = np.abs(found["gradient_x_input"] - expected["gradient_x_input"]).max()
        self.assertLess(difference, GRADIENTS * largest)

    def written(self, name, folder):
        """A folder, and a file of the same weights."""
        usual = families.DECODERS[name.split()[0]]
        family = families.Family(usual.name, GIVEN[name], usual.without, values=usual.values)
        families.save(family.build(), usual, folder)
        return as_gguf(folder)

    def test_file_and_folder_agree(self):
        for name in GIVEN:
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="attnflow.") as made:
                file = Path(made) / "model.gguf"
                write_gguf(file, *self.written(name, Path(made)))
                self.compare(name, Path(made), file)

    def test_a_window_that_libllama_ignores(self):
        with tempfile.TemporaryDirectory(prefix="attnflow.") as made:
            metadata, tensors = self.written("phi3", Path(made))
            file = Path(made) / "model.gguf"
            write_gguf(file, metadata | {"phi3.attention.sliding_window": 6}, tensors)
            self.compare("phi3", Path(made), file)

    def test_every_family_that_the_program_names_has_a_row(self):
        with tempfile.TemporaryDirectory(prefix="attnflow.") as made:
            file = Path(made) / "model.gguf"
            write_gguf(file, {"general.architecture": "none_of_these"}, {"x": np.zeros(1, np.float32)})
            command = [families.PROGRAM, "model", file, "-o", Path(made) / "folder"]
            refused = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        named = refused.split("(")[1].split(")")[0].split(", ")
        self.assertEqual(sorted(named), sorted({ARCHITECTURES.get(name.split()[0], name.split()[0]) for name in GIVEN}))


if __name__ == "__main__":
    unittest.main()
