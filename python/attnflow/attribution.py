"""Attention in, a report or an array out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from attnflow import _core
from attnflow.arrays import as_layers
from attnflow.capture import Captured, divide_rows
from attnflow.errors import Error
from attnflow.hints import NDArray, Options, ValueOptions, counted, describes_options, np
from attnflow.progress import progress_bar
from attnflow.report import Report
from attnflow.text import unicode_text


@describes_options("attribute")
def attribute(
    attentions: Any,
    tokens: Sequence[str] | None = None,
    *,
    special: Sequence[bool] | None = None,
    name: str = "",
    **options: Unpack[Options],
) -> Report:
    """Raw attention, rollout and flow of one input (`method` says which).

    attentions: the result of `output_attentions=True` (a tuple of layers [1, head, query, key], or the whole output;
        from generate() all of its steps, over the prompt and all generated tokens but the last), a list of layers
        [head, query, key], or [query, key] of averaged heads, one array [layer, head, query, key], a cache of
        TransformerLens, or, with a `mixing` that says which, finished contributions [layer, query, key].
    tokens: a text for each position; special: which of them are special, such as [CLS].
    name: the report's name.
    """
    return _report(attentions, tokens, special, name, dict(options))


def _report(
    attentions: Any,
    tokens: Sequence[str] | None,
    special: Sequence[bool] | None,
    name: str,
    asked: dict[str, Any],
    only_values: bool = False,
) -> Report:
    """only_values: keeps only the methods' arrays, not the layers."""
    mixing = asked.get("mixing")
    layers, contributions = as_layers(attentions, isinstance(mixing, str) and _is_finished(mixing))
    given_layers = layers or contributions
    asked = counted(asked, len(given_layers), given_layers[0].shape[-1] if given_layers else None)
    if isinstance(attentions, Captured):
        asked = divide_rows(asked, attentions.rounded)
    with progress_bar() as progress:
        given = _core.Tokens(
            texts=[] if tokens is None else _texts_of(tokens),
            special=[] if special is None else [bool(flag) for flag in special],
            name=unicode_text("name", name),
            only_values=only_values,
        )
        core = _core.explain_arrays(layers, contributions, given, asked, progress)
    return Report(core)


def _is_finished(mixing: str) -> bool:
    try:
        return _core.mixing_info(mixing).needs == "terms"
    except Error:  # said where options are read
        return False


def _texts_of(tokens: Any) -> list[str]:
    """A list of texts; refuses one text, whose letters it would take, and token ids."""
    expected = "tokens: expected a list of texts, one for each position, found"
    if isinstance(tokens, str | bytes | Mapping) or not isinstance(tokens, Iterable):
        advice = "; pass tokens.split(), or a list" if isinstance(tokens, str) else ""
        advice = "; pass tokenizer.convert_ids_to_tokens(encoding.input_ids)" if isinstance(tokens, Mapping) else advice
        raise Error(f"{expected} {type(tokens).__name__}{advice}")
    texts = list(tokens)
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            advice = "; pass tokenizer.convert_ids_to_tokens(ids)" if hasattr(text, "__index__") else ""
            raise Error(f"{expected} {type(text).__name__} at {at}{advice}")
    return [unicode_text("tokens", str(text)) for text in texts]


def _values(method: str, attentions: Any, options: ValueOptions) -> NDArray[np.float64]:
    if "method" in options:
        raise Error(f"expected no method for {method}(), found one; attribute() takes several")
    asked: dict[str, Any] = {**options, "method": method}
    values: NDArray[np.float64] = getattr(_report(attentions, None, None, "", asked, only_values=True), method)
    return values


@describes_options("values")
def raw(attentions: Any, **options: Unpack[ValueOptions]) -> NDArray[np.float64]:
    """The attention of each layer, heads fused: [layer, output_token, input_token]."""
    return _values("raw", attentions, options)


@describes_options("values")
def rollout(attentions: Any, **options: Unpack[ValueOptions]) -> NDArray[np.float64]:
    """Attention rollout to the input: [layer, output_token, input_token]; row [-1, 0]: what the first token depends on.

    Weights are shares: a token depends on an input token by the sum, over all paths between them, of the product of the
    weights along the path (Abnar and Zuidema, ACL 2020).
    """
    return _values("rollout", attentions, options)


@describes_options("values")
def flow(attentions: Any, **options: Unpack[ValueOptions]) -> NDArray[np.float64]:
    """Attention flow down to the input: [layer, output_token, input_token].

    Weights are capacities: each value is the maximum flow between two tokens (Abnar and Zuidema, ACL 2020). Above 128
    tokens, only the row of `output_token` is computed unless output_token="all". only_output_token=True computes only
    that row at any length, which is much faster. attribute() also returns how far each value is certified, and where
    flow is set by the first or last layer alone.
    """
    return _values("flow", attentions, options)
