"""Small random decoders: a Hugging Face folder for each, and what transformers computes from it."""

import re
from dataclasses import dataclass

import numpy as np
import random_models
import safetensors.numpy
import small_tokenizers
import target_gradients
import torch
import transformers
from golden_io import write_json, write_npz
from random_models import fill, load
from torch import nn

# Enough positions for more than one chunk of queries, and for widely different rotations.
POSITIONS = 320
# Labels of the differentiated targets: small ids, which every vocabulary has.
LABEL, OTHER = 5, 9
TARGETS = {
    "logit": lambda logits: logits[LABEL],
    "probability": lambda logits: torch.softmax(logits, dim=-1)[LABEL],
    "difference": lambda logits: torch.softmax(logits, dim=-1)[LABEL] - torch.softmax(logits, dim=-1)[OTHER],
}


@dataclass
class Recipe(random_models.Recipe):
    dtype: torch.dtype = torch.float32
    shard_size: str | None = None
    base_only: bool = False  # written by the class without a head, like the first GPT-2 files
    windows: bool = False

    @property
    def is_gpt2(self):
        return self.model_class.startswith("GPT2")


# A model's index is its seed: new ones go last.
RECIPES = [
    Recipe("gpt2_tied", "GPT2LMHeadModel", "tied, inner width 4 times the hidden one"),
    Recipe(
        "gpt2_untied",
        "GPT2LMHeadModel",
        "lm_head stored, n_inner given, relu",
        {"tie_word_embeddings": False, "n_inner": 40, "activation_function": "relu", "n_layer": 2},
    ),
    Recipe(
        "gpt2_base",
        "GPT2LMHeadModel",
        "names without prefix, stored masks, float16",
        dtype=torch.float16,
        base_only=True,
    ),
    Recipe("llama_grouped", "LlamaForCausalLM", "2 key-value heads for 6 heads, untied"),
    Recipe(
        "llama_scaled",
        "LlamaForCausalLM",
        "rope_type llama3, head_dim given, biases everywhere, tied",
        {
            "tie_word_embeddings": True,
            "attention_bias": True,
            "mlp_bias": True,
            "head_dim": 10,
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 50.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32,
            },
        },
    ),
    Recipe(
        "llama_linear",
        "LlamaForCausalLM",
        "rope_type linear, a key-value head for each head, bfloat16",
        {
            "num_key_value_heads": 6,
            "num_hidden_layers": 2,
            "rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
        },
        dtype=torch.bfloat16,
    ),
    Recipe(
        "qwen2_tied",
        "Qwen2ForCausalLM",
        "biases of query, key and value, tied, two shards",
        {"tie_word_embeddings": True},
        shard_size="45KB",
    ),
    Recipe(
        "qwen2_window",
        "Qwen2ForCausalLM",
        "a sliding window of 5 from layer 2 on",
        {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
        windows=True,
    ),
    Recipe(
        "mistral_window",
        "MistralForCausalLM",
        "a sliding window of 6 in every layer, head_dim given",
        {"sliding_window": 6, "head_dim": 8},
        windows=True,
    ),
]


def make_config(recipe, vocabulary):
    # No two of the sizes are equal, so that a transposed or mixed-up weight cannot fit.
    if recipe.is_gpt2:
        sizes = {"n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": POSITIONS}
    else:
        sizes = {
            "hidden_size": 24,
            "intermediate_size": 40,
            "num_hidden_layers": 3,
            "num_attention_heads": 6,
            "num_key_value_heads": 2,
            "max_position_embeddings": POSITIONS,
            "rms_norm_eps": 1e-5,
        }
    end = vocabulary - 1
    special = {"bos_token_id": end, "eos_token_id": end, "pad_token_id": None}
    return recipe.config(sizes | special | {"vocab_size": vocabulary})


def add_masks(folder, layers):
    """The causal masks that GPT-2's first files contain in addition to the weights."""
    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    for layer in range(layers):
        tensors[f"h.{layer}.attn.bias"] = np.tril(np.ones((1, 1, 8, 8), np.float32))
        tensors[f"h.{layer}.attn.masked_bias"] = np.array(-1e4, np.float32)
    safetensors.numpy.save_file(dict(sorted(tensors.items())), path, metadata={"format": "pt"})


def write_folder(recipe, folder, seed):
    folder.mkdir()
    vocabulary = small_tokenizers.byte_level(folder)
    config = make_config(recipe, vocabulary)
    model = recipe.build(config)
    parameters = sorted(model.named_parameters())
    is_norm = re.compile("norm|ln_").search
    fill(parameters, np.random.RandomState(seed), is_norm, {"embed": 0.5, "wte": 0.5, "wpe": 0.5})
    model = model.to(recipe.dtype).eval()
    written = model.transformer if recipe.base_only else model
    written.save_pretrained(folder, max_shard_size=recipe.shard_size or "1GB")
    if recipe.base_only:
        add_masks(folder, config.n_layer)
    (folder / "generation_config.json").unlink(missing_ok=True)
    recipe.require_shards(folder, 2 if recipe.shard_size else 1)
    return model.float()


