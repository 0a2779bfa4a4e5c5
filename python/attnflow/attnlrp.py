"""AttnLRP's rules as a pass back through a model of PyTorch that stands as it is.

While rules() are active, what a model computes has the same numbers and another gradient (Achtibat et al., AttnLRP, ICML
2024, https://arxiv.org/abs/2402.05602):

    a norm                          its scale 1 / sigma is a constant
    a product of two activations    each side receives half (q.k, a.v, gate.up)
    a function of one number, f(z)  is z times the constant f(z) / z
    softmax                         as it is

Rules belong to functions of PyTorch, so they hold for whatever a layer is made of. Parameters are constants meanwhile, which
is how a product of two activations is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from attnflow.errors import Error
from attnflow.hooks import given_tensor, on_this_thread

_PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "bmm", "baddbmm", "einsum"}
_PRODUCTS |= {"mul", "multiply", "__mul__", "__rmul__"}
_FUNCTIONS = {"relu", "gelu", "silu", "tanh", "sigmoid", "mish", "hardtanh", "leaky_relu", "elu", "relu6", "hardswish"}
# Of files of transformers and PyTorch with modules that are such a function, made of several steps.
_OF_FUNCTIONS = "transformers.activations"


def _with_gradient_of(linear: Any, value: Any) -> Any:
    """The numbers of `value`, and the gradient of `linear`."""
    return linear + (value - linear).detach()


def _halved(product: Any, arguments: tuple[Any, ...]) -> Any:
    listed = [
        one for argument in arguments for one in (argument if isinstance(argument, (list, tuple)) else [argument])
    ]
    if sum(isinstance(one, torch.Tensor) and one.requires_grad for one in listed) < 2:
        return product
    return product * 0.5 + product.detach() * 0.5


def _gated(value: Any, z: Any) -> Any:
    if not (isinstance(z, torch.Tensor) and z.requires_grad):
        return value
    fixed = z.detach()
    # Where z is 0, f(z) is 0 as well, and no relevance goes through.
    constant = (value.detach() / fixed).masked_fill(fixed == 0, 0.0)
    return _with_gradient_of(z * constant, value)


def _layer_norm(
    value: Any, x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Any:
    dimensions = tuple(range(-len(shape), 0))
    centered = x - x.mean(dimensions, keepdim=True)
    fixed = centered.detach()
    linear = centered * torch.rsqrt((fixed * fixed).mean(dimensions, keepdim=True) + eps)
    if weight is not None:
        linear = linear * weight
    return _with_gradient_of(linear, value)


def _rms_norm(value: Any, x: Any, shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    fixed = x.detach()
    mean = (fixed * fixed).mean(tuple(range(-len(shape), 0)), keepdim=True)
    linear = x * torch.rsqrt(mean + (torch.finfo(x.dtype).eps if eps is None else eps))
    if weight is not None:
        linear = linear * weight
    return _with_gradient_of(linear, value)


class _Rules:
    """What a function of PyTorch gives, by the rules."""

    def __init__(self) -> None:
        self.norms = 0  # scales that became constants

    def apply(self, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        value = function(*arguments, **options)
        if not (isinstance(value, torch.Tensor) and value.requires_grad):
            return value
        name = getattr(function, "__name__", "")
        if name in _PRODUCTS:
            return _halved(value, (*arguments, *options.values()))
        if name in _FUNCTIONS:
            return _gated(value, arguments[0] if arguments else options["input"])
        if name == "rsqrt":  # of a norm that is written out
            self.norms += 1
            return value.detach()
        if name in ("layer_norm", "rms_norm"):
            self.norms += 1
            named = {"normalized_shape": "shape"}
            rule = _layer_norm if name == "layer_norm" else _rms_norm
            if "input" in options:
                named["input"] = "x"
            return rule(value, *arguments, **{named.get(key, key): one for key, one in options.items()})
        return value


def _mode_of(rules: _Rules) -> Any:
    """Puts them in front of every function of PyTorch that is called on this thread."""

    def __torch_function__(  # noqa: N807  the name is PyTorch's
        self: Any, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return rules.apply(function, args, kwargs or {})

    from torch.overrides import TorchFunctionMode

    return type("AttnLrp", (TorchFunctionMode,), {"__torch_function__": __torch_function__})()


@contextmanager
def _constant_parameters(model: Any) -> Iterator[None]:
    changed = [parameter for parameter in model.parameters() if parameter.requires_grad]
    try:
        for parameter in changed:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in changed:
            parameter.requires_grad_(True)


@contextmanager
def rules(model: Any) -> Iterator[None]:
    """Runs the model with AttnLRP's gradient, on this thread, and leaves it as it was."""
    active = _Rules()

    def of_function(module: Any, arguments: tuple[Any, ...], options: dict[str, Any], value: Any) -> Any:
        return _gated(value, given_tensor(module, arguments, options)) if isinstance(value, torch.Tensor) else value

    # A norm that is computed otherwise, such as by a kernel of its own, would keep its usual gradient without a word.
    seen: list[int] = []

    def before_norm(*_: Any) -> None:
        seen.append(active.norms)

    def behind_norm(norm: Any, _: Any, value: Any) -> None:
        if seen.pop() == active.norms and isinstance(value, torch.Tensor) and value.requires_grad:
            raise Error(
                f"mixing relevance: expected norms that call layer_norm, rms_norm or rsqrt of PyTorch, found "
                f'{type(norm).__name__}, which does not; choose mixing="alti" or "attention"',
                kind="unsupported_model",
            )

    with ExitStack() as stack:
        stack.enter_context(_constant_parameters(model))
        for module in model.modules():
            kind = type(module)
            if kind.__module__ == _OF_FUNCTIONS:
                stack.callback(module.register_forward_hook(on_this_thread(of_function), with_kwargs=True).remove)
            elif kind.__name__.lower().endswith("norm"):
                stack.callback(module.register_forward_pre_hook(on_this_thread(before_norm)).remove)
                stack.callback(module.register_forward_hook(on_this_thread(behind_norm)).remove)
        inference_mode: Any = torch.inference_mode  # which has no types
        stack.enter_context(inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(_mode_of(active))
        yield
