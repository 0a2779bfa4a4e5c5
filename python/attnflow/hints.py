"""The names in annotations, so that typing.get_type_hints() knows them.

NumPy is imported when a hint is looked at, not with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence  # noqa: F401  for the options, whose types are strings
from typing import TYPE_CHECKING, Any, TypeVar

from attnflow import _core

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
    """Adds the options to the documentation of a function, as help() shows it."""

    def add(function: Function) -> Function:
        lines = [f"    {name} ({kind}): {text}" for name, kind, text in _core.described_options(asks)]
        described = "\n\n    Options, as of `attnflow explain`:\n\n" + "\n".join(lines) + "\n    "
        function.__doc__ = (function.__doc__ or "").rstrip() + described
        return function

    return add


__all__ = ["GenerationOptions", "NDArray", "Options", "TextOptions", "ValueOptions", "describes_options", "np"]
