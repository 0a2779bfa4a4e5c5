"""Whether to believe a map: what a Transformers model says once each token, alone, is blanked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

# Parameters, what stands in, whether to check whatever it costs, and the runs.
Check = tuple[int, str, bool, Callable[[int, int | None, int | None, list[list[int]]], list[float | None]]]

# Tokens in one batch.
_TOKENS = 4096


class MapAgreement(NamedTuple):
    """How the last layer of one method agrees with blank-out."""

    rank_correlation: float | None  # Spearman's; None where either orders nothing
    first_token: int  # which the method ranks first, of those that are not special
    blanked_value: float  # the quantity where that token is blanked
    decisive_token: int | None  # the one whose blanking lowers it most
    decisive_value: float


class Agreement(NamedTuple):
    """What blanking tokens one by one says of a report's maps."""

    quantity: str  # "logit difference of plural over singular"
    blank: str  # what stood in for blanked tokens
    value: float  # the quantity as the text stands
    maps: dict[str, MapAgreement]  # by method


def blank_token(tokenizer: Any, causal: bool) -> tuple[int, str] | None:
    """What stands in for a token: the unknown one, else the mask, else of decoders what pads or ends a text."""
    for name in ("unk", "mask", *(("pad", "eos") if causal else ())):
        number = getattr(tokenizer, f"{name}_token_id", None)
        if number is not None:
            return int(number), str(tokenizer.convert_ids_to_tokens(int(number)))
    return None


def check_of(model: Any, tokenizer: Any, inputs: dict[str, Any], must: bool, causal: bool) -> Check | None:
    """The check of what the model said of `inputs`, one text of it; nothing where there is no token to blank with."""
    blank = blank_token(tokenizer, causal)
    if blank is None:
        return None
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return parameters, blank[1], must, partial(_blanked_values, model, inputs, blank[0])


def _blanked_values(
    model: Any,
    inputs: dict[str, Any],
    blank: int,
    label: int,
    other: int | None,
    position: int | None,
    groups: Sequence[Sequence[int]],
) -> list[float | None]:
    """Where each group of positions is blanked, the logit of `label` less that of `other` (-1: the mean of all others).

    None for groups that are blank already.
    """
    import torch

    ids = inputs["input_ids"]
    values: list[float | None] = [None] * len(groups)
    changed = [g for g, group in enumerate(groups) if bool((ids[0, list(group)] != blank).any())]
    at_once = max(1, _TOKENS // ids.shape[1])
    for begin in range(0, len(changed), at_once):
        of_batch = changed[begin : begin + at_once]
        blanked = ids.repeat(len(of_batch), 1)
        for row, g in enumerate(of_batch):
            blanked[row, list(groups[g])] = blank
        mask = inputs["attention_mask"].repeat(len(of_batch), 1)
        with torch.no_grad():
            logits = model(input_ids=blanked, attention_mask=mask).logits
        rows = (logits if position is None else logits[:, position]).double()
        against = 0.0
        if other is not None:
            rest = rows.sum(dim=-1) - rows[:, label]
            against = rest / (rows.shape[-1] - 1) if other == -1 else rows[:, other]
        for g, value in zip(of_batch, (rows[:, label] - against).tolist(), strict=True):
            values[g] = float(value)
    return values
