"""Where a model's layers keep what contributions and relevance are made of, found by running it on a few tokens.

A layer is the module of a numbered list around one call of attention. With x its input, y the residual stream behind
attention and o its output, hooks show what every module in it is given and gives. Then

    projection    the linear map that is given what attention gave; w is what it gives
    written_norm  a norm that is given w; then w is what that gives
    behind        the first module that is given y = x + s w (s, the scale, is 1 in most families)
    attention     without such a module, and if o = x + s w + f for what another module gave: the network is parallel
    last_norm     the norm that gives o, if what it is given contains the output of `behind` and not y

Nothing is taken from a table, and nothing is believed: each run compares what it saw with these equations
(attnflow.edges.Run.check()), and the terms of the first layer with their sum.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from attnflow.capture import capture_with
from attnflow.errors import Error, unsupported
from attnflow.hooks import before, behind, given_tensor
from attnflow.layers import LayerParts, parts_of, registrations
from attnflow.walk import modules, named_modules, parameters

Found = TypeVar("Found")

# Tokens that the model is run on: enough to tell a scale from a coincidence.
_TOKENS = 6


@dataclass
class Call:
    """A call of a module within a layer: the tensor that it was given, and the one that it gave."""

    path: str
    module: Any
    given: Any
    gave: Any


@dataclass
class _Seen:
    """What one call of a layer showed."""

    layer: Any
    attention: str  # the path of the module that calls attention
    x: Any = None
    o: Any = None
    mixed: Any = None  # what attention gave
    calls: list[Call] = field(default_factory=list)  # in the order in which they ended


class FoundOnce(Generic[Found]):
    """What was found in models, kept while their modules, types of numbers and registrations stay the same."""

    def __init__(self) -> None:
        # With what it was found in, whose modules are kept so that no other ones can pass for them.
        self._kept: weakref.WeakKeyDictionary[Any, tuple[list[Any], Found]] = weakref.WeakKeyDictionary()

    def of(self, model: Any, find: Callable[[], Found], *more: Any) -> Found:
        """find(), unless it is known; `more` are other things that the answer depends on."""
        anatomy = [*_anatomy(model), *more]
        kept = self._kept.get(model)
        if kept is not None and _same_parts(kept[0], anatomy):
            return kept[1]
        found = find()
        self._kept[model] = (anatomy, found)
        return found


def _anatomy(model: Any) -> list[Any]:
    found = modules(model)
    types = sorted(map(str, {parameter.dtype for parameter in parameters(found)}))
    # Without the model itself, which is not kept.
    return [*found[1:], *map(type, found), tuple(types), *registrations()]


def _same_parts(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(
        one is other or (isinstance(one, tuple | str) and one == other) for one, other in zip(a, b, strict=True)
    )


_layers: FoundOnce[list[tuple[Any, LayerParts]]] = FoundOnce()


def layers_found(model: Any, inputs: dict[str, Any]) -> list[tuple[Any, LayerParts]]:
    """The layers of a model with their parts, in the order in which they run; raises Error with what was missing.

    inputs: a text's, of which the first tokens are run, once for each model.
    """
    return _layers.of(model, partial(_find_layers, model, inputs))


def _find_layers(model: Any, inputs: dict[str, Any]) -> list[tuple[Any, LayerParts]]:
    try:
        return [(seen.layer, _parts(seen)) for seen in _seen(model, inputs, 0)]
    except Error as error:
        try:  # the module of an outer list (T5, whose layers are lists of blocks)
            return [(seen.layer, _parts(seen)) for seen in _seen(model, inputs, 1)]
        except Error:
            raise error from None


def first_tokens(inputs: dict[str, Any]) -> dict[str, Any]:
    """As many tokens of a text as it takes to find the parts of layers."""
    return {key: one[:, :_TOKENS] if one.dim() == 2 else one for key, one in inputs.items()}


def _seen(model: Any, inputs: dict[str, Any], outward: int) -> list[_Seen]:
    """The calls of the layers, in order; a layer may run several times (ALBERT)."""
    import torch

    names = {id(module): name for name, module in named_modules(model)}
    attending: dict[str, str] = {}  # by layer, the module in it that calls attention
    calls: list[_Seen] = []

    def find(module: Any, *_: Any) -> None:
        path = names.get(id(module), "")
        layer = _numbered(path, outward)
        if layer is None:
            raise _not_found(type(module).__name__, "attention within a module of a list of layers", f"it in {path}")
        attending[layer] = path[len(layer) + 1 :]

    def see(module: Any, arguments: tuple[Any, ...], weights: Any, output: Any) -> None:
        if calls and calls[-1].mixed is not None and calls[-1].o is None:
            raise _not_found(type(calls[-1].layer).__name__, "one call of attention in each layer", "several")
        calls[-1].mixed = output.detach().clone()

    short = first_tokens(inputs)
    # First which modules are layers, then what happens in them.
    with capture_with(model, lambda *_: None, see=find) as captured, captured.seeing(), torch.no_grad():
        model(**short)
    if not attending:
        raise _not_found(type(model).__name__, "modules that multiply attention with values", "none")
    with capture_with(model, lambda *_: None, see=see) as captured, ExitStack() as stack:
        for name, attention in attending.items():
            layer = model.get_submodule(name)
            stack.callback(before(layer, partial(_begin, calls, attention)))
            for path, module in layer.named_modules():
                stack.enter_context(recording(module, partial(_record, calls, path, module)))
        stack.enter_context(captured.seeing())
        stack.enter_context(torch.no_grad())
        model(**short)
    return calls


def _begin(calls: list[_Seen], attention: str, layer: Any, *_: Any) -> None:
    calls.append(_Seen(layer, attention))


def _numbered(path: str, outward: int) -> str | None:
    """The innermost module of a list around a module: "model.layers.3" of "model.layers.3.self_attn"."""
    parts = path.split(".")
    places = [place for place, part in enumerate(parts) if part.isdigit() and place < len(parts) - 1]
    return ".".join(parts[: places[-1 - outward] + 1]) if len(places) > outward else None


def _record(calls: list[_Seen], path: str, module: Any, given: Any, gave: Any) -> None:
    """Records a call of a module in the layer that runs."""
    if path == "":
        calls[-1].x, calls[-1].o = given, gave
    else:
        calls[-1].calls.append(Call(path, module, given, gave))


@contextmanager
def recording(module: Any, record: Callable[[Any, Any], None]) -> Iterator[None]:
    """Calls record(given, gave) after each call of the module, with copies of its tensors; None where it has none."""
    given: list[Any] = []

    def start(_: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        try:
            given.append(given_tensor(module, arguments, options).detach().clone())
        except Error:  # called without a tensor
            given.append(None)

    def end(_: Any, __: Any, ___: Any, output: Any) -> None:
        record(given.pop(), tensor_of(output if isinstance(output, tuple) else [output]))

    with ExitStack() as stack:
        stack.callback(before(module, start))
        stack.callback(behind(module, end))
        yield


def tensor_of(several: Any) -> Any:
    import torch

    # A copy: what comes may be added to in place.
    return next((one.detach().clone() for one in several if isinstance(one, torch.Tensor)), None)


def _parts(seen: _Seen) -> LayerParts:
    known = parts_of(seen.layer)
    if known is not None:
        return known
    kind = type(seen.layer).__name__
    x = seen.x
    if x is None or x.dim() != 3 or seen.o is None or seen.o.shape != x.shape:
        raise _not_found(kind, "a layer that is given and gives [text, token, hidden]", "other shapes")
    projection = next((call for call in seen.calls if same(call.given, seen.mixed)), None)
    if projection is None or projection.gave is None or projection.gave.shape != x.shape:
        raise _not_found(kind, "a module that is given what attention gave, and projects it", "none")
    norm = next((call for call in seen.calls if _scales(call) and same(call.given, projection.gave)), None)
    written = projection if norm is None else norm
    found: dict[str, Any] = {
        "projection": projection.path,
        "written_norm": "" if norm is None else norm.path,
        "attends": seen.attention,
    }
    sums = [
        (call, scale)
        for call in seen.calls
        if call.path != projection.path and (scale := scale_of(call.given, x, written.gave)) is not None
    ]
    if not sums:
        return _parallel(seen, found, written.gave)
    # A norm that ends the residual branch or, of nested modules that are given y, the outermost.
    _, scale = sums[0]
    alike = [call for call, _ in sums if same(call.given, sums[0][0].given)]
    first = next((call for call in alike if _is_norm(call)), None)
    given = first or min(alike, key=lambda call: call.path.count("."))
    return LayerParts(
        **found, behind=given.path, scale=scale, last_norm="" if first is None else last_norm(seen.calls, seen.o, first)
    )


def last_norm(calls: list[Call], o: Any, first: Call) -> str:
    """The norm that ends the layer, if the residual stream goes on from the norm behind attention (`first`)."""
    last = next((call for call in reversed(calls) if _is_norm(call) and same(call.gave, o)), None)
    if last is None or not _is_norm(first) or last.path == first.path or last.given is None or first.gave is None:
        return ""
    rest = last.given - first.gave
    is_after = any(same(call.gave, rest) for call in calls if call.gave is not None)
    return last.path if is_after else ""


def _parallel(seen: _Seen, found: dict[str, Any], written: Any) -> LayerParts:
    """o = x + s w + f, where another module gives f."""
    around = [call for call in seen.calls if same(call.gave, written) and _is_within(seen.attention, call.path)]
    outermost = min(around, key=lambda call: call.path.count("."), default=None)
    others = [call for call in seen.calls if call.gave is not None and call.gave.shape == seen.x.shape]
    for call in others if outermost is not None else ():
        if outermost is None or _is_within(call.path, outermost.path):
            continue
        scale = scale_of(seen.o - call.gave, seen.x, written)
        if scale is not None:
            return LayerParts(**found, attention=outermost.path, scale=scale)
    raise _not_found(
        type(seen.layer).__name__,
        "the sum of the residual stream and what attention writes, given to a module or, with what another module gives, "
        "the layer's output",
        "neither",
    )


def _is_within(path: str, outer: str) -> bool:
    return f"{path}.".startswith(f"{outer}.")


def _is_norm(call: Call) -> bool:
    return type(call.module).__name__.lower().endswith("norm") and call.given is not None and call.gave is not None


def _scales(call: Call) -> bool:
    """Whether it is a norm, or multiplies each number by a factor of its own (DINOv2)."""
    name = type(call.module).__name__.lower()
    return name.endswith(("norm", "scale")) and call.given is not None and call.gave is not None


def same(a: Any, b: Any) -> bool:
    """Equal up to rounding, whatever the shape."""
    if a is None or b is None or a.numel() != b.numel() or not a.is_floating_point() or not b.is_floating_point():
        return False
    a, b = a.reshape(-1).float(), b.reshape(-1).float()
    size = b.abs().max()
    return bool((a - b).abs().max() <= _tolerance(b) * size) and bool(size > 0)


def _tolerance(one: Any) -> float:
    import torch

    return 1e-4 if one.dtype in (torch.float32, torch.float64) else 0.02


def scale_of(sum_: Any, x: Any, written: Any) -> float | None:
    """s, if the sum is x + s w."""
    if sum_ is None or sum_.numel() != x.numel() or not sum_.is_floating_point():
        return None
    rest, w = ((sum_.reshape(x.shape) - x).float().reshape(-1), written.float().reshape(-1))
    square = float(w @ w)
    if square == 0.0:
        return None
    scale = float(rest @ w) / square
    scale = 1.0 if abs(scale - 1.0) < (1e-3 if _tolerance(x) < 1e-3 else 0.03) else scale
    largest = max(float(sum_.abs().max()), float(x.abs().max()))
    if abs(scale) < 1e-3 or float((rest - scale * w).abs().max()) > _tolerance(x) * largest:
        return None
    return scale


def _not_found(kind: str, expected: str, found: str) -> Error:
    return unsupported(
        f"{kind}: expected {expected}, found {found}; describe the parts of such layers with attnflow.register_layer(), or "
        'choose mixing="attention"'
    )
