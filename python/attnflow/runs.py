"""A model's run on a text for a mixing: attention, contributions or relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from attnflow import _core, edges
from attnflow.arrays import as_array
from attnflow.capture import as_given, capture_with, divide_rows, text_config
from attnflow.edges import Found
from attnflow.errors import Error, bad_input, unsupported
from attnflow.inputs import Given
from attnflow.joint import is_encoder_decoder, joint_of
from attnflow.layers import layers_of
from attnflow.text import Encoded, encode, encode_ids, head_of, label_of, mask_positions, readable, word_to_ids


@dataclass
class Reading:
    """A text as a model's input."""

    model: Any
    tokenizer: Any
    parts: Sequence[Encoded]  # of an encoder-decoder two
    inputs: dict[str, Any]

    @property
    def ids(self) -> Sequence[int]:
        return self.parts[-1].ids


def run_as_asked(reading: Reading, asked: dict[str, Any]) -> Found:
    """Runs the model with the requested mixing, or the one that mixing="auto" resolves to."""
    if is_encoder_decoder(reading.model):
        if asked.get("mixing") not in (None, "auto", "attention"):
            raise Error(f"mixing: expected attention, the only mixing for encoder-decoders, found {asked['mixing']}")
        return _attention(reading, asked, _core.Notes())
    given = asked.get("mixing") or "auto"
    layers = layers_of(reading.model)
    notes = _core.Notes()
    mixing = _chosen(reading, asked, bool(layers), notes)
    try:
        return _run(reading, asked | {"mixing": mixing}, notes)
    except (Error, RuntimeError) as error:
        names_target = any(asked.get(name) not in (None, "auto") for name in ("target", "against"))
        impossible = not isinstance(error, Error) or error.kind in ("unsupported_model", "bad_file")
        if given != "auto" or mixing == "attention" or names_target or not impossible:
            raise
        # It was not requested, and the layers are not of a known kind, or have no gradients, or there is no room for them.
        notes = _core.Notes()
        return _run(reading, asked | {"mixing": _chosen(reading, asked, False, notes)}, notes)


def _chosen(reading: Reading, asked: dict[str, Any], has_terms: bool, notes: _core.Notes) -> str:
    """The mixing, and a note if it is not attention."""
    model = reading.model
    part = reading.parts[-1]
    last = reading_position(model, part.ids)
    kind = head_of(model) or "none"
    if kind == "classification" and int(model.config.num_labels) < 2:
        kind = "none"  # a number: nothing is chosen over anything
    predicts = asked.get("mixing") in (None, "auto") and _core.predicts_at_output(
        part.tokens,
        part.special,
        part.texts,
        asked,
        kind,
        _is_causal(model),
        len(part.ids) - 1 if last is None else last,
    )
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return _core.chosen_mixing(asked, predicts, parameters, has_terms, len(part.ids), notes)


def _is_causal(model: Any) -> bool:
    """Whether the first known layer's attention says that it only looks back."""
    for layer, _ in layers_of(model):
        return any(getattr(module, "is_causal", False) for module in layer.modules())
    return False


def reading_position(model: Any, ids: Sequence[int]) -> int | None:
    """The last token without padding, where a decoder reads the class; None: at the end, or not such a decoder."""
    padding = getattr(model.config, "pad_token_id", None)
    if padding is None or ids[-1] != padding or head_of(model) != "classification" or not _is_causal(model):
        return None
    return max((t for t, token in enumerate(ids) if token != padding), default=0)


def read_generated(reading: Reading, asked: dict[str, Any]) -> Found:
    """Runs the model on a prompt and its continuation, with the options of a generation."""
    names = ("renormalize", "any_weights", "threads")
    of_rows: dict[str, Any] = {name: asked[name] for name in names if name in asked}
    mixing = asked.get("mixing") or "auto"
    mixing = mixing if _core.mixing_info(mixing).needs == "terms" else "attention"
    # Generations, too, use the mean over heads for the first token; otherwise all heads are needed.
    found = _run(reading, of_rows | {"mixing": mixing}, _core.Notes(), asked.get("heads") in (None, "mean"))
    found.asked = asked | {name: value for name, value in found.asked.items() if name in names}
    return found


def _run(reading: Reading, asked: dict[str, Any], notes: _core.Notes, fuses: bool = True) -> Found:
    """fuses: whether to fuse attention heads as soon as possible."""
    needs = _core.mixing_info(asked["mixing"]).needs
    if needs == "attention":
        return _attention(reading, asked, notes, fuses)
    keep = as_given if asked.get("keep_attention") else edges.shape_alone
    mixing = asked["mixing"]
    position = None
    if needs == "terms":
        found = edges.contributions(reading.model, reading.inputs, mixing, keep, int(asked.get("threads") or 0))
    else:
        question = _Question(reading, asked, notes)
        position = question.position
        found = edges.relevance(reading.model, reading.inputs, mixing, question.logits, question.choice, keep)
    kept = bool(asked.get("keep_attention"))
    found.asked = divide_rows(asked, found.rounded and kept)
    found.attentions = found.attentions if kept else ()
    found.notes, found.position = notes, position
    return found