def run(model, ids, queries, positions):
    with torch.inference_mode():
        output = model(input_ids=torch.tensor([ids]), output_attentions=True)
    return {
        "attention": torch.cat(output.attentions)[:, :, queries].numpy(),
        "logits": output.logits[0, positions].numpy(),
    }


def append(model, ids, split):
    """Two chunks: attention of the second, logits after the first and after the second."""
    with torch.inference_mode():
        first = model(input_ids=torch.tensor([ids[:split]]), use_cache=True)
        second = model(
            input_ids=torch.tensor([ids[split:]]),
            past_key_values=first.past_key_values,
            use_cache=True,
            output_attentions=True,
        )
    return {
        "append_attention": torch.cat(second.attentions).numpy(),
        "append_logits": torch.stack([first.logits[0, -1], second.logits[0, -1]]).numpy(),
    }


def differentiate(model, recipe, ids):
    """Gradients of the logits after the last token with respect to the first layer's input."""
    # GPT-2 adds its position embedding before a dropout, which does nothing here.
    module = model.transformer.drop if recipe.is_gpt2 else model.model.embed_tokens
    leaf, output = target_gradients.with_leaf(module, lambda: model(input_ids=torch.tensor([ids])))
    arrays = {"embedding": leaf.detach()[0].numpy()}
    return arrays | target_gradients.differentiate(TARGETS, output.logits[0, -1], leaf)


def gradients(model, recipe, folder, ids):
    # Double precision as far as the model allows it (RMS norms and rotations stay float32): the difference from the
    # float32 pass shows the effect of rounding.
    double = getattr(transformers, recipe.model_class).from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32
    )
    rounded = differentiate(model, recipe, ids)
    return target_gradients.with_rounding(recipe.name, differentiate(double.eval().double(), recipe, ids), rounded)


def make_cases(recipe, model, folder, vocabulary, seed):
    """Cases for the index, and arrays by name."""
    random = np.random.RandomState(seed + 500)
    cases = []
    arrays = {}
    for number, (name, n) in enumerate([("one", 1), ("nine", 9), ("thirty", 30), ("long", 300)]):
        ids = [int(i) for i in random.randint(0, vocabulary, n)]
        # Rows next to the boundaries of chunks and tiles.
        queries = list(range(n)) if n <= 30 else [0, 1, 63, 64, 128, 255, 256, 298, 299]
        positions = list(range(n)) if n <= 9 else [0, n // 2, n - 1]
        values = run(model, ids, queries, positions)
        values |= {"queries": np.array(queries, np.int64), "logit_positions": np.array(positions, np.int64)}
        case = {"name": name, "n": n, "ids": ids}
        if name == "thirty" and not recipe.windows:  # transformers' cache drops what no window shows
            case["split"] = 11
            values |= append(model, ids, case["split"])
        if name in ("one", "nine"):
            values |= gradients(model, recipe, folder, ids)
            case["gradients"] = list(TARGETS)
        cases.append(case)
        arrays |= {f"case{number}_{key}": value for key, value in values.items()}
    return cases, arrays


def generate(out):
    out.mkdir()
    models = []
    for place, recipe in enumerate(RECIPES):
        seed = 3000 + place
        folder = out / recipe.name
        built = write_folder(recipe, folder, seed)
        model = load(recipe, folder, built)
        embedding = model.get_input_embeddings()
        if not isinstance(embedding, nn.Embedding):
            raise AssertionError(f"{recipe.name}: no word embedding")
        cases, arrays = make_cases(recipe, model, folder, embedding.num_embeddings, seed)
        recipe.require_numbers(arrays)
        recipe.require_sharp(arrays["case2_attention"][:, :, 10:])
        write_npz(out / f"{recipe.name}.npz", arrays)
        entry, config = recipe.entry(folder)
        models.append(
            entry
            | {
                "layers": len(arrays["case0_attention"]),
                "heads": arrays["case0_attention"].shape[1],
                "key_value_heads": config.get("num_key_value_heads", config.get("n_head")),
                "hidden": embedding.embedding_dim,
                "vocabulary": embedding.num_embeddings,
                "max_tokens": POSITIONS,
                "label": LABEL,
                "other": OTHER,
                "cases": cases,
            }
        )
    write_json(out / "index.json", {"format": "attnflow-golden-decoders", "version": 1, "models": models})
