"""Does the program run a family's folders right? Tiny models with random weights, saved by transformers and run by it.

    families.py      prints the table that stands in docs/models.md

Every text family of the program's list has a row. Compared are the attention of every head, the probability of the
prediction, and of decoders the gradient times the input of every token and the contributions of every layer (`alti`), made
here from what transformers' attention functions are given.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("ATTNFLOW", ROOT / "build" / "release" / "bin" / "attnflow"))
TEXT = "the key to the old cabinets is on"
WORDS = ["the", "key", "to", "old", "cabinets", "is", "on", "table"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# Whatever of these a configuration knows makes it small.
SMALL: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "n_embd", "dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers"), 4),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads"), 4),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_dim", "hidden_dim"), 48),
    "num_key_value_heads": 2,
    "head_dim": 8,
    "word_embed_proj_dim": 32,
    "max_position_embeddings": 64,
    "n_positions": 64,
}


@dataclass
class Family:
    """A model type, what its smallest configuration needs besides, and what is said of it where that is not all of it."""

    name: str
    given: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    remark: str = ""

    @property
    def is_decoder(self) -> bool:
        return self.name in DECODERS

    def build(self) -> Any:
        make = transformers.CONFIG_MAPPING[self.name]
        usual = make()
        small = {name: value for name, value in SMALL.items() if name not in self.without and hasattr(usual, name)}
        small |= {"vocab_size": 260 if self.is_decoder else len(SPECIAL) + len(WORDS)}
        small |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
        config = make(**small | self.given)
        kind = transformers.AutoModelForCausalLM if self.is_decoder else transformers.AutoModelForMaskedLM
        torch.manual_seed(0)
        model = kind.from_config(config, attn_implementation=KEPT if self.is_decoder else "eager").eval()
        for parameter in model.parameters():  # the usual weights are so small that all attention is uniform
            torch.nn.init.normal_(parameter, std=0.3 if parameter.dim() > 1 else 0.5)
        return model


KEPT = "eager_and_kept"
_kept: list[tuple[torch.Tensor, torch.Tensor]] = []  # attention and values of each layer that ran, by head


def attend_and_keep(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, scaling: float, **_: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(2, 3) * scaling
    weights = torch.softmax(scores if mask is None else scores + mask, -1)
    _kept.append((weights[0].detach(), value[0].detach()))
    return (weights @ value).transpose(1, 2).contiguous(), weights


transformers.AttentionInterface.register(KEPT, attend_and_keep)
transformers.AttentionMaskInterface.register(KEPT, transformers.masking_utils.eager_mask)

ENCODERS = {
    family.name: family
    for family in (
        Family("bert"),
        Family("roberta"),
        Family("xlm-roberta"),
        Family("camembert"),
        Family("data2vec-text"),
        Family("ernie"),
        Family("distilbert"),
        Family("albert", {"embedding_size": 16}),
        Family("electra", {"embedding_size": 16}),
        Family("megatron-bert"),
    )
}
DECODERS = {
    name: Family(name, **more)
    for name, more in {
        "gpt2": {},
        "llama": {"given": {"attention_bias": True, "mlp_bias": True}},
        "mistral": {"given": {"sliding_window": 6}},
        "qwen2": {},
        "qwen3": {"given": {"head_dim": 12}},
        "smollm3": {},
        "granite": {
            "given": {
                "embedding_multiplier": 3.0,
                "attention_multiplier": 0.2,
                "residual_multiplier": 0.4,
                "logits_scaling": 2.0,
            }
        },
        "phi3": {"given": {"sliding_window": 6}},
        "gemma": {"given": {"head_dim": 12}},
        "starcoder2": {},
        "stablelm": {"given": {"use_qkv_bias": True, "num_key_value_heads": 4}},
        "opt": {"given": {"dropout": 0.0}},
    }.items()
}
FAMILIES: dict[str, Family] = ENCODERS | DECODERS


def vocabulary_of(family: Family) -> dict[str, int]:
    if not family.is_decoder:
        return {token: i for i, token in enumerate(SPECIAL + WORDS)}
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    return {token: i for i, token in enumerate(["<pad>", "<s>", "</s>", "<unk>", *alphabet])}


def save(model: Any, family: Family, folder: Path) -> None:
    """The model with a tokenizer: of bytes for decoders, of words for the others."""
    model.save_pretrained(folder)
    vocabulary = vocabulary_of(family)
    if family.is_decoder:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
    else:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "[UNK]"))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            "[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)]
        )
        tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {} if family.is_decoder else {"mask_token": "[MASK]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))


def ask(folder: Path, family: Family, *options: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A report of the program's, and its arrays."""
    text = TEXT if family.is_decoder else TEXT.replace("old", "[MASK]")
    files = [folder / "report.json", folder / "report.npz"]
    command = [str(PROGRAM), "explain", text, "--model", str(folder), *options, "--force"]
    for file in files:
        command += ["-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    with np.load(files[1]) as arrays:
        return json.loads(files[0].read_text()), {name: arrays[name] for name in arrays.files}


@dataclass
class Outcome:
    """Largest differences: of a weight, a probability, a score relative to the largest, a contribution."""

    attention: float
    prediction: float
    gradient: float = 0.0  # of decoders, as are contributions
    contributions: float = 0.0

    @property
    def worst(self) -> float:
        return max(self.attention, self.prediction, self.gradient, self.contributions)


def layers_of(model: Any) -> Any:
    return next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList))


