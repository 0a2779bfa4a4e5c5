"""A text as a model's input: its tokens, checked against the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnflow.capture import text_config
from attnflow.errors import Error, bad_input
from attnflow.inputs import Given
from attnflow.text import Encoded, encode, encode_ids, named_text
from attnflow.walk import named_modules


def row_of(model: Any, ids: Sequence[int]) -> Any:
    """Token ids as a batch of one, on the model's device."""
    import torch

    return torch.tensor([list(ids)], device=next(model.parameters()).device)


def inputs_of_ids(model: Any, ids: Sequence[int]) -> dict[str, Any]:
    """Token ids of one text as the model's input, without padding."""
    row = row_of(model, ids)
    return {"input_ids": row, "attention_mask": row.new_ones(row.shape)}


def model_source(model: Any) -> str:
    """The name on the hub or the folder that the model was loaded from; its class for one made in memory."""
    return str(getattr(model.config, "name_or_path", "") or type(model).__name__)


def model_name(model: Any) -> str:
    """What people call the model: its source, with a folder's name for its path."""
    source = model_source(model)
    is_folder = Path(source).is_absolute() or source.startswith(".")
    return (Path(source).resolve().name if is_folder else source) or type(model).__name__


def positions(model: Any) -> int | None:
    """The number of positions that the model declares, if any."""
    import torch

    most = getattr(text_config(model), "max_position_embeddings", None)
    if not isinstance(most, int) or most < 1:  # XLNet's -1: as many as there are
        return None
    for name, module in named_modules(model):
        # As in RoBERTa, positions start after that of padding.
        if name.rpartition(".")[2] == "position_embeddings" and isinstance(module, torch.nn.Embedding):
            if module.padding_idx is not None:
                most = min(most, module.num_embeddings - module.padding_idx - 1)
    return most


def encoded(model: Any, tokenizer: Any, given: Given) -> Encoded:
    """The tokens of an input, checked against the model."""
    if given.ids is not None:
        check_ids(model, given.ids)
        found = encode_ids(tokenizer, given.ids, given.types)
        if given.names is not None:
            found.texts = [named_text(given.names)]
        return found
    found = encode(tokenizer, given.text, pair=given.pair)
    check_ids(model, found.ids)
    if found.texts and not any(place for _, places in found.texts for place in places):
        raise bad_input("expected text with at least one token, found none (empty or only whitespace)")
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
