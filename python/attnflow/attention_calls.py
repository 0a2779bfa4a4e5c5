"""Attention that is written out in a module: a softmax of scores, and the product of its weights with values.

Families that have an attention function of their own cannot have it exchanged. Their functions of PyTorch can be
watched: what a softmax over keys gives is followed through dropout and changes of type and shape, until it is multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from attnflow.hooks import before, behind
from attnflow.walk import modules

_PRODUCTS = {"matmul", "__matmul__", "bmm"}
# Operations that leave the values of the weights unchanged.
_SAME = {"dropout", "to", "type", "type_as", "float", "half", "bfloat16", "view", "reshape", "contiguous", "clone"}


class _Watch(TorchFunctionMode):
    """Calls see(module, (None, None, value), weights, output) for the module that runs."""

    def __init__(self, see: Callable[..., None], running: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._see, self._running = see, running
        self._weights: dict[int, Any] = {}  # by id(), which is theirs while they are kept

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: Mapping[str, Any] | None = None
    ) -> Any:
        output = function(*arguments, **(options or {}))
        name = getattr(function, "__name__", "")
        first: Any = arguments[0] if arguments else (options or {}).get("input")
        if name == "softmax":
            if isinstance(output, torch.Tensor) and output.dim() in (3, 4):
                self._weights[id(output)] = output
        elif name in _SAME and id(first) in self._weights:
            if isinstance(output, torch.Tensor) and output.dim() in (3, 4) and output.numel() == first.numel():
                self._weights[id(output)] = output
        elif name in _PRODUCTS and id(first) in self._weights and len(arguments) > 1 and self._running:
            self._weights.clear()
            by_head = [one if one.dim() == 4 else one[None] for one in (arguments[1], output)]
            self._see(self._running[-1], (None, None, by_head[0]), first, by_head[1].transpose(1, 2))
        return output


@contextmanager
def attention_calls(model: Any, see: Callable[..., None]) -> Iterator[None]:
    """While this is active, sees what attention of the model's modules multiplies."""
    running: list[Any] = []
    with ExitStack() as stack:
        for module in modules(model):
            stack.callback(before(module, lambda module, *_: running.append(module)))
            stack.callback(behind(module, lambda *_: running.pop() and None))
        stack.enter_context(_Watch(see, running))
        yield
