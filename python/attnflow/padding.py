"""Several texts as one batch: padded behind to one length, and the output of each without its padding.

A batch is faster than its texts one by one only if it gives the same, and not all models do: so a model is tried first,
on the texts themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attnflow.anatomy import FoundOnce
from attnflow.capture import capture_with
from attnflow.errors import Error, unsupported


def padding_of(model: Any) -> int:
    """The id that pads: the model's own, which some models tell from the others by it, or any."""
    own = getattr(model.config, "pad_token_id", None)
    return own if isinstance(own, int) and 0 <= own < model.get_input_embeddings().weight.shape[0] else 0


def padded(inputs: Sequence[dict[str, Any]], padding: int) -> dict[str, Any]:
    """Inputs [1, token] of several texts as one batch."""
    import torch

    longest = max(one["input_ids"].shape[1] for one in inputs)

    def row(name: str, one: Any) -> Any:
        fill = padding if name == "input_ids" else 0
        return torch.nn.functional.pad(one, (0, longest - one.shape[1]), value=fill)

    return {name: torch.cat([row(name, one[name]) for one in inputs]) for name in inputs[0]}


# Outputs [text, token] without a third dimension.
_BY_TOKEN = ("start_logits", "end_logits")


def of_text(output: Any, text: int, tokens: int, longest: int) -> Any:
    """The output of one of a batch's texts: its tensors [text, token, ...] without padding, others [text, ...] whole."""
    import torch

    def own(name: str, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(own(name, one) for one in value)
        if not isinstance(value, torch.Tensor) or value.dim() == 0:
            return value
        kept = value[text : text + 1]
        by_token = value.dim() > 2 or name in _BY_TOKEN
        return kept[:, :tokens] if by_token and value.shape[1] == longest else kept

    if not hasattr(output, "items"):
        raise unsupported(f"expected an output with names, found {type(output).__name__}")
    return type(output)(**{name: own(name, value) for name, value in output.items()})


_pads: FoundOnce[bool] = FoundOnce()


def gives_the_same_padded(model: Any, inputs_of: Callable[[Sequence[int]], dict[str, Any]], texts: Any) -> bool:
    """Whether a text gives the same beside a longer one, up to rounding: tried on two texts, once for each model."""
    return _pads.of(
        model, lambda: _is_same_padded(model, inputs_of, texts), getattr(model.config, "pad_token_id", None)
    )


def _is_same_padded(model: Any, inputs_of: Callable[[Sequence[int]], dict[str, Any]], texts: Any) -> bool:
    long = max(texts, key=len)
    short = min(texts, key=len)
    short = short[: max(1, min(len(short), len(long) - _PADDING))]
    alone = [inputs_of(ids) for ids in (short, long)]
    expected = [_run(model, inputs) for inputs in alone]
    try:
        output, calls = _run(model, padded(alone, padding_of(model)))
        of_text(output, 0, len(short), len(long))
    except (Error, ValueError, TypeError, RuntimeError, IndexError):
        return False  # transformers and PyTorch say in many ways that a batch is not possible
    for text, (ids, (own, own_calls)) in enumerate(zip((short, long), expected, strict=True)):
        found = of_text(output, text, len(ids), len(long))
        if not all(_is_close(one, other) for one, other in zip(_tensors(found), _tensors(own), strict=True)):
            return False
        for batch, weights in zip(calls, own_calls, strict=True):
            if batch.dim() != 4 or len(batch) != 2 or bool(batch[text, :, : len(ids), len(ids) :].any()):
                return False
            if not _is_close(batch[text : text + 1, :, : len(ids), : len(ids)], weights):
                return False
    return True


# Tokens by which the shorter of the two texts is padded, at least.
_PADDING = 4


def _run(model: Any, inputs: dict[str, Any]) -> tuple[Any, list[Any]]:
    import torch

    with capture_with(model, lambda weights, _: weights.detach()) as captured, torch.no_grad():
        output = model(**inputs)
    return output, [call.weights for call in captured.calls]


def _tensors(output: Any) -> list[Any]:
    """The numbers of an output, without those of attention, which are compared as they come; a cache has none."""
    import torch

    found = []
    for name, value in output.items():
        if name.endswith("attentions"):
            continue
        several = value if isinstance(value, tuple | list) else [value]
        found += [one for one in several if isinstance(one, torch.Tensor) and one.is_floating_point()]
    return found


def _is_close(a: Any, b: Any) -> bool:
    """Equal but for the order in which a batch's sums are taken."""
    return a.shape == b.shape and bool((a - b).abs().max() <= 1e-5 * b.abs().max().clamp(min=1.0))
