"""Small random vision transformers: a Hugging Face folder for each, and what transformers computes from it."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import random_models
import target_gradients
import torch
import transformers
from golden_io import softmax, write_json, write_npz
from gradients import TARGETS
from random_models import fill, load

LABELS = ["shirt", "boot", "bag"]
# [height, width] of the pictures, with patches of 4 x 4. The first is the training size: 5 x 5 patches.
TRAINED = (20, 20)
SIZES = {"trained": TRAINED, "wide": (12, 28), "large": (24, 24), "small": (8, 12)}
# A picture with the same number of patches as in training, in another shape.
SAME_COUNT = {"same_count": (4, 100)}
WITH_GRADIENTS = ("trained", "wide")


@dataclass
class Recipe(random_models.Recipe):
    dtype: torch.dtype = torch.float32
    sizes: dict = field(default_factory=lambda: SIZES)

    @property
    def classifies(self):
        return "Classification" in self.model_class

    @property
    def family(self):
        families = ("vit", "deit", "dinov2withregisters", "dinov2")  # MSN models are ViTs
        return next(family for family in families if self.model_class.lower().startswith(family))

    @property
    def interpolates(self):
        """DINOv2 always interpolates; the others are told to if there is something to interpolate."""
        told = not self.family.startswith("dinov2") and len(self.sizes) > 1
        return {"interpolate_pos_encoding": True} if told else {}


# A model's index is its seed: new ones go last.
RECIPES = [
    Recipe("vit_classification", "ViTForImageClassification", "3 named classes", sizes=SIZES | SAME_COUNT),
    Recipe(
        "vit_oblong",
        "ViTModel",
        "names without prefix, an unused pooler, no biases of query, key and value, gelu_new, grey, not square",
        {
            "image_size": [12, 24],
            "patch_size": [4, 6],
            "num_channels": 1,
            "qkv_bias": False,
            "hidden_act": "gelu_new",
        },
        # transformers interpolates from the square root of the number of patches: here only the training size works.
        sizes={"trained": (12, 24)},
    ),
    Recipe("deit_classification", "DeiTForImageClassification", "a distillation token without a head"),
    Recipe("deit_teacher", "DeiTForImageClassificationWithTeacher", "two heads, whose logits are averaged"),
    Recipe("dinov2_classification", "Dinov2ForImageClassification", "layer scale; the head reads the patches' mean"),
    Recipe("dinov2_swiglu", "Dinov2Model", "no head, a gated net, float16", {"use_swiglu_ffn": True}, torch.float16),
    Recipe(
        "dinov2_registers",
        "Dinov2WithRegistersForImageClassification",
        "3 registers, a gated net, no biases of query, key and value",
        {"use_swiglu_ffn": True, "num_register_tokens": 3, "qkv_bias": False},
    ),
    Recipe(
        "dinov2_registers_base",
        "Dinov2WithRegistersModel",
        "4 registers, no head, mlp_ratio 2",
        {"mlp_ratio": 2},
    ),
    Recipe("vit_msn_classification", "ViTMSNForImageClassification", "as ViT, with another epsilon in its norms"),
    Recipe("vit_msn_base", "ViTMSNModel", "as ViT: no head, names without prefix"),
]


def make_config(recipe):
    sizes = {
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "image_size": TRAINED[0],
        "patch_size": 4,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    if not recipe.family.startswith("dinov2"):
        sizes |= {"intermediate_size": 40}
    return recipe.config(sizes, LABELS if recipe.classifies else ())


def write_folder(recipe, folder, seed):
    folder.mkdir()
    config = make_config(recipe)
    model = recipe.build(config)
    fill(
        sorted(model.named_parameters()),
        np.random.RandomState(seed),
        lambda name: "norm" in name.lower() or name.endswith("lambda1"),
        {"projection.weight": 0.2, "embeddings": 0.6},
    )
    built = model.to(recipe.dtype).eval()
    built.save_pretrained(folder)
    return config, load(recipe, folder, built.float())


def leading_roles(recipe, config):
    """Roles of the tokens before the patches."""
    return ["class"] + {
        "vit": [],
        "deit": ["distillation"],
        "dinov2": [],
        "dinov2withregisters": ["register"] * getattr(config, "num_register_tokens", 0),
    }[recipe.family]


def with_embedding(recipe, model, pixels):
    """The embedding module's output, as a separate leaf, and the model's output."""
    return target_gradients.with_leaf(
        model.base_model.embeddings,
        lambda: model(pixel_values=pixels, output_attentions=True, **recipe.interpolates),
    )


def gradients(recipe, model, pixels):
    """For each target its value and gradient [n, hidden]."""
    embedding, output = with_embedding(recipe, model, pixels)
    return target_gradients.differentiate(TARGETS, output.logits[0], embedding)


def run(recipe, model, size, random):
    pixels = torch.from_numpy(random.standard_normal((1, model.config.num_channels, *size)).astype(np.float32))
    embedding, output = with_embedding(recipe, model, pixels)
    arrays = {
        "pixels": pixels[0].numpy(),
        "embedding": embedding[0].detach().numpy(),
        "attention": torch.cat(output.attentions).detach().numpy(),
    }
    if recipe.classifies:
        arrays["logits"] = output.logits[0].detach().numpy()
        arrays["probabilities"] = softmax(arrays["logits"])
    recipe.require_numbers(arrays, (np.float32, np.float64))
    return pixels, arrays


def generate(out):
    out.mkdir()
    models = []
    for seed, recipe in enumerate(RECIPES):
        folder = out / recipe.name
        config, model = write_folder(recipe, folder, 3000 + seed)
        double = load(recipe, folder, model).double()
        random = np.random.RandomState(4000 + seed)
        roles = leading_roles(recipe, config)
        patch = recipe.settings.get("patch_size", [4, 4])
        arrays = {}
        cases = []
        for number, (name, size) in enumerate(recipe.sizes.items()):
            pixels, found = run(recipe, model, size, random)
            rows, columns = size[0] // patch[0], size[1] // patch[1]
            n = len(roles) + rows * columns
            if found["attention"].shape != (2, 3, n, n):
                raise AssertionError(f"{recipe.name}: attention of shape {found['attention'].shape}")
            recipe.require_sharp(found["attention"], least=1.5 / n, most=0.9)
            has_gradients = recipe.classifies and name in WITH_GRADIENTS
            if has_gradients:
                exact = gradients(recipe, double, pixels.double())
                found |= target_gradients.with_rounding(recipe.name, exact, gradients(recipe, model, pixels))
            arrays |= {f"case{number}_{key}": value for key, value in found.items()}
            cases.append({"name": name, "rows": rows, "columns": columns, "n": n, "gradients": has_gradients})
        write_npz(out / f"{recipe.name}.npz", arrays)
        models.append(
            recipe.entry(folder)[0]
            | {
                "head": "classification" if recipe.classifies else "none",
                "layers": 2,
                "heads": 3,
                "hidden": 24,
                "channels": config.num_channels,
                "image": recipe.settings.get("image_size", list(TRAINED)),
                "patch": patch,
                "leading": roles,
                "labels": LABELS if recipe.classifies else [],
                "cases": cases,
            }
        )
    write_json(out / "index.json", {"format": "attnflow-golden-vision", "version": 1, "models": models})


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    generate(Path(sys.argv[1]))
