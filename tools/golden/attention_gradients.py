"""Gradients of the small models' scores with respect to their attention, by PyTorch's autograd."""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from golden_io import write_npz

# Cases with more tokens are left out: n^2 numbers for every layer and head.
MOST_TOKENS = 29


def differentiate(model, inputs, score):
    """The score, and for each layer its attention and the gradient, [L, H, n, n]."""
    output = model(**inputs, output_attentions=True)
    value = score(output)
    gradients = torch.autograd.grad(value, output.attentions)
    return value.item(), torch.cat(output.attentions).detach().numpy(), torch.cat(gradients).numpy()


def arrays_of(name, load, family, entry, golden, number, case):
    """From float32 weights in float64 arithmetic, with the distance of PyTorch's own float32 pass."""
    score = score_of(family, entry)

    def run(dtype):
        return differentiate(load(dtype), inputs_of(family, entry, golden, number, case, dtype), score)

    _, rounded_attention, rounded = run(torch.float32)
    value, attention, gradient = run(torch.float64)
    if gradient.shape != attention.shape or not np.isfinite(gradient).all():
        raise AssertionError(f"{name}: gradients of shape {gradient.shape}, or not finite")
    if not all(layer.any() for layer in gradient):
        raise AssertionError(f"{name}: a layer without gradients")
    if np.abs(rounded_attention - attention).max() > 2e-5:
        raise AssertionError(f"{name}: float32 attention is far from float64")
    return {
        "value": np.float64(value),
        "gradient": gradient.astype(np.float32),
        "gradient_rounding": np.float64(np.abs(rounded - gradient).max()),
    }


def loader(folder, class_name):
    """A folder's model in float32 or float64, read once for each."""
    read = {}

    def load(dtype):
        if dtype not in read:
            model_class = getattr(transformers, class_name)
            model = model_class.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
            read[dtype] = model.to(dtype).eval()
        return read[dtype]

    return load


def inputs_of(family, entry, golden, number, case, dtype):
    if family == "vision":
        with np.load(golden / family / f"{entry['name']}.npz") as arrays:
            pixels = torch.from_numpy(arrays[f"case{number}_pixels"])[None].to(dtype)
        # DINOv2 always interpolates.
        more = {} if entry["architecture"].startswith("dinov2") else {"interpolate_pos_encoding": True}
        return {"pixel_values": pixels} | more
    inputs = {"input_ids": torch.tensor([case["ids"]])}
    if family == "models" and entry["architecture"] != "distilbert":
        inputs["token_type_ids"] = torch.tensor([case["type_ids"]])
    return inputs


def score_of(family, entry):
    """The difference of two probabilities, on which all logits have an effect: of classes, or of the next token."""
    label, other = (entry["label"], entry["other"]) if family == "decoders" else (2, 0)

    def score(output):
        logits = output.logits[0, -1] if family == "decoders" else output.logits[0]
        probabilities = torch.softmax(logits, dim=-1)
        return probabilities[label] - probabilities[other]

    return score


def index_of(folder):
    return json.loads((folder / "index.json").read_text(encoding="utf-8"))["models"]


def generate(golden, out):
    """`golden`: the folder that contains models, vision and decoders."""
    out.mkdir()
    for family in ("models", "vision", "decoders"):
        for entry in index_of(golden / family):
            if family != "decoders" and entry["head"] != "classification":
                continue
            load = loader(golden / family / entry["name"], entry["class"])
            arrays = {}
            for number, case in enumerate(entry["cases"]):
                if case["n"] > MOST_TOKENS:
                    continue
                name = f"{entry['name']}, {case['name']}"
                found = arrays_of(name, load, family, entry, golden, number, case)
                arrays |= {f"case{number}_{key}": array for key, array in found.items()}
            write_npz(out / f"{entry['name']}.npz", arrays)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    generate(Path(sys.argv[1]), Path(sys.argv[2]))
