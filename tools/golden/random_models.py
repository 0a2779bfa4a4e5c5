"""The small random models: their description, their random weights, and reading them back with transformers."""

import json
from dataclasses import dataclass, field

import numpy as np
import torch
import transformers


@dataclass
class Recipe:
    """Describes one model. Subclasses add what is specific to their family."""

    name: str
    model_class: str
    about: str
    settings: dict = field(default_factory=dict)

    def config(self, sizes, labels=()):
        """A config with these sizes unless the settings override them; `labels`: its classes."""
        if labels:
            sizes["id2label"] = dict(enumerate(labels))
            sizes["label2id"] = {label: index for index, label in enumerate(labels)}
        config = getattr(transformers, self.model_class).config_class(**(sizes | self.settings))
        config.architectures = [self.model_class]
        return config

    def build(self, config):
        model_class = getattr(transformers, self.model_class)
        return model_class._from_config(config, attn_implementation="eager", dtype=torch.float32)

    def entry(self, folder):
        """The common part of a model's index entry, and its config.json."""
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        named = {"name": self.name, "about": self.about, "class": self.model_class}
        return named | {"architecture": config["model_type"]}, config

    def require_shards(self, folder, wanted):
        shards = sorted(path.name for path in folder.glob("*.safetensors"))
        if len(shards) != wanted:
            raise AssertionError(f"{self.name}: weights in {shards}")

    def require_numbers(self, arrays, types=(np.int64, np.float32, np.float64)):
        for key, array in arrays.items():
            if array.dtype not in types or not np.isfinite(array).all():
                raise AssertionError(f"{self.name}: {key} is {array.dtype} or not finite")

    def require_sharp(self, attention, least=0.2, most=0.8):
        sharpest = attention.max(axis=-1).mean()
        if not least < sharpest < most:
            raise AssertionError(f"{self.name}: attention is near uniform or near one-hot ({sharpest:.3f})")


def fill(parameters, random, is_norm, factors):
    """Random weights, large enough that attention is far from uniform; norms and biases are random as well.

    `parameters`: pairs of name and parameter, in the order in which they are drawn. `is_norm`: whether a name is that
    of a norm's weight or of another scale. `factors`: for other parameters except biases, by a part of the name; the
    first match counts, and 0.4 applies if there is none.
    """
    with torch.no_grad():
        for name, parameter in parameters:
            noise = random.standard_normal(tuple(parameter.shape))
            if name.endswith("bias"):
                noise = 0.2 * noise
            elif is_norm(name):
                noise = 1.0 + 0.2 * noise
            else:
                noise = next((factor for part, factor in factors.items() if part in name), 0.4) * noise
            parameter.copy_(torch.from_numpy(noise.astype(np.float32)))


def load(recipe, folder, built):
    """The model as transformers reads it from the folder; every weight must come from the files."""
    model, info = getattr(transformers, recipe.model_class).from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
    )
    if info["missing_keys"] or info["mismatched_keys"]:
        raise AssertionError(f"{recipe.name}: {info}")
    for name, parameter in model.named_parameters():
        if not torch.equal(parameter, built.get_parameter(name)):
            raise AssertionError(f"{recipe.name}: {name} was not read back as written")
    return model.eval()
