"""Small random encoder-decoders: a Hugging Face folder for each, and what transformers computes from it."""

from dataclasses import dataclass, field

import numpy as np
import random_models
import small_tokenizers
import torch
import transformers
from golden_io import write_json, write_npz
from random_models import fill, load

from reference.attention_graph import joint_attention

POSITIONS = 40
TEXT = "the author talk about the key on her table"
GENERATED = 6


@dataclass
class Recipe(random_models.Recipe):
    generation: dict = field(default_factory=dict)

    @property
    def is_t5(self):
        return self.model_class.startswith("T5")


# A model's index is its seed: new ones go last.
RECIPES = [
    Recipe("t5_tied", "T5ForConditionalGeneration", "relu, tied, d_kv given, few buckets"),
    Recipe(
        "t5_untied",
        "T5ForConditionalGeneration",
        "version 1.1: gated, untied",
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
    Recipe("bart", "BartForConditionalGeneration", "learnt positions, norms behind blocks"),
    Recipe(
        "mbart",
        "MBartForConditionalGeneration",
        "norms before blocks, a language in front of the target",
        {"scale_embedding": True},
        {"forced_bos_token_id": 3},
    ),
    Recipe(
        "marian",
        "MarianMTModel",
        "sinusoidal positions, no padding in targets",
        {"activation_function": "swish"},
        {"bad_words_ids": [[0]]},
    ),
]


def make_config(recipe, vocabulary):
    # No two of the sizes are equal, so that a transposed or mixed-up weight cannot fit.
    if recipe.is_t5:
        sizes = {"d_model": 18, "d_kv": 5, "d_ff": 22, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 3}
        sizes |= {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
    else:
        sizes = {"d_model": 18, "encoder_layers": 3, "decoder_layers": 2, "max_position_embeddings": POSITIONS}
        sizes |= {f"{half}_attention_heads": 3 for half in ("encoder", "decoder")}
        sizes |= {"encoder_ffn_dim": 22, "decoder_ffn_dim": 26, "forced_eos_token_id": None}
    special = {"pad_token_id": 0, "bos_token_id": 3, "eos_token_id": 1, "decoder_start_token_id": 0}
    return recipe.config(sizes | special | {"vocab_size": vocabulary})


def write_folder(recipe, folder, seed):
    folder.mkdir()
    backend, vocabulary = small_tokenizers.source_and_target(folder)
    model = recipe.build(make_config(recipe, vocabulary))
    if recipe.name == "t5_untied":
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    # Sinusoidal positions, which need no gradient, follow from the config.
    parameters = [(name, parameter) for name, parameter in sorted(model.named_parameters()) if parameter.requires_grad]
    random = np.random.RandomState(seed)
    fill(parameters, random, lambda name: "norm" in name, {})
    if hasattr(model, "final_logits_bias"):
        noise = random.standard_normal(tuple(model.final_logits_bias.shape))
        model.final_logits_bias.copy_(torch.from_numpy(noise.astype(np.float32)))
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, **recipe.generation
    )
    model.eval().save_pretrained(folder)
    return model, backend


def run(model, source, target):
    with torch.inference_mode():
        output = model(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]), output_attentions=True
        )
    return {"attention": np.stack(joint_attention(output))[:, 0], "logits": output.logits[0].numpy()}


def make_cases(recipe, model, backend, vocabulary, seed):
    """Cases for the index, and arrays by name."""
    random = np.random.RandomState(seed + 500)
    begin = [0, *([recipe.generation["forced_bos_token_id"]] if "forced_bos_token_id" in recipe.generation else [])]
    cases = []
    arrays = {}
    for number, (name, m, k) in enumerate([("one", 1, 0), ("nine", 9, 5), ("twenty", 20, 8), ("text", 0, GENERATED)]):
        source = [int(i) for i in random.randint(0, vocabulary, m)]
        target = begin + [int(i) for i in random.randint(0, vocabulary, k)]
        case = {"name": name}
        if name == "text":
            source = backend.encode(TEXT).ids
            with torch.inference_mode():
                written = model.generate(torch.tensor([source]), max_new_tokens=len(begin) - 1 + k)[0].tolist()
            # An end token would leave nothing to compare.
            if written[: len(begin)] != begin or len(written) != len(begin) + k:
                raise AssertionError(f"{recipe.name}: writes {written}")
            target = written
            case |= {"text": TEXT, "generated": k}
        cases.append(case | {"source": source, "target": target})
        arrays |= {f"case{number}_{key}": value for key, value in run(model, source, target).items()}
    return begin, cases, arrays


def generate(out):
    out.mkdir()
    models = []
    for place, recipe in enumerate(RECIPES):
        seed = 5000 + place
        folder = out / recipe.name
        built, backend = write_folder(recipe, folder, seed)
        model = load(recipe, folder, built)
        vocabulary = backend.get_vocab_size()
        begin, cases, arrays = make_cases(recipe, model, backend, vocabulary, seed)
        recipe.require_numbers(arrays, (np.float32,))
        write_npz(out / f"{recipe.name}.npz", arrays)
        models.append(
            recipe.entry(folder)[0]
            | {
                "encoder_layers": 3,
                "decoder_layers": 2,
                "heads": 3,
                "hidden": 18,
                "vocabulary": vocabulary,
                "begin": begin,
                "cases": cases,
            }
        )
    write_json(out / "index.json", {"format": "attnflow-golden-encoder-decoders", "version": 1, "models": models})
