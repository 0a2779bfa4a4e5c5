"""Recomputes importance scores with transformers and PyTorch's autograd.

    autograd_oracle.py MODEL_FOLDER FILE.json

FILE.json is the output of `attnflow evaluate sentences ... --per-sample`: its samples' scores are compared with scores
computed here. Needs PyTorch and transformers, 4.44 or newer; exits with status 1 on a difference.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

# Scores come from float32 passes through a model, relative to the sample's largest score if that is above 1.
TOLERANCE = 1e-5
# Random models have larger gradients than trained ones, and PyTorch's own float32 error is as large.
GRADIENT_TOLERANCE = 1e-4


def token_ids(folder, sample):
    """Ids from the vocabulary: pieces are spelled as in it."""
    if (folder / "vocab.txt").exists():
        pieces = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        index = {piece: number for number, piece in enumerate(pieces)}
    else:
        index = transformers.AutoTokenizer.from_pretrained(folder).get_vocab()
    return [index[token] for token in sample["tokens"]], index


def value_of(target, logits, sample, predicted, labels):
    kind, which = target.split(":")
    classes = {"correct": sample["label"], "predicted": predicted}
    label = classes.get(which, labels.index(which) if which in labels else None)
    label = int(which) if label is None else label
    if kind == "logit":
        return logits[label]
    probabilities = torch.softmax(logits, dim=-1)
    if kind == "probability":
        return probabilities[label]
    others = [c for c in range(len(labels)) if c != label]
    other = max(others, key=lambda c: float(sample["logits"][c]))
    return probabilities[label] - probabilities[other]


def main():
    folder, path = Path(sys.argv[1]), Path(sys.argv[2])
    report = json.loads(path.read_text(encoding="utf-8"))
    labels = report["model"]["labels"]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager"
    ).double()
    model.eval()
    kept = []

    def keep(module, inputs, output):
        kept[:] = [output.detach().requires_grad_(True)]
        return kept[0]

    model.base_model.embeddings.register_forward_hook(keep)
    compared, worst = 0, 0.0
    for sample in report["samples"]:
        ids, index = token_ids(folder, sample)
        blank = index[report["blank"]["piece"]]
        n = len(ids)
        logits = model(input_ids=torch.tensor([ids])).logits[0]
        embedding = kept[0]
        sample["logits"] = logits.detach().tolist()
        predicted = int(logits.argmax())
        if predicted != sample["predicted"]:
            sys.exit(f"FAILED: {sample['text']!r}: predicted {predicted}, found {sample['predicted']}")
        with torch.no_grad():
            changed = torch.tensor([[blank if k == j else t for k, t in enumerate(ids)] for j in range(n)])
            blanked = model(input_ids=changed).logits
        for q, score in enumerate(report["scores"]):
            base = value_of(score["target"], logits, sample, predicted, labels)
            if score["score"] == "blank-out":
                values = [value_of(score["target"], row, sample, predicted, labels) for row in blanked]
                expected = np.abs(float(base) - np.array([float(v) for v in values]))
                tolerance = TOLERANCE
            else:
                (gradient,) = torch.autograd.grad(base, [embedding], retain_graph=True)
                gradient, width = gradient[0].numpy(), gradient.shape[-1]
                if score["score"] == "gradient":
                    expected = np.linalg.norm(gradient, axis=-1)
                elif score["score"] == "gradient-x-input":
                    expected = np.abs((gradient * embedding[0].detach().numpy()).sum(axis=-1))
                else:
                    expected = np.abs(gradient.sum(axis=-1))
                tolerance = GRADIENT_TOLERANCE if score["score"] != "gradient-sum" else GRADIENT_TOLERANCE * width**0.5
            difference = np.abs(np.array(sample["scores"][q]) - expected).max() / max(1.0, expected.max())
            if not difference <= tolerance:
                sys.exit(f"FAILED: {sample['text']!r}, {score}: differs by {difference:.1e}")
            worst = max(worst, difference)
            compared += n
    print(f"ok: {compared} scores of {len(report['samples'])} samples, largest difference {worst:.1e}")


if __name__ == "__main__":
    main()
