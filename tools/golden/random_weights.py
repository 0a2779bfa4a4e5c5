"""Weights of the small random models: how they are drawn, and read back as transformers reads them."""

import numpy as np
import torch
import transformers


def fill(parameters, random, is_norm, factors):
    """Random weights, large enough that attention is far from uniform; norms and biases are random too.

    `parameters`: pairs of name and parameter, in the order in which they are drawn. `is_norm`: whether a name is that
    of a norm's weight or of another scale. `factors`: of the others that are not biases, by a part of their names, of
    which the first counts; 0.4 where none is in it.
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
