"""Attention as frameworks hand it over, as NumPy arrays.

Nothing here imports a framework: what an array can do says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnflow.errors import Error

if TYPE_CHECKING:
    from numpy.typing import NDArray

# In the caches of TransformerLens.
_PATTERN = re.compile(r"blocks\.(\d+)\.attn\.hook_pattern")


def as_array(array: Any) -> NDArray[Any]:
    """Any array, on any device, as float32 or float64 in C's order: 16-bit floats become float32, which holds them."""
    import numpy as np

    try:
        if isinstance(array, np.ndarray):
            values = array
        elif hasattr(array, "detach") and hasattr(array, "cpu"):  # torch
            tensor = array.detach().cpu().resolve_neg()
            values = (tensor.float() if "float16" in str(tensor.dtype) else tensor).numpy()
        elif hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
            values = np.from_dlpack(array)
        else:  # JAX, pandas, lists
            values = np.asarray(array)
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:  # sparse, on meta, ragged
        raise Error(
            f"attention: expected what NumPy can read, found {type(array).__name__} ({error})", kind="bad_input"
        ) from error
    if isinstance(values, np.ma.MaskedArray) and bool(np.any(values.mask)):
        raise Error("attention: expected an array without a mask, found a masked one; fill it first", kind="bad_input")
    if values.dtype.name in ("float16", "bfloat16"):
        values = values.astype(np.float32)
    elif values.dtype.kind in "biu":
        values = values.astype(np.float64)
    if values.dtype.name not in ("float32", "float64"):
        raise Error(
            f"attention: expected an array of floats of at most 64 bits, found {values.dtype}", kind="bad_input"
        )
    return np.asarray(values, dtype=values.dtype.newbyteorder("="), order="C")


def _one_sequence(values: NDArray[Any], shape: tuple[int, ...], where: str) -> NDArray[Any]:
    """[1, head, query, key] -> [head, query, key]."""
    if shape[0] == 1:
        return values.reshape(shape[1:])
    raise Error(
        f"attention: expected one sequence, found a batch of {shape[0]} in {where}; take one of them, without its "
        "padding: [layer[i, :, :n, :n] for layer in attentions], or [layer[i, :, -n:, -n:] ...] where it stands in front",
        kind="bad_input",
    )


def _layer(array: Any, number: int) -> NDArray[Any]:
    values = as_array(array)
    if values.ndim == 4:
        return _one_sequence(values, values.shape, f"layer {number}")
    if values.ndim == 3:
        return values
    raise Error(
        "attention: expected each layer as [head, query, key] or [1, head, query, key], found "
        f"{list(values.shape)} in layer {number}",
        kind="bad_input",
    )


def _from_names(named: Mapping[Any, Any]) -> list[Any] | None:
    """The attention of all layers out of a mapping from names to arrays."""
    if "attentions" in named:
        return None if named["attentions"] is None else list(named["attentions"])
    patterns = {int(match[1]): key for key in named if (match := _PATTERN.fullmatch(str(key)))}
    if patterns and sorted(patterns) != list(range(len(patterns))):
        missing = next(layer for layer in range(len(patterns)) if layer not in patterns)
        raise Error(
            f"attention: expected the patterns of all layers from blocks.0 on, found those of {sorted(patterns)}; "
            f"blocks.{missing}.attn.hook_pattern is missing",
            kind="bad_input",
        )
    if not patterns and any(name in named for name in ("encoder_attentions", "decoder_attentions")):
        raise Error(
            "attention: expected one stack of layers, found an encoder-decoder's output; pass one of its "
            "encoder_attentions, decoder_attentions",
            kind="bad_input",
        )
    return [named[patterns[layer]] for layer in sorted(patterns)] or None


def as_layers(attentions: Any) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Any form of attention as a list of layers [head, query, key] of one type, and finished contributions
    [layer, query, key] as a list of layers [query, key]: one of the two lists is empty.
    """
    import numpy as np

    given = attentions
    if hasattr(given, "attentions") and not isinstance(given, Mapping):  # of capture()
        given = given.attentions
    if isinstance(given, Mapping) or (hasattr(given, "keys") and hasattr(given, "__getitem__")):
        found = _from_names(given)
        if found is None:
            raise Error(
                "attention: expected the attention of each layer in the model's output, found none; ask for it with "
                'output_attentions=True, for which SDPA and flash models need attn_implementation="eager"',
                kind="bad_input",
            )
        given = found
    if isinstance(given, Sequence | Iterable) and not hasattr(given, "shape"):
        given = list(given)
        if given and all(isinstance(step, tuple | list) and step and hasattr(step[0], "shape") for step in given):
            raise Error(
                "attention: expected a list of layers, found a list of such lists, as generate() returns: one a token; "
                "pass one of them",
                kind="bad_input",
            )
        layers = [_layer(array, number) for number, array in enumerate(given, 1)]
        if not layers:
            raise Error("attention: expected at least one layer, found none", kind="bad_input")
    else:
        values = as_array(given)
        if values.ndim == 5 and values.shape[1] == 1:  # torch.stack(output.attentions)
            values = values.reshape(values.shape[:1] + values.shape[2:])
        if values.ndim == 3 and values.shape[0] > 0:
            return [], list(values)
        if values.ndim != 4 or values.shape[0] == 0:
            raise Error(
                "attention: expected [layer, head, query, key], a list of layers, or contributions "
                f"[layer, query, key], found {list(values.shape)}",
                kind="bad_input",
            )
        return list(values), []
    if any(layer.dtype == np.float64 for layer in layers):
        layers = [layer.astype(np.float64, copy=False) for layer in layers]
    return layers, []
