"""Gradients of the small classifiers with respect to what their embedding module gives, by PyTorch's autograd."""

import json

import numpy as np
import torch
import transformers
from golden_io import write_npz

# What is differentiated, in this order: a logit, a probability, a difference of two probabilities.
TARGETS = {
    "logit": lambda logits: logits[1],
    "probability": lambda logits: torch.softmax(logits, dim=-1)[0],
    "difference": lambda logits: torch.softmax(logits, dim=-1)[2] - torch.softmax(logits, dim=-1)[0],
}


def differentiate(model, architecture, case):
    """Embeddings [n, width], and for each target its value and gradient [n, width]; all in float64."""
    kept = []

    def keep(module, inputs, output):
        # A leaf of its own, so that gradients stop where the embedding module ends.
        leaf = output.detach().requires_grad_(True)
        kept.append(leaf)
        return leaf

    inputs = {"input_ids": torch.tensor([case["ids"]])}
    if architecture != "distilbert":
        inputs["token_type_ids"] = torch.tensor([case["type_ids"]])
    handle = model.base_model.embeddings.register_forward_hook(keep)
    logits = model(**inputs).logits[0]
    handle.remove()
    if len(kept) != 1:
        raise AssertionError(f"the embedding module ran {len(kept)} times")
    arrays = {"embedding": kept[0].detach()[0]}
    for name, target in TARGETS.items():
        value = target(logits)
        (gradient,) = torch.autograd.grad(value, kept, retain_graph=True)
        arrays[f"{name}_value"] = value.detach()
        arrays[f"{name}_gradient"] = gradient[0]
    return {name: array.numpy() for name, array in arrays.items()}


def generate(models, out):
    """`models`: the folder that small_models.py wrote."""
    out.mkdir()
    index = json.loads((models / "index.json").read_text(encoding="utf-8"))["models"]
    for entry in index:
        if entry["head"] != "classification":
            continue
        # Float32 weights, but float64 arithmetic: what is checked against this is as exact as its own rounding. How
        # far PyTorch's own float32 pass is from it says what may be asked for.
        model_class = getattr(transformers, entry["class"])
        settings = {"attn_implementation": "eager", "dtype": torch.float32}
        single = model_class.from_pretrained(models / entry["name"], **settings).eval()
        double = model_class.from_pretrained(models / entry["name"], **settings).double().eval()
        arrays = {}
        for number, case in enumerate(entry["cases"]):
            rounded = differentiate(single, entry["architecture"], case)
            for name, array in differentiate(double, entry["architecture"], case).items():
                if not np.isfinite(array).all() or (name.endswith("gradient") and not array.any()):
                    raise AssertionError(f"{entry['name']}, {case['name']}: {name} is zero or not finite")
                key = f"case{number}_{name}"
                arrays[key] = array.astype(np.float64 if array.ndim == 0 else np.float32)
                if name.endswith("gradient"):
                    arrays[f"{key}_rounding"] = np.float64(np.abs(rounded[name] - array).max())
        write_npz(out / f"{entry['name']}.npz", arrays)
