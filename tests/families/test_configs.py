"""Whatever a config.json says that transformers reads is followed or refused; tied tables may have either name.

ATTNFLOW_CONFIG_CASES is the number of changed configs to try in addition to those listed here (0: all, an hour), and
ATTNFLOW_CONFIG_SEED selects them. mutated_configs.py tries those of one family or key.
"""

import dataclasses
import json
import os
import tempfile
import unittest
import warnings
from collections import Counter
from pathlib import Path

import families
import mutated_configs
import safetensors.torch
import transformers
from mutated_configs import Case

transformers.logging.set_verbosity(50)
transformers.utils.logging.disable_progress_bar()
warnings.simplefilter("ignore")

CASES = int(os.environ.get("ATTNFLOW_CONFIG_CASES", "100"))
SEED = int(os.environ.get("ATTNFLOW_CONFIG_SEED", "1"))

SLIDING, FULL = "sliding_attention", "full_attention"
LINEAR = {"rope_type": "linear", "factor": 2.0}
GONE = object()
# Each was once silently computed differently from transformers, or refused although it is common.
KNOWN = [
    ("mistral", {"layer_types": [SLIDING, FULL, FULL, SLIDING]}),
    ("phi3", {"layer_types": [SLIDING, FULL, FULL, SLIDING]}),
    ("phi3 longrope", {"original_max_position_embeddings": GONE}),
    ("gpt2", {"num_attention_heads": 8}),
    ("gpt_neo", {"num_attention_heads": 2}),
    ("gptj", {"rope_scaling": LINEAR}),
    ("gptj", {"rope_parameters": {"rope_theta": 50.0}}),
    ("bloom", {"num_attention_heads": 8}),
    ("gemma", {"hidden_act": "gelu_python"}),
    ("gemma3_text", {"attn_logit_softcapping": 2.0}),
    ("gemma3_text", {"rope_parameters": {"rope_theta": 50.0}}),
    ("gemma3_text", {"rope_scaling": LINEAR}),
    ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}),
    ("distilbert", {"num_attention_heads": 8}),
    ("modernbert", {"sliding_window": 1}),
    ("deberta-v2", {"share_att_key": GONE, "norm_rel_ebd": GONE}),
    ("t5", {"feed_forward_proj": "gated-gelu", "dense_act_fn": "silu", "is_gated_act": GONE}),
    ("t5", {"feed_forward_proj": "gelu", "is_gated_act": True, "dense_act_fn": GONE}),
    ("t5", {"scale_decoder_outputs": None}),
    ("t5", {"num_attention_heads": 8}),
    ("marian", {"num_hidden_layers": 2}),
]


def tried(case: Case) -> str:
    became, said = mutated_configs.try_case(case)
    return f"{became}: {said}"


class ConfigsTest(unittest.TestCase):
    def test_known_settings_are_followed(self):
        for name, changes in KNOWN:
            with self.subTest(name, **{key: str(value) for key, value in changes.items()}):
                config = json.loads(mutated_configs.saved_config(name))
                config |= changes
                config = {key: value for key, value in config.items() if value is not GONE}
                became = tried(Case(name, next(iter(changes)), config))
                self.assertTrue(became.startswith("followed"), became)

    def test_what_no_backend_computes_is_refused(self):
        for name, key, value in (
            ("llama", "is_causal", None),
            ("bart", "is_causal", False),
            ("t5", "dense_act_fn", "relu2"),
        ):
            with self.subTest(name, key=key):
                config = json.loads(mutated_configs.saved_config(name)) | {key: value}
                became = tried(Case(name, key, config))
                self.assertTrue(became.startswith("refused"), became)
                self.assertIn(key, became)

    def test_nothing_that_transformers_reads_is_ignored(self):
        names = [name for name, family in families.FAMILIES.items() if not CASES or not family.head]
        cases = mutated_configs.every_case(names)
        if CASES:
            cases = mutated_configs.sample(cases, SEED, CASES)
        counts: Counter[str] = Counter()
        for case in cases:
            became, said = mutated_configs.try_case(case)
            counts[became] += 1
            with self.subTest(str(case)):
                self.assertNotIn(became, ("different", "failed"), f"{case}: {said}")
        print(f"{len(cases)} changed configs: {dict(counts)}")
        self.assertGreater(counts["followed"], len(cases) // 4)
        self.assertGreater(counts["refused"], 0)

    def test_tables_that_are_one_may_have_either_name(self):
        tried = 0
        for name, family in families.FAMILIES.items():
            if family.is_of_pictures or family.head or not family.predicts or " " in name:
                continue
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="attnflow.") as place:
                folder = Path(place)
                tied = dataclasses.replace(family, given=family.given | {"tie_word_embeddings": True})
                model = tied.build()
                if family.has_source:
                    model.generation_config = families.generation_of(family)
                families.save(model, family, folder)
                tensors = safetensors.torch.load_file(folder / "model.safetensors")
                (other,) = [key for key in model.all_tied_weights_keys if key in names_of_output(model)]
                table = model.all_tied_weights_keys[other]
                tensors[other] = tensors.pop(next(key for key in tensors if same_table(key, table)))
                safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
                self.assertLess(mutated_configs.difference_of_folder(family, model, folder), mutated_configs.TOLERANCE)
                tried += 1
        self.assertGreater(tried, 40)


def names_of_output(model) -> set[str]:
    output = model.get_output_embeddings()
    return {f"{name}.weight" for name, module in model.named_modules() if module is output}


def same_table(stored: str, table: str) -> bool:
    """Files of some families use another prefix than the model's own names."""
    return stored == table or stored.split(".")[-2:] == table.split(".")[-2:]


if __name__ == "__main__":
    unittest.main()
