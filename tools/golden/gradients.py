"""Gradients of the small classifiers with respect to their embedding module's output, by PyTorch's autograd."""

import json

import target_gradients
import torch
import transformers
from golden_io import write_npz

# The differentiated targets, in this order: a logit, a probability, a difference of two probabilities.
TARGETS = {
    "logit": lambda logits: logits[1],
    "probability": lambda logits: torch.softmax(logits, dim=-1)[0],
    "difference": lambda logits: torch.softmax(logits, dim=-1)[2] - torch.softmax(logits, dim=-1)[0],
}


def differentiate(model, architecture, case):
    """Embeddings [n, width], and for each target its value and gradient [n, width]; all in float64."""
    inputs = {"input_ids": torch.tensor([case["ids"]])}
    if architecture != "distilbert":
        inputs["token_type_ids"] = torch.tensor([case["type_ids"]])
    leaf, output = target_gradients.with_leaf(model.base_model.embeddings, lambda: model(**inputs))
    arrays = {"embedding": leaf.detach()[0].numpy()}
    return arrays | target_gradients.differentiate(TARGETS, output.logits[0], leaf)


def generate(models, out):
    """`models`: the folder written by small_models.py."""
    out.mkdir()
    index = json.loads((models / "index.json").read_text(encoding="utf-8"))["models"]
    for entry in index:
        if entry["head"] != "classification":
            continue
        # Float32 weights, but float64 arithmetic: a result under test differs only by its own rounding. The distance of
        # PyTorch's own float32 pass indicates a suitable tolerance.
        model_class = getattr(transformers, entry["class"])
        settings = {"attn_implementation": "eager", "dtype": torch.float32}
        single = model_class.from_pretrained(models / entry["name"], **settings).eval()
        double = model_class.from_pretrained(models / entry["name"], **settings).double().eval()
        arrays = {}
        for number, case in enumerate(entry["cases"]):
            rounded = differentiate(single, entry["architecture"], case)
            exact = differentiate(double, entry["architecture"], case)
            found = target_gradients.with_rounding(f"{entry['name']}, {case['name']}", exact, rounded)
            arrays |= {f"case{number}_{name}": array for name, array in found.items()}
        write_npz(out / f"{entry['name']}.npz", arrays)