class _Question:
    """Which prediction is explained."""

    def __init__(self, reading: Reading, asked: dict[str, Any], notes: _core.Notes) -> None:
        model, tokenizer = reading.model, reading.tokenizer
        mixing = asked["mixing"]
        kind = head_of(model)
        if kind is None:
            raise unsupported(
                f"mixing {mixing}: expected a classifier or a language model, whose score for a class or a token is explained, "
                f'found {type(model).__name__}, {_other_head(model)}; choose such a model, or mixing="attention"'
            )
        self.kind = kind
        self.position: int | None = None  # None: of the whole text
        if kind == "classification":
            size, name = int(model.config.num_labels), label_of(model)
        else:
            size, name = int(model.get_input_embeddings().weight.shape[0]), partial(readable, tokenizer)
            part = reading.parts[0]
            self.position = _core.output_position(part.tokens, part.special, part.texts, asked, kind == "next")
        if kind == "masked":
            masks = mask_positions(tokenizer, reading.ids)
            if not masks:
                raise Error(
                    f"mixing {mixing}: expected a mask token in the text, whose prediction is explained, found none; write "
                    f"{getattr(tokenizer, 'mask_token', None) or '[MASK]'} in place of the word to predict"
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
            raise unsupported(f"expected logits of {dimensions} dimensions, found {found}")
        return (logits[0] if self.position is None else logits[0, self.position]), self.position


def _attention(reading: Reading, asked: dict[str, Any], notes: _core.Notes, fuses: bool = True) -> Found:
    import torch

    model = reading.model
    is_joint = is_encoder_decoder(model)
    fuses = fuses and _core.can_fuse(asked)
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

    # The mean of one is itself, to the bit; maxima would be divided by their sums twice, and sums are per head.
    means = asked.get("heads") in (None, "mean") and not asked.get("renormalize")
    with capture_with(model, keep, "mean" if fuses and means and not is_joint else None) as captured, torch.no_grad():
        output = model(**reading.inputs)
    joint = joint_of(model, captured.calls) if is_joint else None
    found = Found(output, divide_rows(asked, captured.rounded), notes=notes)
    found.joint = None if joint is None else joint.shape
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


def row_of(model: Any, ids: Sequence[int]) -> Any:
    """Token ids as a batch of one, on the model's device."""
    import torch

    return torch.tensor([list(ids)], device=next(model.parameters()).device)


def inputs_of_ids(model: Any, ids: Sequence[int]) -> dict[str, Any]:
    """Token ids of one text as the model's input, without padding."""
    row = row_of(model, ids)
    return {"input_ids": row, "attention_mask": row.new_ones(row.shape)}


def model_name(model: Any) -> str:
    return str(getattr(model.config, "name_or_path", "") or type(model).__name__)


def encoded(model: Any, tokenizer: Any, given: Given) -> Encoded:
    """The tokens of an input, checked against the model."""
    if given.ids is not None:
        check_ids(model, given.ids)
        return encode_ids(tokenizer, given.ids, given.types)
    found = encode(tokenizer, given.text, pair=given.pair)
    check_ids(model, found.ids)
    return found


def check_ids(model: Any, ids: Sequence[int]) -> None:
    if not ids:
        raise bad_input("expected text with at least one token, found none")
    if min(ids) < 0:
        raise bad_input(
            f"expected token ids from 0, found {min(ids)}; labels mark what is ignored by negative ids: pass input_ids"
        )
    vocabulary = model.get_input_embeddings().weight.shape[0]
    if max(ids) >= vocabulary:
        raise bad_input(
            f"expected tokens of the model, whose vocabulary has {vocabulary}, found {max(ids)}; the tokenizer belongs to "
            "another model"
        )
    most = positions(model)
    if most is not None and len(ids) > most:
        raise Error(
            f"expected at most {most} tokens (the positions of the model), found {len(ids)}; shorten the text",
            kind="input_too_long",
        )


def positions(model: Any) -> int | None:
    """The number of positions that the model declares, if any."""
    import torch

    most = getattr(text_config(model), "max_position_embeddings", None)
    if not isinstance(most, int) or most < 1:  # XLNet's -1: as many as there are
        return None
    for name, module in model.named_modules():
        # As in RoBERTa, positions start after that of padding.
        if name.rpartition(".")[2] == "position_embeddings" and isinstance(module, torch.nn.Embedding):
            if module.padding_idx is not None:
                most = min(most, module.num_embeddings - module.padding_idx - 1)
    return most
