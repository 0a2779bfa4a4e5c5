"""Whether to believe a map: what a Transformers model says once each token, alone, is blanked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from attnflow.text import head_of

# The runs: the quantity for the text, and with each group of positions blanked; None where it was blank before.
Runs = Callable[[int, Sequence[int] | None, int | None, Sequence[Sequence[int]]], tuple[float, list[float | None]]]
# Parameters, blank, whether to check at any cost, and the runs.
Check = tuple[int, str, bool, Runs]

# Limits for one batch: tokens, and numbers in its logits.
_TOKENS = 4096
_LOGITS = 2**26


class MapAgreement(NamedTuple):
    """How well the last layer of one method agrees with blank-out."""

    rank_correlation: float | None  # Spearman's; None where either orders nothing
    first_token: int  # which the method ranks first, of those that are not special
    blanked_value: float  # the quantity where that token is blanked
    decisive_token: int | None  # the one whose blanking lowers it most
    decisive_value: float


class Agreement(NamedTuple):
    """The result of checking a report's maps by blanking tokens one by one."""

    quantity: str  # "logit difference of plural over singular"
    blank: str  # what stood in for blanked tokens
    value: float  # the quantity as the text stands
    maps: dict[str, MapAgreement]  # by method


def blank_token(tokenizer: Any, causal: bool) -> tuple[int, str] | None:
    """The neutral token: the unknown one, else the mask, else, for decoders, the padding or end token."""
    for name in ("unk", "mask", *(("pad", "eos") if causal else ())):
        number = getattr(tokenizer, f"{name}_token_id", None)
        if number is not None:
            return int(number), str(tokenizer.convert_ids_to_tokens(int(number)))
    return None


def check_of(model: Any, tokenizer: Any, inputs: dict[str, Any], must: bool, causal: bool) -> Check | None:
    """The check of the model's prediction for `inputs`, one text; None without a blank token."""
    blank = blank_token(tokenizer, causal)
    if blank is None or _moves_class(model, blank[0]):
        return None
    if blank[0] >= model.get_input_embeddings().weight.shape[0]:  # the tokenizer may have tokens that the model has not
        return None
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return parameters, blank[1], must, partial(_blanked_values, model, inputs, blank[0])


def _moves_class(model: Any, blank: int) -> bool:
    """Decoders that classify do so at the last token that is not padding: blanking by padding would move that."""
    return blank == getattr(model.config, "pad_token_id", None) and head_of(model) == "classification"


def _blanked_values(
    model: Any,
    inputs: dict[str, Any],
    blank: int,
    label: int,
    others: Sequence[int] | None,
    position: int | None,
    groups: Sequence[Sequence[int]],
) -> tuple[float, list[float | None]]:
    """score_of() the text, and with each group blanked, by one kernel, perhaps not the one that attention is from."""
    import torch

    ids = inputs["input_ids"]
    changed = [g for g, group in enumerate(groups) if bool((ids[0, list(group)] != blank).any())]
    blanked = ids.repeat(len(changed) + 1, 1)  # the text itself comes first
    for row, g in enumerate(changed, start=1):
        blanked[row, list(groups[g])] = blank
    found: list[float] = []
    for part in torch.split(blanked, _at_once(model, ids.shape[1])):
        rest = {name: given.repeat(len(part), 1) for name, given in inputs.items() if name != "input_ids"}
        with torch.no_grad():
            logits = model(input_ids=part, **rest).logits
        rows = (logits if position is None else logits[:, position]).float().cpu().double()
        found += score_of(rows, label, others).tolist()
    values: list[float | None] = [None] * len(groups)
    for g, value in zip(changed, found[1:], strict=True):
        values[g] = value
    return found[0], values


def score_of(logits: Any, label: int, others: Sequence[int] | None) -> Any:
    """The last dimension's logit of `label`, less the mean of `others` (none in the list: of all others)."""
    value = logits[..., label]
    if others is None:
        return value
    if not others:
        return value - (logits.sum(dim=-1) - value) / (logits.shape[-1] - 1)
    return value - sum(logits[..., other] for other in others) / len(others)


def _at_once(model: Any, tokens: int) -> int:
    """The number of texts in a batch."""
    config = model.config
    if getattr(config, "pad_token_id", None) is None and head_of(model) == "classification":
        return 1  # transformers refuses more of decoders
    vocabulary = model.get_input_embeddings().weight.shape[0]
    return int(max(1, min(_TOKENS // tokens, _LOGITS // (tokens * vocabulary))))
