"""Settings of generation_config.json: the program's texts under them, compared with transformers' generate().

Every key that transformers reads is in one of the tables below; a key from a newer version fails the test for that.
"""

import json
import tempfile
import unittest
from pathlib import Path

import families
import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

TOKENS = 10
# Settings that have no effect here: the random models' texts repeat nothing from the prompt.
WITHOUT_EFFECT = {"forced_bos_token_id", "encoder_no_repeat_ngram_size"}
# Followed: the values to try for each, for vocabularies of at least 49 tokens. [] means what the model writes by
# itself.
FOLLOWED = {
    "repetition_penalty": [1.3, 3.0, 0.5],
    "encoder_repetition_penalty": [4.0, 0.4],
    "no_repeat_ngram_size": [1, 2, 3],
    "encoder_no_repeat_ngram_size": [1, 2],
    "bad_words_ids": ["each", "pairs", [[3], [2]]],
    "sequence_bias": ["away", [[[5], 9.0], [[5, 5], -90.0]]],
    "min_length": [30],
    "min_new_tokens": [9],
    "forced_bos_token_id": [7],
    "exponential_decay_length_penalty": [[2, 3.0]],
    "suppress_tokens": ["all"],
    "begin_suppress_tokens": ["all", "forced"],
}
# Reported in a note if they would change the text. Each has a value here that does.
LEFT = {
    "num_beams": 4,
    "penalty_alpha": 0.6,
    "dola_layers": "high",
    "guidance_scale": 1.5,
    "constraints": [1],
    "force_words_ids": [[1]],
    "stop_strings": ["x"],
    "max_time": 1.0,
    "token_healing": True,
    "watermarking_config": {"bias": 2.5},
    "num_beam_groups": 2,
    "diversity_penalty": 0.5,
    "length_penalty": 2.0,
    "early_stopping": True,
    "do_sample": True,
    "temperature": 0.6,
    "top_p": 0.9,
    "top_k": 20,
    "min_p": 0.1,
    "top_h": 0.4,
    "typical_p": 0.5,
    "epsilon_cutoff": 0.1,
    "eta_cutoff": 0.1,
    "forced_eos_token_id": 3,
    "max_new_tokens": 2,
}
# Where a text begins and ends, which is read elsewhere; multiple texts, speed, memory, and return values.
NOTHING = set(
    """_from_model_config max_length use_mtp use_cache cache_implementation cache_config max_cache_len renormalize_logits
    remove_invalid_values num_return_sequences output_attentions output_hidden_states output_scores output_logits
    return_dict_in_generate pad_token_id bos_token_id eos_token_id decoder_start_token_id is_assistant
    num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold prompt_lookup_num_tokens
    max_matching_ngram_size assistant_early_exit assistant_lookbehind target_lookbehind assistant_ensemble_weight
    speculation_type compile_config disable_compile continuous_batching_config low_memory prefill_chunk_size
    transformers_version""".split()
)


def never_chosen(family):
    """The last id, which the random models do not choose by themselves."""
    return len(families.vocabulary_of(family)) - 1


def settings_for(key, value, ids):
    """Settings with ids that the model writes, so that the rule has an effect."""
    made = {
        "each": [[ids[0]], [ids[2]]],
        "pairs": [[ids[0], ids[1]], [ids[3], ids[4], ids[5]]],
        "away": [[[ids[0]], -50.0], [[ids[1], ids[2]], -60.0]],
        "all": sorted(set(ids))[:2] + [ids[0]],
    }
    # The first token chosen is then the one after a target's forced one.
    forced = {"forced_bos_token_id": 7} if value == "forced" else {}
    made["forced"] = [id for id in range(49) if id not in ids[3:]]
    return forced | {key: made.get(value, value) if isinstance(value, str) else value}


class GenerationSettingsTest(unittest.TestCase):
    maxDiff = None

    def written(self, folder, settings):
        """The report, with the model's own settings replaced."""
        (folder / "generation_config.json").write_text(json.dumps(settings))
        options = ("generate", families.TEXT, "-n", str(TOKENS), "--method", "raw", "--mixing", "attention")
        return families.reported(folder, *options)[0]

    def test_texts_are_those_of_transformers(self):
        changed = {key: 0 for key in FOLLOWED}
        for name in ("llama", "t5"):
            family = families.FAMILIES[name]
            model = family.build()
            usual = {"eos_token_id": never_chosen(family), "pad_token_id": 0, "bos_token_id": 1}
            usual |= {"decoder_start_token_id": 0} if family.has_source else {}
            with tempfile.TemporaryDirectory(prefix="attnflow.") as made:
                folder = Path(made)
                families.save(model, family, folder)
                report = self.written(folder, usual)
                plain = [token["id"] for token in report["generation"]["tokens"]]
                read = [t for t in report["input"]["tokens"] if t["segment"] == 0]
                read = torch.tensor([[families.vocabulary_of(family)[token["text"]] for token in read]])
                tried = [(key, value) for key, values in FOLLOWED.items() for value in values]
                for key, value in tried:
                    # A minimum length extends a text that would otherwise end at once.
                    ends = {"eos_token_id": plain[0]} if key in ("min_length", "min_new_tokens") else {}
                    before = plain[:1] if ends else plain
                    settings = usual | ends | settings_for(key, value, plain)
                    with self.subTest(name, **settings):
                        report = self.written(folder, settings)
                        found = [token["id"] for token in report["generation"]["tokens"]]
                        model.generation_config = transformers.GenerationConfig(**settings)
                        # The program counts a target's forced token among the given ones.
                        forced = int(family.has_source and "forced_bos_token_id" in settings)
                        new = {"max_new_tokens": TOKENS + forced, "do_sample": False, "num_beams": 1}
                        with torch.no_grad():
                            whole = model.generate(read, **new)[0].tolist()
                        expected = whole[1 + forced if family.has_source else read.shape[1] :]
                        self.assertEqual(found, expected)
                        changed[key] += found != before
                        notes = [note for note in report["notes"] if note["code"] == "generation-rules"]
                        by_rule = not forced or key != "forced_bos_token_id"
                        if found != before and by_rule and "bad_words_ids" not in settings:
                            self.assertEqual(len(notes), 1, report["notes"])
                            self.assertIn(key, notes[0]["text"])
        # A rule that changed no text was not tested.
        self.assertEqual([key for key, count in changed.items() if count == 0 and key not in WITHOUT_EFFECT], [])

    def test_every_key_is_followed_named_or_changes_nothing(self):
        keys = set(transformers.GenerationConfig().to_dict())
        self.assertEqual(keys - FOLLOWED.keys() - LEFT.keys() - NOTHING, set())
        family = families.FAMILIES["llama"]
        with tempfile.TemporaryDirectory(prefix="attnflow.") as made:
            folder = Path(made)
            families.save(family.build(), family, folder)
            report = self.written(folder, {"max_length": 3, "eos_token_id": never_chosen(family)} | LEFT)
            (note,) = [note for note in report["notes"] if note["code"] == "generation-settings-left"]
            named = {setting.split(" ")[0] for setting in note["values"]["settings"]}
            self.assertEqual(named, set(LEFT))
            self.assertEqual(note["values"]["file"], "generation_config.json")
            self.assertIn("each token is the most probable one", note["text"])


if __name__ == "__main__":
    unittest.main()
