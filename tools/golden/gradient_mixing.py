"""Gradient-adjusted attention of the small models and its rollout, from PyTorch's autograd: Chefer, Gur & Wolf, Generic
Attention-model Explainability, ICCV 2021, equations 5 and 6."""

import sys
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers
from attention_gradients import differentiate, index_of, loader
from golden_io import write_json, write_npz

from reference.attention_graph import add_residual, rollout

DECODER_TEXT = "The key to Sara's café is on the table"
# (family, model, input): the name of a text in models/index.json, a picture's size in patches, or a text.
CASES = [
    ("models", "bert_classification", "twenty"),
    ("models", "bert_classification", "pair"),
    ("models", "roberta_classification", "twenty"),
    ("models", "distilbert_classification", "seven"),
    ("models", "albert_classification", "seven"),
    ("models", "megatron_bert_classification", "seven"),
    ("vision", "vit_classification", (5, 5)),
    ("vision", "vit_classification", (3, 5)),
    ("vision", "deit_teacher", (5, 5)),
    ("vision", "dinov2_registers", (5, 5)),
    ("decoders", "gpt2_tied", DECODER_TEXT),
    ("decoders", "llama_grouped", DECODER_TEXT),
    ("decoders", "mistral_window", DECODER_TEXT),
]
# As in the preprocessor_config.json of the tests' folders: mean and standard deviation of every channel.
MEAN, STD = 0.5, 0.25
# A decoder's logit that is neither the largest nor the smallest.
SOME_TOKEN = 5


def gradient_weights(attention, gradient):
    """G, [L, n, n]: clipped for each head, then averaged."""
    return np.maximum(0.0, gradient * attention).mean(axis=1)


def text_input(entry, given):
    case = next(case for case in entry["cases"] if case["name"] == given)
    inputs = {"input_ids": torch.tensor([case["ids"]])}
    if entry["architecture"] != "distilbert":
        inputs["token_type_ids"] = torch.tensor([case["type_ids"]])
    about = {"name": f"{entry['name']}_{given}", "text": case["text"], "pair": case["pair"], "n": case["n"]}
    return about, lambda dtype: inputs, {}


def picture_input(entry, patches, seed):
    rows, columns = patches
    shape = (rows * entry["patch"][0], columns * entry["patch"][1], 3)
    picture = np.random.RandomState(seed).randint(0, 256, shape).astype(np.uint8)
    pixels = torch.from_numpy((picture / 255.0 - MEAN) / STD).permute(2, 0, 1)[None]
    about = {
        "name": f"{entry['name']}_{rows}x{columns}",
        "rows": rows,
        "columns": columns,
        "n": rows * columns + len(entry["leading"]),
    }
    # DINOv2 always interpolates.
    more = {} if entry["architecture"].startswith("dinov2") else {"interpolate_pos_encoding": True}
    return about, lambda dtype: {"pixel_values": pixels.to(dtype)} | more, {"picture": picture}


def decoder_input(entry, text, folder):
    ids = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids
    about = {"name": entry["name"], "text": text, "pair": None, "n": len(ids)}
    inputs = {"input_ids": torch.tensor([ids])}
    return about, lambda dtype: inputs, {}


def targets_of(family, entry, logits):
    if family != "decoders":
        return list(range(len(entry["labels"])))
    found = [int(logits.argmax()), int(logits.argmin()), SOME_TOKEN]
    if len(set(found)) != 3:
        raise AssertionError(f"{entry['name']}: two targets are the same token")
    return found


def case_of(golden, family, entry, given, seed):
    """A case's index entry, and its arrays; float64 arithmetic from the float32 weights."""
    name = entry["name"]
    load = loader(golden / family / name, entry["class"])
    if family == "vision":
        about, inputs, arrays = picture_input(entry, given, seed)
    elif family == "decoders":
        about, inputs, arrays = decoder_input(entry, given, golden / family / name)
    else:
        about, inputs, arrays = text_input(entry, given)

    def logits_of(output):
        return output.logits[0, -1] if family == "decoders" else output.logits[0]

    def run(dtype, target):
        return differentiate(load(dtype), inputs(dtype), lambda output: logits_of(output)[target])

    with torch.no_grad():
        logits = logits_of(load(torch.float64)(**inputs(torch.float64)))
    targets = []
    for index in targets_of(family, entry, logits):
        value, attention, gradient = run(torch.float64, index)
        if attention.shape[-1] != about["n"] or gradient.shape != attention.shape:
            raise AssertionError(f"{about['name']}: attention of shape {attention.shape}, not of {about['n']} tokens")
        weights = gradient_weights(attention, gradient)
        if not all(layer.any() for layer in weights):
            raise AssertionError(f"{about['name']}, target {index}: a layer in which nothing speaks for the target")
        _, *rounded = run(torch.float32, index)
        rounding = np.abs(gradient_weights(*rounded) - weights).max() / max(1.0, weights.max())
        if rounding > 2e-6:
            raise AssertionError(f"{about['name']}, target {index}: float32 alone is off by {rounding}")
        targets.append({"index": index, "logit": value})
        arrays[f"target{index}_raw"] = weights.astype(np.float32)
        for suffix, rule in (("", "added"), ("_renormalized", "added-normalized")):
            matrices = add_residual(weights, rule=rule)
            arrays[f"target{index}_rollout{suffix}"] = rollout(matrices).astype(np.float32)
    return about | {"family": family, "model": name, "layers": entry["layers"], "targets": targets}, arrays


def generate(golden, out):
    """`golden`: the folder that contains models, vision and decoders."""
    out.mkdir()
    cases = []
    for seed, (family, model, given) in enumerate(CASES):
        entry = next(entry for entry in index_of(golden / family) if entry["name"] == model)
        about, arrays = case_of(golden, family, entry, given, seed)
        cases.append(about)
        write_npz(out / f"{about['name']}.npz", arrays)
    write_json(out / "index.json", {"format": "attnflow-golden-gradient-mixing", "version": 1, "cases": cases})


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    generate(Path(sys.argv[1]), Path(sys.argv[2]))
