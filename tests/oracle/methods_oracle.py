"""Recomputes scores of tokens with the packages that published the methods.

    methods_oracle.py captum|lxt MODEL_FOLDER EXPLANATION.json EXPLANATION.npz BLANK_ID

The files are the output of `attnflow explain --method attnlrp,gradient-x-input,integrated-gradients` for a text;
BLANK_ID is the token used as an uninformative one. AttnLRP's scores come from lxt (the authors' package), the others
from captum, all in float64. Prints the largest difference of each method relative to its largest score; exits with
status 1 if one is above TOLERANCE.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

# Scores come from float32 passes through a model and back.
TOLERANCE = 2e-4
STEPS = 50


def load(folder):
    architecture = json.loads((folder / "config.json").read_text(encoding="utf-8"))["architectures"][0]
    model = getattr(transformers, architecture).from_pretrained(folder, attn_implementation="eager")
    return model.double().eval()


def vocabulary(folder):
    """Ids by piece, without needing a tokenizers package that is new enough for the file."""
    if (folder / "vocab.txt").exists():
        return {piece: i for i, piece in enumerate((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())}
    return json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]


class Question:
    """What was explained: the logit difference, as a function of the first layer's input."""

    def __init__(self, model, folder, report):
        self.model = model
        index = vocabulary(folder)
        self.ids = torch.tensor([[index[token["text"]] for token in report["input"]["tokens"]]])
        self.target = report["target"]

    def value(self, logits):
        logits = logits[0] if logits.dim() == 2 else logits[0, self.target["position"]]
        value = logits[self.target["index"]]
        against = self.target.get("against")
        if against is None:
            return value
        if against.get("index") is not None:
            return value - logits[against["index"]]
        if others := against.get("others"):
            return value - logits[[one["index"] for one in others]].mean()
        return value - (logits.sum() - value) / (len(logits) - 1)

    def run(self, ids, given=None):
        """The value, and the first layer's input: its own, or `given` in place of it."""
        layers = self.model.config.num_hidden_layers
        blocks = next(m for m in self.model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == layers)
        seen = []

        def replace(module, inputs):
            seen.append(inputs[0].detach().requires_grad_(True) if given is None else given)
            return seen[0], *inputs[1:]

        hook = blocks[0].register_forward_pre_hook(replace)
        value = self.value(self.model(input_ids=ids).logits)
        hook.remove()
        return value, seen[0]

    def gradient_times_input(self):
        value, embedding = self.run(self.ids)
        value.backward()
        return (embedding * embedding.grad).sum(-1)[0].detach().numpy()


def by_captum(question, report, blank):
    """Integrated gradients from the input with `blank` in place of all but special tokens."""
    from captum.attr import IntegratedGradients

    special = torch.tensor([[token["special"] for token in report["input"]["tokens"]]])
    here, start = (question.run(ids)[1].detach() for ids in (question.ids, torch.where(special, question.ids, blank)))
    integrated = IntegratedGradients(
        lambda rows: torch.stack([question.run(question.ids, row[None])[0] for row in rows])
    )
    scores = integrated.attribute(here, baselines=start, n_steps=STEPS, method="gausslegendre")
    return scores.sum(-1)[0].detach().numpy()


def by_lxt(question, folder, report):
    """Some of its rules apply only to models created after it is called."""
    from lxt.efficient import monkey_patch

    monkey_patch(sys.modules[type(question.model).__module__])
    return Question(load(folder), folder, report).gradient_times_input()


def main():
    package, (folder, report_file, arrays_file), blank = sys.argv[1], map(Path, sys.argv[2:5]), int(sys.argv[5])
    report = json.loads(report_file.read_text(encoding="utf-8"))
    question = Question(load(folder), folder, report)
    if package == "lxt":
        expected = {"attnlrp": by_lxt(question, folder, report)}
    else:
        expected = {
            "gradient_x_input": question.gradient_times_input(),
            "integrated_gradients": by_captum(question, report, blank),
        }
    failed = False
    with np.load(arrays_file) as arrays:
        for name, scores in expected.items():
            difference = np.abs(arrays[name][0] - scores).max() / np.abs(scores).max()
            print(f"{name}: {difference:.1e}")
            failed |= not difference < TOLERANCE
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
