"""Frameworks' attention as NumPy arrays; imports no framework: an array's abilities identify it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnflow import _core
from attnflow.errors import bad_input

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
        raise bad_input(
            f"attention: expected an array that NumPy can read, found {type(array).__name__} ({error})"
        ) from error
    if isinstance(values, np.ma.MaskedArray) and bool(np.any(values.mask)):
        raise bad_input("attention: expected an array without a mask, found a masked one; fill it first")
    if values.dtype.name in ("float16", "bfloat16"):
        values = values.astype(np.float32)
    elif values.dtype.kind in "biu":
        values = values.astype(np.float64)
    if values.dtype.kind == "O":
        raise bad_input(
            "attention: expected arrays of one shape and of floats, found objects; pass a list of layers, and each as an array"
        )
    if values.dtype.name not in ("float32", "float64"):
        raise bad_input(f"attention: expected an array of floats of at most 64 bits, found {values.dtype}")
    return np.asarray(values, dtype=values.dtype.newbyteorder("="), order="C")


def _one_sequence(values: NDArray[Any], number: int) -> NDArray[Any]:
    """[1, head, query, key] -> [head, query, key]."""
    if values.shape[0] == 1:
        return values.reshape(values.shape[1:])
    raise bad_input(
        f"attention: expected one sequence, found a batch of {values.shape[0]} in layer {number}; take one of them, without "
        "its padding: [layer[i, :, :n, :n] for layer in attentions], or [layer[i, :, -n:, -n:] ...] if the padding "
        "comes first"
    )


def _layer(array: Any, number: int) -> NDArray[Any]:
    values = as_array(array)
    if values.ndim == 4:
        return _one_sequence(values, number)
    if values.ndim == 5 and values.shape[0] == values.shape[1] == 1:
        return _one_sequence(values[0], number)
    if values.ndim == 3:
        return values
    raise bad_input(
        "attention: expected each layer as [head, query, key] or [1, head, query, key], found "
        f"{list(values.shape)} in layer {number}"
    )


def _from_names(named: Mapping[Any, Any]) -> list[Any] | None:
    """The attention of all layers from a mapping from names to arrays."""
    if "attentions" in named:
        return None if named["attentions"] is None else list(named["attentions"])
    patterns = {int(match[1]): key for key in named if (match := _PATTERN.fullmatch(str(key)))}
    if patterns and sorted(patterns) != list(range(len(patterns))):
        missing = next(layer for layer in range(len(patterns)) if layer not in patterns)
        raise bad_input(
            f"attention: expected the patterns of all layers from blocks.0 on, found those of {sorted(patterns)}; "
            f"blocks.{missing}.attn.hook_pattern is missing"
        )
    if patterns:
        return [named[patterns[layer]] for layer in sorted(patterns)]
    joint = [name for name in ("encoder_attentions", "decoder_attentions", "cross_attentions") if name in named]
    if joint:
        raise bad_input(
            f"attention: expected one stack of layers, found an encoder-decoder's output ({', '.join(joint)}); pass one of its "
            "encoder_attentions, decoder_attentions, or have all of it as one graph by explain() with target_text"
        )
    arrays = [name for name, value in named.items() if len(getattr(value, "shape", ())) in (3, 4)]
    if arrays and len(arrays) == len(named) and not {"logits", "last_hidden_state", "sequences"} & set(named):
        raise bad_input(
            f"attention: expected layers in order, found a mapping with {', '.join(map(repr, arrays[:3]))}; pass "
            "list(mapping.values()) if its first layer stands first"
        )
    return None


_NONE_FOUND = (
    'found none; ask for it with output_attentions=True, for which SDPA and flash models need attn_implementation="eager", '
    "or run the model in attnflow.capture(model), which takes any kernel"
)


def _refuse_absent(layers: Sequence[Any]) -> None:
    """Refuses the output of models whose kernel makes no weights: nothing, or None for each layer."""
    absent = [number for number, layer in enumerate(layers, 1) if layer is None]
    if len(absent) == len(layers):
        found = f"(nothing for each of {len(absent)} layers), {_NONE_FOUND}" if absent else _NONE_FOUND
        raise bad_input(f"attention: expected at least one layer, {found}")
    if absent:
        raise bad_input(
            f"attention: expected the attention of every layer, found None in layer {absent[0]} ({len(absent)} of "
            f"{len(layers)}), as layers without attention have (linear attention, state spaces): rollout and flow need all"
        )


def _steps_of(given: Sequence[Any]) -> bool:
    """Whether it is the result of generate(): a tuple of layers for each token."""
    return all(
        isinstance(step, tuple | list) and len(step) > 0 and all(len(getattr(one, "shape", ())) == 4 for one in step)
        for step in given
    )


def _joined(steps: Sequence[Sequence[Any]]) -> list[NDArray[Any]]:
    """Each layer's attention over prompt and generated tokens, from generate(), whose first step has the prompt's rows;
    a later one has the previous token's row, or, without a cache, all rows again.
    """
    import numpy as np

    if len({len(step) for step in steps}) != 1:
        raise bad_input(
            f"attention: expected as many layers in each step of generate(), found {sorted({len(step) for step in steps})}"
        )
    layers: list[NDArray[Any]] = []
    for layer in range(len(steps[0])):
        blocks = [_layer(step[layer], layer + 1) for step in steps]
        rows = 0
        kept: list[NDArray[Any]] = []
        for number, block in enumerate(blocks):
            queries, keys = block.shape[1:]
            if queries == keys:
                kept, rows = [], 0  # without a cache
            if keys != rows + queries or block.shape[0] != blocks[0].shape[0]:
                raise bad_input(
                    f"attention: expected step {number} of generate() with {rows + queries} keys, found {keys}, as sliding and "
                    "static caches give; use attnflow.generate(), or attribute() of one pass over the whole text"
                )
            rows = keys
            kept.append(block)
        whole = np.zeros((blocks[0].shape[0], rows, rows), dtype=np.result_type(*kept))
        for block in kept:
            queries, keys = block.shape[1:]
            whole[:, keys - queries : keys, :keys] = block
        layers.append(whole)
    return layers


def _refuse_whole_output(given: Sequence[Any]) -> None:
    """Refuses a model's output as a tuple (return_dict=False), in which attention is one of several things."""
    nested = [at for at, one in enumerate(given) if isinstance(one, tuple | list) and one and hasattr(one[0], "shape")]
    if nested and len(nested) < len(given):
        raise bad_input(
            f"attention: expected a list of layers, found a model's whole output as a tuple; pass its attentions, as output[{nested[-1]}] "
            "may be, or ask for return_dict=True"
        )


