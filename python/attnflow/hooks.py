"""Hooks of modules that look at what this thread runs, and at nothing else: a model may run in several at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any


def on_this_thread(hook: Callable[..., Any]) -> Callable[..., Any]:
    """The hook, which changes nothing on threads other than the one that asks."""
    thread = threading.get_ident()

    @wraps(hook)
    def own(*given: Any) -> Any:
        return hook(*given) if threading.get_ident() == thread else None

    return own
