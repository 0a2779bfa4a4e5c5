"""What a run of a model on a text gives for a mixing: attention, contributions or relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from attnflow import _core, edges
from attnflow.arrays import as_array
from attnflow.capture import as_given, capture_with, divide_rows, text_config
from attnflow.errors import Error
from attnflow.joint import is_encoder_decoder, joint_of
from attnflow.layers import layers_of
from attnflow.text import Encoded, head_of, label_of, mask_positions, readable, word_to_ids


@dataclass
class Reading:
    """A text as a model is given it."""

    model: Any
    tokenizer: Any
    parts: Sequence[Encoded]  # of an encoder-decoder two
    inputs: dict[str, Any]

    @property
    def ids(self) -> Sequence[int]:
        return self.parts[-1].ids

    def output_position(self, asked: dict[str, Any], causal: bool) -> int:
        part = self.parts[0]
        return _core.output_position(part.tokens, part.special, part.texts, asked, causal)


@dataclass
class Found:
    """What the report is made of: one of attentions, fused and edges; attentions may stand beside edges."""

    asked: dict[str, Any]
    output: Any  # the model's
    attentions: tuple[Any, ...] = ()
    fused: list[_core.FusedLayer] = field(default_factory=list)
    joint: tuple[int, int, int] | None = None
    edges: list[_core.EdgeLayer] = field(default_factory=list)
    target: _core.Target | None = None
    notes: _core.Notes = field(default_factory=_core.Notes)
    running: _core.Running | None = None  # has taken the layers of fused, of which there are the shapes alone
    position: int | None = (
        None  # at which the prediction that is explained is made, if another than the usual one may be
    )


def run_as_asked(reading: Reading, asked: dict[str, Any]) -> Found:
    """Runs the model with the mixing that is asked for, or with that which mixing="auto" stands for."""
    if is_encoder_decoder(reading.model):
        if asked.get("mixing") not in (None, "auto", "attention"):
            raise Error(
                f"mixing: expected attention, the only mixing for encoder-decoders, found {asked['mixing']}",
                kind="usage",
            )
        return _attention(reading, asked, _core.Notes())
    given = asked.get("mixing") or "auto"
    layers = layers_of(reading.model)
    notes = _core.Notes()
    mixing = _chosen(reading, asked, bool(layers), notes)
    try:
        return _run(reading, asked | {"mixing": mixing}, notes)
    except Error as error:
        names_target = any(asked.get(name) not in (None, "auto") for name in ("target", "against"))
        if given != "auto" or mixing == "attention" or names_target or error.kind != "unsupported_model":
            raise
        # Nobody asked for it, and the layers are not those that are known.
        notes = _core.Notes()
        return _run(reading, asked | {"mixing": _chosen(reading, asked, False, notes)}, notes)


def _chosen(reading: Reading, asked: dict[str, Any], has_terms: bool, notes: _core.Notes) -> str:
    """The mixing, and a note where it is not attention."""
    model = reading.model
    kind = head_of(model)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return _core.chosen_mixing(
        asked, kind == "next" or _is_causal(model), kind is not None, parameters, has_terms, len(reading.ids), notes
    )


def _is_causal(model: Any) -> bool:
    """Whether the attention of the first known layer says that it looks back only."""
    for layer, _ in layers_of(model):
        return any(getattr(module, "is_causal", False) for module in layer.modules())
    return False


def reading_position(model: Any, ids: Sequence[int]) -> int | None:
    """Where a decoder that classifies reads the class: at the last token that is no padding. None: at the end, or elsewhere."""
    padding = getattr(model.config, "pad_token_id", None)
    if padding is None or ids[-1] != padding or head_of(model) != "classification" or not _is_causal(model):
        return None
    return max((t for t, token in enumerate(ids) if token != padding), default=0)


def _run(reading: Reading, asked: dict[str, Any], notes: _core.Notes) -> Found:
    needs = _core.mixing_info(asked["mixing"]).needs
    if needs == "attention":
        return _attention(reading, asked, notes)
    keep = as_given if asked.get("keep_attention") else edges.shape_alone
    mixing = asked["mixing"]
    position = None
    if needs == "terms":
        made = edges.contributions(reading.model, reading.inputs, mixing, keep, int(asked.get("threads") or 0))
    else:
        question = _Question(reading, asked, notes)
        position = question.position
        made = edges.relevance(reading.model, reading.inputs, mixing, question.logits, question.choice, keep)
    if made.rounded and asked.get("keep_attention"):
        asked = divide_rows(asked, rounded=True)
    return Found(
        asked,
        made.output,
        attentions=made.attentions if asked.get("keep_attention") else (),
        edges=made.layers,
        target=made.target,
        notes=notes,
        position=position,
    )


class _Question:
    """Which prediction is explained."""

    def __init__(self, reading: Reading, asked: dict[str, Any], notes: _core.Notes) -> None:
        model, tokenizer = reading.model, reading.tokenizer
        mixing = asked["mixing"]
        kind = head_of(model)
        if kind is None:
            raise Error(
                f"mixing {mixing}: expected a classifier or a language model, whose score for a class or a token is explained, "
                f'found {type(model).__name__}, {_other_head(model)}; choose such a model, or mixing="attention"',
                kind="unsupported_model",
            )
        self.kind = kind
        self.position: int | None = None  # None: of the whole text
        if kind == "classification":
            size, name = int(model.config.num_labels), label_of(model)
        else:
            size, name = int(model.get_input_embeddings().weight.shape[0]), partial(readable, tokenizer)
            self.position = reading.output_position(asked, kind == "next")
        if kind == "masked":
            masks = mask_positions(tokenizer, reading.ids)
            if not masks:
                raise Error(
                    f"mixing {mixing}: expected a mask token in the text, whose prediction is explained, found none; write "
                    f"{getattr(tokenizer, 'mask_token', None) or '[MASK]'} in place of the word to predict",
                    kind="usage",
                )
            if self.position not in masks:
                self.position = masks[0]
        said = "class" if kind == "classification" else kind
        words = partial(word_to_ids, tokenizer)
        self.choice = _core.target_choice(asked, said, model_name(model), size, name, words, notes)

    def logits(self, output: Any) -> tuple[Any, int | None]:
        logits = getattr(output, "logits", None)
        dimensions = 2 if self.kind == "classification" else 3
        if logits is None or logits.dim() != dimensions:
            found = "none" if logits is None else f"shape {list(logits.shape)}"
            raise Error(f"expected logits of {dimensions} dimensions, found {found}", kind="unsupported_model")
        return (logits[0] if self.position is None else logits[0, self.position]), self.position


def _attention(reading: Reading, asked: dict[str, Any], notes: _core.Notes) -> Found:
    import torch

    model = reading.model
    is_joint = is_encoder_decoder(model)
    fuses = _core.can_fuse(asked)
    running = None if is_joint else _core.running(asked)

    lengths: set[int] = set()

    def fused(weights: Any, layer: int, heads: int = 0) -> Any:
        array = as_array(weights[0])
        lengths.add(array.shape[-1])
        by = running if len(lengths) == 1 else None  # layers of several lengths are refused below, all of them by name
        return _core.fuse_layer([array], layer, divide_rows(asked, captured.rounded), heads, by)

    def keep(weights: Any, layer: int, heads: int = 0) -> Any:
        kept = as_given(weights, layer)
        if not fuses or is_joint or kept.dim() != 4 or kept.shape[0] != 1 or kept.shape[2] != kept.shape[3]:
            return kept  # what is no layer is refused below
        return fused(kept, layer, heads)

    # The mean of one is itself, to the bit; maxima would be divided by their sums twice, and sums are those of each head.
    means = asked.get("heads") in (None, "mean") and not asked.get("renormalize")
    with capture_with(model, keep, "mean" if fuses and means and not is_joint else None) as captured, torch.no_grad():
        output = model(**reading.inputs)
    joint = joint_of(model, captured.calls) if is_joint else None
    found = Found(
        divide_rows(asked, captured.rounded), output, notes=notes, joint=None if joint is None else joint.shape
    )
    if joint is not None and fuses:
        found.fused = [fused(joint.layer(index), index + 1, joint.heads) for index in range(len(joint.steps))]
        return found
    attentions = captured.attentions
    found.fused = [layer for layer in attentions if isinstance(layer, _core.FusedLayer)]
    if not found.fused:
        found.attentions = attentions
    found.running = running if found.fused else None
    return found


def _other_head(model: Any) -> str:
    name = type(model).__name__
    if any(head in name for head in ("ForTokenClassification", "ForQuestionAnswering")):
        return "whose head scores each token; the command `attnflow explain` explains it"
    return f"whose head is no such one (For{name.partition('For')[2]})" if "For" in name else "which has no head"


def model_name(model: Any) -> str:
    return str(getattr(model.config, "name_or_path", "") or type(model).__name__)


def check_ids(model: Any, ids: Sequence[int]) -> None:
    if not ids:
        raise Error("expected text with at least one token, found none", kind="bad_input")
    if min(ids) < 0:
        raise Error(
            f"expected token ids from 0, found {min(ids)}; labels mark what is ignored by negative ids: pass input_ids",
            kind="bad_input",
        )
    vocabulary = model.get_input_embeddings().weight.shape[0]
    if max(ids) >= vocabulary:
        raise Error(
            f"expected tokens of the model, whose vocabulary has {vocabulary}, found {max(ids)}; the tokenizer belongs to "
            "another model",
            kind="bad_input",
        )
    most = positions(model)
    if most is not None and len(ids) > most:
        raise Error(
            f"expected at most {most} tokens (the positions of the model), found {len(ids)}; shorten the text",
            kind="input_too_long",
        )


def positions(model: Any) -> int | None:
    """How many tokens the model has positions for, where it says so."""
    import torch

    most = getattr(text_config(model), "max_position_embeddings", None)
    if not isinstance(most, int) or most < 1:  # XLNet's -1: as many as there are
        return None
    for name, module in model.named_modules():
        # Like RoBERTa's: positions count from behind that of padding.
        if name.rpartition(".")[2] == "position_embeddings" and isinstance(module, torch.nn.Embedding):
            if module.padding_idx is not None:
                most = min(most, module.num_embeddings - module.padding_idx - 1)
    return most
