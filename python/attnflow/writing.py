"""The text that a model's own generate() writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnflow.errors import Error
from attnflow.model_inputs import inputs_of_ids
from attnflow.text import ends_of

# Arguments of generate() by the parameters that take their place.
_PARAMETERS = {
    "max_new_tokens": "tokens",
    "max_length": "tokens",
    "temperature": "temperature",
    "do_sample": "temperature",
    "top_p": "top_p",
    "eos_token_id": "ignore_end",
    "input_ids": "inputs",
}


def require_free(further: Mapping[str, Any]) -> None:
    """Refuses arguments of generate() that have a separate parameter."""
    for name, parameter in _PARAMETERS.items():
        if name in further:
            raise Error(f"generation: expected no {name!r}, found one; use the parameter {parameter}")
    if "decoder_input_ids" in further:
        raise target_given("generation")


def target_given(where: str) -> Error:
    return Error(
        f"{where}: expected no decoder_input_ids, because generate() writes the target, found some; explain() takes a target "
        "that is already written"
    )


# An end token for texts without one. None would mean the model's own.
_NO_TOKEN = 2**31 - 1


def written(
    model: Any,
    tokenizer: Any,
    ids: Sequence[int],
    begin: Sequence[int],
    most: int,
    ignore_end: bool,
    seed: int,
    sampling: Mapping[str, Any],
    further: Mapping[str, Any],
) -> list[int]:
    """The tokens that the model writes: after the prompt `ids`, or after `begin` where that is an encoder-decoder's source.

    most: how many. sampling: its parameters; none for the most probable token. further: the caller's own arguments.
    """
    import torch

    # The model counts all but the first token of `begin` as its own.
    given: dict[str, Any] = {"max_new_tokens": most + len(begin[1:]), "do_sample": bool(sampling), **sampling}
    if not sampling:  # what the model's own configuration may say of sampling does not apply
        given |= {"temperature": None, "top_p": None, "top_k": None}
    if ignore_end:  # a token that ends the text may be chosen, and stays
        given["eos_token_id"] = _NO_TOKEN
    if model.generation_config.pad_token_id is None:
        known = (*sorted(ends_of(model, further)), getattr(tokenizer, "pad_token_id", None), 0)
        given["pad_token_id"] = next(token for token in known if token is not None)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(int(seed))
        output = model.generate(**inputs_of_ids(model, ids), **(given | dict(further)))
    sequences = output if isinstance(output, torch.Tensor) else output.sequences
    whole = [int(token) for token in sequences[0]]
    if whole[: len(begin)] != list(begin):
        raise Error(
            f"expected a target that begins with tokens {list(begin)}, found {whole[: len(begin)]}", kind="other"
        )
    made = whole[len(begin or ids) :]
    if not ignore_end:  # padding behind the end, of beams that were longer
        ends = ends_of(model, further)
        made = made[: next((at + 1 for at, token in enumerate(made) if token in ends), None)]
    if not made:
        raise Error("expected at least one generated token, found none", kind="other")
    return made
