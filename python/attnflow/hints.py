"""The names in annotations, for typing.get_type_hints(). NumPy is imported only when a hint is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attnflow import _core
from attnflow.errors import Error
from attnflow.inputs import is_whole

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnflow._options import GenerationOptions, Options, TextOptions, ValueOptions
else:
    from typing import TypedDict

    class _NumPy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            return getattr(numpy, name)

    class _NDArray:
        def __getitem__(self, scalar: Any) -> Any:
            from numpy.typing import NDArray

            return NDArray[scalar]

    np = _NumPy()
    NDArray = _NDArray()

    def _options(name: str, asks: str) -> Any:
        return TypedDict(name, {option: kind for option, kind, _ in _core.described_options(asks)}, total=False)

    Options = _options("Options", "attribute")
    ValueOptions = _options("ValueOptions", "values")
    TextOptions = _options("TextOptions", "explain")
    GenerationOptions = _options("GenerationOptions", "generate")


def describes_options(asks: str) -> Callable[[Function], Function]:
    """Adds the options to the documentation of a function, as help() shows it, and checks their names."""

    def add(function: Function) -> Function:
        options = _core.described_options(asks)
        lines = [f"    {name} ({kind}): {text}" for name, kind, text in options]
        described = "\n\n    Options, with the same meaning as in `attnflow explain`:\n\n" + "\n".join(lines) + "\n    "
        function.__doc__ = (function.__doc__ or "").rstrip() + described
        parameters = [name for name in signature(function).parameters if name != "options"]
        offered = [*parameters, *(name for name, _, _ in options)]

        @wraps(function)
        def checked(*arguments: Any, **named: Any) -> Any:
            for name in named:
                if name not in offered and name not in _known():
                    raise unknown_option(name, offered)
            return function(*arguments, **_plain(named))

        return cast(Function, checked)

    return add


@cache
def _known() -> frozenset[str]:
    """Names that some function takes; the core reports misuse of these."""
    asked = ("attribute", "values", "explain", "generate")
    return frozenset(name for asks in asked for name, _, _ in _core.described_options(asks)) | {"method"}


def unknown_option(name: str, offered: Sequence[str]) -> Error:
    # Half a surrogate pair, which has no UTF-8, resembles no name.
    close = _core.nearest_name(name.encode(errors="replace").decode(), list(offered))
    meant = f"; did you mean {close!r}?" if close else ""
    return Error(f"expected options among {', '.join(offered)}, found {name!r}{meant}")


def _plain(named: dict[str, Any]) -> dict[str, Any]:
    """Resolves positions and layers that are counted from the end, as in Python."""

    def is_negative(value: Any) -> bool:
        return is_whole(value) and int(value) < 0

    if is_negative(named.get("output_token")):
        if int(named["output_token"]) != -1:
            raise Error(f"output_token: expected a position from 0, 'last' or -1, found {int(named['output_token'])}")
        named = named | {"output_token": "last"}
    layers: Any = named.get("layers")
    for layer in layers if isinstance(layers, list | tuple | range) else [layers]:
        if is_negative(layer):
            raise Error(
                f"layers: expected layers from 1, found {int(layer)}; without the option all layers are there, and the last "
                "one is the last row of each array, such as report.rollout[-1]"
            )
    return named


__all__ = [
    "GenerationOptions",
    "NDArray",
    "Options",
    "TextOptions",
    "ValueOptions",
    "describes_options",
    "np",
    "unknown_option",
]
