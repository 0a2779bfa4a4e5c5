"""Hooks of modules that see only runs on this thread: a model may run in several at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from inspect import signature
from typing import Any

from attnflow.errors import unsupported


def before(module: Any, hook: Callable[..., Any]) -> Callable[[], None]:
    """Calls hook(module, arguments, options) before the module, on this thread; calling the result removes it."""
    return _hooked(module.register_forward_pre_hook, hook)


def behind(module: Any, hook: Callable[..., Any]) -> Callable[[], None]:
    """The same with hook(module, arguments, options, output)."""
    return _hooked(module.register_forward_hook, hook)


def _hooked(register: Callable[..., Any], hook: Callable[..., Any]) -> Callable[[], None]:
    thread = threading.get_ident()

    def own(*given: Any) -> Any:
        return hook(*given) if threading.get_ident() == thread else None

    remove: Callable[[], None] = register(own, with_kwargs=True).remove
    return remove


def given_tensor(module: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The tensor that a module works on: the first that it is called with, by position or by keyword."""
    place = _place(module, arguments, options)
    return arguments[place] if isinstance(place, int) else options[place]


def with_given_tensor(
    module: Any, arguments: tuple[Any, ...], options: dict[str, Any], tensor: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A module's arguments with another tensor in place of given_tensor()."""
    place = _place(module, arguments, options)
    if isinstance(place, int):
        return (*arguments[:place], tensor, *arguments[place + 1 :]), options
    return arguments, options | {place: tensor}


def _place(module: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> int | str:
    import torch

    for index, one in enumerate(arguments):
        if isinstance(one, torch.Tensor):
            return index
    # Keywords come in any order: take the one that the module declares first.
    for name in (*signature(module.forward).parameters, *options):
        if isinstance(options.get(name), torch.Tensor):
            return name
    raise unsupported(
        f"expected {type(module).__name__} to be called with a tensor, found {len(arguments)} arguments and "
        f"{', '.join(options) or 'no'} keywords without one"
    )