def as_layers(attentions: Any, finished: bool = False) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Layers [head, query, key] of one type, and finished contributions as layers [query, key]: one list is empty.

    finished: whether [layer, query, key] is contributions. Otherwise [query, key] in a list of layers has fused heads,
        and in one array a dimension is missing, either of two.
    """
    given = attentions
    if given is None:
        _refuse_absent([])
    if hasattr(given, "attentions") and not isinstance(given, Mapping):  # of capture()
        given = given.attentions
    if isinstance(given, Mapping) or (hasattr(given, "keys") and hasattr(given, "__getitem__")):
        found = _from_names(given)
        if found is None:
            raise bad_input(f"attention: expected the attention of each layer in the model's output, {_NONE_FOUND}")
        given = found
    if isinstance(given, Sequence | Iterable) and not hasattr(given, "shape"):
        return _from_list(list(given), finished)
    return _from_array(as_array(given), finished)


def _from_list(given: list[Any], finished: bool) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    import numpy as np

    _refuse_absent(given)
    _refuse_whole_output(given)
    if _steps_of(given):
        layers = _joined(given)
    elif all(len(getattr(one, "shape", ())) == 2 for one in given):
        fused = [as_array(one) for one in given]
        if finished:
            return [], fused
        layers = [one[None] for one in fused]
    else:
        layers = [_layer(array, number) for number, array in enumerate(given, 1)]
    if any(layer.dtype == np.float64 for layer in layers):
        layers = [layer.astype(np.float64, copy=False) for layer in layers]
    return layers, []


def _from_array(values: NDArray[Any], finished: bool) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    if values.ndim == 5 and 1 in values.shape[:2]:  # torch.stack(output.attentions), or a batch of such stacks
        batch = 1 if values.shape[1] == 1 else 0
        values = values.reshape(values.shape[:batch] + values.shape[batch + 1 :])
    if values.ndim == 3 and values.shape[0] > 0:
        if finished:
            return [], list(values)
        raise bad_input(
            f"attention: expected [layer, head, query, key], found {list(values.shape)}, in which one dimension is missing: "
            "attention[:, None] adds the head, if these are layers whose heads were averaged; attention[None] adds the layer, "
            "if these are the heads of one layer; of finished contributions, mixing says what they are "
            f"({_core.contributions_listed()})"
        )
    if values.ndim != 4 or values.shape[0] == 0:
        advice = "; take one input of the batch, without its padding: attention[:, i]" if values.ndim == 5 else ""
        raise bad_input(
            "attention: expected [layer, head, query, key], a list of layers, or contributions "
            f"[layer, query, key], found {list(values.shape)}{advice}"
        )
    return list(values), []