def run(model: Any, ids: torch.Tensor) -> tuple[list[torch.Tensor], Any]:
    """What each layer is given, which gradients are taken of, and the model's output."""
    given: list[torch.Tensor] = []

    def keep(_: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        given.append(arguments[0] if arguments else named["hidden_states"])
        given[-1].retain_grad()

    handles = [layer.register_forward_pre_hook(keep, with_kwargs=True) for layer in layers_of(model)]
    _kept.clear()
    output = model(ids, output_attentions=True)
    for handle in handles:
        handle.remove()
    return given, output


def projection_of(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The map behind a layer's attention, [in, out], and its bias."""
    for name, module in layer.named_modules():
        if name.split(".")[-1] in ("o_proj", "out_proj") or name == "attn.c_proj":
            weight = module.weight.detach()
            flipped = isinstance(module, transformers.pytorch_utils.Conv1D)
            bias = torch.zeros(1) if module.bias is None else module.bias.detach()
            return (weight if flipped else weight.T), bias
    raise AssertionError(f"no output projection in {[name for name, _ in layer.named_modules()]}")


def alti_of(model: Any, given: list[torch.Tensor]) -> np.ndarray:
    """max(0, |y_i| - |y_i - F_ij|) in rows that sum to 1, where F_ij = T_ij + d_ij x_i and y_i = x_i + sum_j T_ij + b."""
    factor = getattr(model.config, "residual_multiplier", 1.0)
    found = []
    for layer, (weights, values), stream in zip(layers_of(model), _kept, given, strict=True):
        heads, tokens, width = values.shape
        weight, bias = projection_of(layer)
        written = torch.einsum("hjd,hdo->hjo", values, weight.reshape(heads, width, -1))
        terms = factor * torch.einsum("hij,hjo->ijo", weights, written)
        x = stream[0].detach()
        y = x + terms.sum(1) + factor * bias
        parts = terms + torch.eye(tokens)[:, :, None] * x[:, None, :]
        nearer = (y.abs().sum(-1)[:, None] - (y[:, None, :] - parts).abs().sum(-1)).clamp(min=0.0)
        found.append((nearer / nearer.sum(-1, keepdim=True)).numpy())
    return np.stack(found)


def outcome_of(family: Family) -> Outcome:
    """Raises with the program's message where it refuses."""
    model = family.build()
    with tempfile.TemporaryDirectory(prefix="attnflow.") as name:
        folder = Path(name)
        save(model, family, folder)
        methods = "raw,gradient-x-input" if family.is_decoder else "raw"
        report, arrays = ask(folder, family, "--keep-attention", "--mixing", "attention", "--method", methods)
        if family.is_decoder:
            contributions = ask(folder, family, "--mixing", "alti", "--method", "raw", "--output-token", "all")[1][
                "raw"
            ]
    vocabulary = vocabulary_of(family)
    ids = torch.tensor([[vocabulary[token["text"]] for token in report["input"]["tokens"]]])
    given, output = run(model, ids)
    expected = torch.stack([layer[0] for layer in output.attentions]).detach().numpy()
    position = report["predictions"][0]["position"]
    logits = output.logits[0, position]
    likely = torch.softmax(logits.detach(), -1)
    predicted = abs(report["predictions"][0]["choices"][0]["probability"] - float(likely.max()))
    outcome = Outcome(float(np.abs(arrays["attention"] - expected).max()), predicted)
    if not family.is_decoder:
        return outcome
    target = report["target"]
    if target["index"] != int(likely.argmax()):
        raise AssertionError(f"{family.name}: predicts token {target['index']}, not {int(likely.argmax())}")
    (logits[target["index"]] - logits[target["against"]["index"]]).backward()
    scores = (given[0] * given[0].grad).sum(-1)[0].detach().numpy()
    outcome.gradient = float(np.abs(scores - arrays["gradient_x_input"][0]).max() / np.abs(scores).max())
    outcome.contributions = float(np.abs(contributions - alti_of(model, given)).max())
    return outcome


def table() -> str:
    """The table of docs/models.md."""
    lines = ["| model type | attention | probability | gradient | contributions |", "| --- | --: | --: | --: | --: |"]
    for name, family in FAMILIES.items():
        found = outcome_of(family)
        of_decoders = [found.gradient, found.contributions] if family.is_decoder else []
        cells = [f"{one:.0e}" for one in (found.attention, found.prediction, *of_decoders)]
        lines.append(f"| {name} | {' | '.join(cells + [''] * (4 - len(cells)))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            print(name, outcome_of(FAMILIES[name]))
    else:
        print(table(), end="")
