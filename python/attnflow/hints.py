"""The names in annotations, for typing.get_type_hints(). NumPy is imported only when a hint is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from inspect import signature
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attnflow import _core
from attnflow.errors import Error
from attnflow.inputs import is_whole

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnflow._options import EvaluationOptions, GenerationOptions, Options, TextOptions, ValueOptions
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
    EvaluationOptions = _options("EvaluationOptions", "evaluate")


def describes_options(asks: str) -> Callable[[Function], Function]:
    """Adds the options to the documentation of a function, as help() shows it, and checks their names."""

    def add(function: Function) -> Function:
        options = _core.described_options(asks)
        lines = [
            fill(f"{name} ({kind}): {text}", 100, initial_indent=" " * 4, subsequent_indent=" " * 8)
            for name, kind, text in options
        ]
        described = "\n\n    Options, with the same meaning as in `attnflow explain`:\n\n" + "\n".join(lines) + "\n    "
        function.__doc__ = (function.__doc__ or "").rstrip() + described
        parameters = [name for name in signature(function).parameters if name != "options"]
        offered = [*parameters, *(name for name, _, _ in options)]

        @wraps(function)
        def checked(*arguments: Any, **named: Any) -> Any:
            for name in named:
                if name not in offered and name not in _known():
                    raise unknown_option(name, offered)
            return function(*arguments, **named)

        return cast(Function, checked)

    return add


@cache
def _known() -> frozenset[str]:
    """Names that some function takes; the core reports misuse of these."""
    asked = ("attribute", "values", "explain", "generate", "evaluate")
    return frozenset(name for asks in asked for name, _, _ in _core.described_options(asks)) | {"method"}


def unknown_option(name: str, offered: Sequence[str]) -> Error:
    # Half a surrogate pair, which has no UTF-8, resembles no name.
    close = _core.nearest_name(name.encode(errors="replace").decode(), list(offered))
    meant = f"; did you mean {close!r}?" if close else ""
    return Error(f"expected a known option, found {name!r}{meant} (options: {', '.join(offered)})")


def counted(asked: dict[str, Any], layers: int, tokens: int | None = None) -> dict[str, Any]:
    """Resolves layers and positions that are counted from the end, as in Python: -1 is the last one."""

    def from_end(name: str, value: Any, count: int, first: int) -> Any:
        if not is_whole(value) or int(value) >= 0:
            return value
        if int(value) < -count:
            raise Error(f"{name}: expected at least -{count}, which is the first of {count}, found {int(value)}")
        return count + int(value) + first

    for name in ("layers", "flow_layers"):
        given: Any = asked.get(name)
        if isinstance(given, list | tuple | range):
            asked = asked | {name: [from_end(name, one, layers, 1) for one in given]}
        elif given is not None:
            asked = asked | {name: from_end(name, given, layers, 1)}
    output: Any = asked.get("output_token")
    if is_whole(output) and int(output) < 0:
        asked = asked | {"output_token": "last" if int(output) == -1 else output}
        if tokens is not None:
            asked = asked | {"output_token": from_end("output_token", output, tokens, 0)}
    return asked


__all__ = [
    "EvaluationOptions",
    "GenerationOptions",
    "NDArray",
    "Options",
    "TextOptions",
    "ValueOptions",
    "counted",
    "describes_options",
    "np",
    "unknown_option",
]
