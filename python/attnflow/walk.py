"""A model's modules and parameters as lists: PyTorch's generators within generators take much longer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def named_modules(model: Any) -> list[tuple[str, Any]]:
    """Those of model.named_modules(), in the same order."""
    found: dict[int, tuple[str, Any]] = {}
    left = [("", model)]
    while left:
        name, module = left.pop()
        if id(module) not in found:
            found[id(module)] = (name, module)
            if parts := module._modules:
                prefix = f"{name}." if name else ""
                left += [(prefix + key, part) for key, part in reversed(parts.items()) if part is not None]
    return list(found.values())


def modules(model: Any) -> list[Any]:
    return [module for _, module in named_modules(model)]


def named_parameters(within: Iterable[Any]) -> list[tuple[str, Any]]:
    """The parameters of modules, once each, by the last part of their names."""
    found: dict[int, tuple[str, Any]] = {}
    for module in within:
        for name, parameter in module._parameters.items():
            if parameter is not None:
                found.setdefault(id(parameter), (name, parameter))
    return list(found.values())


def parameters(within: Iterable[Any]) -> list[Any]:
    return [parameter for _, parameter in named_parameters(within)]
