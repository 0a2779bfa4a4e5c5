"""AttnLRP's rules as a backward pass through an unchanged PyTorch model.

While rules() are active, a model computes the same numbers with a different gradient (Achtibat et al., AttnLRP, ICML
2024, https://arxiv.org/abs/2402.05602):

    a norm                          its scale 1 / sigma is a constant
    a product of n activations      each receives an nth (q.k, a.v, gate.up)
    numbers divided by their sum    as they are, like softmax
    a function of one number, f(z)  is z times the constant f(z) / z
    softmax                         as it is

Rules belong to PyTorch functions, so they hold for any layer. Parameters are constants meanwhile, which identifies
products of two activations. Functions known not to be linear, without a rule, are refused; all others count as linear
(sums, views, selections).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from attnflow.errors import Error, unsupported
from attnflow.hooks import before, behind, given_tensor
from attnflow.walk import modules, parameters

# The functions that operators stand for, as PyTorch names them. Names of in-place functions end in an underscore.
_OPERATORS = {
    **dict.fromkeys(("__mul__", "__rmul__", "multiply"), "mul"),
    **dict.fromkeys(("__imul__", "multiply_"), "mul_"),
    **dict.fromkeys(("__matmul__", "__rmatmul__"), "matmul"),
    **dict.fromkeys(("__div__", "__truediv__", "divide", "true_divide"), "div"),
    **dict.fromkeys(("__idiv__", "__itruediv__", "divide_", "true_divide_"), "div_"),
    **dict.fromkeys(("__rdiv__", "__rtruediv__"), "reciprocal"),
    **dict.fromkeys(("__pow__", "__rpow__", "float_power"), "pow"),
    **dict.fromkeys(("__ipow__", "float_power_"), "pow_"),
}
# Products of activations, and the argument that is added instead of multiplied: its place and its name.
_PRODUCTS: dict[str, tuple[int, str]] = {
    **dict.fromkeys(("mul", "matmul", "mm", "bmm", "mv", "dot", "vdot", "inner", "outer", "ger", "kron"), (-1, "")),
    **dict.fromkeys(("einsum", "tensordot", "cross", "linalg_cross", "linalg_matmul", "linalg_vecdot"), (-1, "")),
    **dict.fromkeys(("linalg_multi_dot", "chain_matmul"), (-1, "")),
    **dict.fromkeys(("addcmul", "addmm", "addmv", "addr", "addbmm", "baddbmm"), (0, "input")),
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d"), (2, "bias")),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), (2, "bias")),
    "bilinear": (3, "bias"),
}
# Functions of one number; normalize() is one because the length of a vector is a constant.
_FUNCTIONS = {
    *("relu", "relu6", "leaky_relu", "gelu", "silu", "mish", "elu", "selu", "celu", "hardtanh", "hardswish"),
    *("hardsigmoid", "sigmoid", "expit", "log_sigmoid", "tanh", "softplus", "softsign", "tanhshrink"),
    *("erf", "erfc", "erfcx", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logit", "ndtr", "log_ndtr"),
    *("i0", "i0e", "i1", "i1e", "sinc"),
    *("sqrt", "square", "reciprocal", "sin", "cos", "tan", "sinh", "cosh", "asinh", "arcsinh", "atan", "arctan"),
    "normalize",
}
# Not linear: in one activation or more, and in two.
_REFUSED = {
    *("log_softmax", "logsumexp", "logcumsumexp", "logaddexp", "logaddexp2", "gumbel_softmax"),
    *("prod", "cumprod", "cosine_similarity", "pairwise_distance", "cdist", "dist", "atan2", "arctan2", "hypot"),
    *("norm", "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm", "std", "std_mean", "renorm"),
    *("group_norm", "instance_norm", "local_response_norm", "lp_pool1d", "lp_pool2d", "lp_pool3d"),
    *("scaled_dot_product_attention", "multi_head_attention_forward"),
    *("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
    *("xlogy", "xlog1py", "matrix_exp", "linalg_matrix_exp", "matrix_power", "linalg_matrix_power"),
    *("inverse", "linalg_inv", "linalg_solve", "linalg_det", "det", "logdet", "slogdet", "pinverse", "linalg_pinv"),
    *("cholesky", "linalg_cholesky", "linalg_eigh", "linalg_svd", "svd", "linalg_qr", "qr"),
    *("cov", "corrcoef", "trapezoid", "trapz", "cumulative_trapezoid"),
    *("acos", "arccos", "asin", "arcsin", "acosh", "arccosh", "atanh", "arctanh", "erfinv", "lgamma", "digamma"),
}
_REFUSED_OF_TWO = {"div", "pow", "ldexp"}
# Linear except in one argument: its place and its name.
_REFUSED_OF_ONE: dict[str, tuple[int, str]] = {"addcdiv": (2, "tensor2"), "lerp": (2, "weight")}
# Files of transformers and PyTorch with modules that are such a function, made of several steps.
_OF_FUNCTIONS = "transformers.activations"


def _with_gradient_of(linear: Any, value: Any) -> Any:
    """The numbers of `value`, and the gradient of `linear`."""
    return linear + (value - linear).detach()


def _is_active(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and one.requires_grad


def _active(arguments: Iterable[Any]) -> list[Any]:
    """The activations among them, also in lists."""
    listed = (one if isinstance(one, (list, tuple)) else [one] for one in arguments)
    return [one for several in listed for one in several if _is_active(one)]


def _call(function: Any, given: Mapping[int | str, Any]) -> Any:
    """Arguments by place and name."""
    named = {key: one for key, one in given.items() if isinstance(key, str)}
    return function(*(one for key, one in given.items() if isinstance(key, int)), **named)


def _shared(function: Any, given: Mapping[int | str, Any], added: tuple[int, str]) -> Any:
    """A product of n activations, each of which receives an nth."""
    count = len(_active(one for key, one in given.items() if key not in added))
    if count < 2:
        return _call(function, given)

    def share(one: Any) -> Any:
        if isinstance(one, (list, tuple)):
            return [share(part) for part in one]
        return one * (1 / count) + one.detach() * (1 - 1 / count) if _is_active(one) else one

    shared = _call(function, {key: one if key in added else share(one) for key, one in given.items()})
    # A third and two thirds round; a half and a half do not.
    return shared if count == 2 else _with_gradient_of(shared, _call(function, given))


def _gated(value: Any, z: Any) -> Any:
    if not _is_active(z):
        return value
    constant = value.detach() / z.detach()
    # Where z is 0, no relevance passes: most functions have f(0) = 0. Nor where z or f(z) is infinite.
    unknown = ~(z.detach() * constant).isfinite()
    return _with_gradient_of(z.masked_fill(unknown, 0.0) * constant.masked_fill(unknown, 0.0), value)


def _glu(value: Any, z: Any, dim: int = -1) -> Any:
    a, b = z.chunk(2, dim)
    return _with_gradient_of(_shared(torch.mul, {0: a, 1: _gated(torch.sigmoid(b), b)}, _PRODUCTS["mul"]), value)


def _layer_norm(
    value: Any, x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Any:
    centered = x - x.mean(tuple(range(-len(shape), 0)), keepdim=True)
    return _rms_norm(value, centered, shape, weight, eps)


def _rms_norm(value: Any, x: Any, shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    fixed = x.detach()
    mean = (fixed * fixed).mean(tuple(range(-len(shape), 0)), keepdim=True)
    linear = x * torch.rsqrt(mean + (torch.finfo(x.dtype).eps if eps is None else eps))
    if weight is not None:
        linear = linear * weight
    return _with_gradient_of(linear, value)


# In-place versions of these first copy their arguments.
_RULES = {*_PRODUCTS, *_FUNCTIONS, *_REFUSED_OF_TWO, "rsqrt"}


def _named(function: Any) -> tuple[str, bool]:
    """Its name, and whether it works in place."""
    name = getattr(function, "__name__", "")
    name = _OPERATORS.get(name, name).removeprefix("special_")
    in_place = name.endswith("_") and not name.endswith("__")
    return name[:-1] if in_place else name, in_place


class _Rules(TorchFunctionMode):
    """Replaces every PyTorch function called on this thread by one that follows the rules."""

    norms = 0  # scales that became constants
    within = 0  # modules that are one function, made of several steps
    within_norm = 0  # modules that are norms

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        given: dict[int | str, Any] = dict(enumerate(arguments)) | (options or {})
        count = len(_active(given.values()))
        if self.within or count == 0:
            return _call(function, given)
        name, in_place = _named(function)
        if name == "div" and count > 1 and self.within_norm and _first(given).dim() == _divisor(given).dim():
            self.norms += 1
            value = _call(function, given)
            return _with_gradient_of(_first(given) / _divisor(given).detach(), value)
        refused = name in _REFUSED or (name in _REFUSED_OF_TWO and count > 1 and not _is_share(name, given))
        if refused or any(_is_active(given.get(key)) for key in _REFUSED_OF_ONE.get(name, ())):
            raise _without_rule(f"{name} of {count} activation{'s' * (count > 1)}")
        if name in _FUNCTIONS:
            in_place = in_place or any(given[key] is True for key in given if key == "inplace" or isinstance(key, int))
        if not in_place or name not in _RULES:
            return self._ruled(name, function, given)

        def on_copy(first: Any = None, *others: Any, **named: Any) -> Any:
            if first is None:
                first = named.pop("input")
            return function(first.clone(), *others, **named)

        return _first(given).copy_(self._ruled(name, on_copy, given))

    def _ruled(self, name: str, function: Any, given: Mapping[int | str, Any]) -> Any:
        if name in _PRODUCTS:
            return _shared(function, given, _PRODUCTS[name])
        value = _call(function, given)
        if not _is_active(value):
            return value
        if name in _FUNCTIONS:
            self.norms += name == "normalize"
            return _gated(value, _first(given))
        if name == "div":  # by a constant, or of one
            return value if _is_active(_first(given)) else _gated(value, _active(given.values())[0])
        if name == "rsqrt" or (name == "pow" and _exponent(given) == -0.5):
            self.norms += 1  # of a norm that is written out
            return value.detach()
        if name == "pow":
            return _gated(value, _active(given.values())[0])
        if name == "glu":
            return _glu(value, _first(given), given.get("dim", given.get(1, -1)))
        if name in ("layer_norm", "rms_norm"):
            self.norms += 1
            rule = _layer_norm if name == "layer_norm" else _rms_norm
            names = {"input": "x", "normalized_shape": "shape"}
            return _call(partial(rule, value), {names.get(str(key), key): one for key, one in given.items()})
        return value


def _first(given: Mapping[int | str, Any]) -> Any:
    return given[0] if 0 in given else given.get("input")


def _divisor(given: Mapping[int | str, Any]) -> Any:
    return given.get("other", given.get(1))


def _is_share(name: str, given: Mapping[int | str, Any]) -> bool:
    """Whether numbers are divided by their sum, as routers of experts do: part of a softmax, which stays as it is."""
    a, b = _first(given), _divisor(given)
    if name != "div" or not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)) or a.dim() != b.dim():
        return False
    summed = [dim for dim in range(a.dim()) if a.shape[dim] != b.shape[dim]]
    if len(summed) != 1:
        return False
    total = a.detach().sum(dim=summed[0], keepdim=True)
    return total.shape == b.shape and torch.allclose(total.float(), b.detach().float(), rtol=1e-3, atol=1e-6)


def _exponent(given: Mapping[int | str, Any]) -> float | None:
    exponent = given.get("exponent", given.get(1))
    return float(exponent) if isinstance(exponent, (int, float)) else None


def _without_rule(found: str) -> Error:
    return unsupported(
        f"mixing relevance: expected functions that AttnLRP has a rule for, found {found}; use PyTorch's layer_norm, "
        'rms_norm or rsqrt for norms and its softmax for softmax, or choose mixing="alti" or "attention"'
    )


@contextmanager
def rules(model: Any, by_rules: bool = True) -> Iterator[None]:
    """Runs the model with AttnLRP's gradient or, without the rules, its own, on this thread; leaves it as it was."""
    active = _Rules()  # type: ignore[no-untyped-call]

    def before_function(*_: Any) -> None:
        active.within += 1

    def of_function(module: Any, arguments: tuple[Any, ...], options: dict[str, Any], value: Any) -> Any:
        active.within -= 1
        return _gated(value, given_tensor(module, arguments, options)) if isinstance(value, torch.Tensor) else value

    # A norm that is computed in another way, as by a special kernel, would silently keep its usual gradient.
    seen: list[int] = []

    def before_norm(*_: Any) -> None:
        seen.append(active.norms)
        active.within_norm += 1

    def behind_norm(norm: Any, _: Any, __: Any, value: Any) -> None:
        active.within_norm -= 1
        if seen.pop() == active.norms and isinstance(value, torch.Tensor) and value.requires_grad:
            raise unsupported(
                f"mixing relevance: expected norms that call layer_norm, rms_norm or rsqrt of PyTorch, found "
                f'{type(norm).__name__}, which does not; choose mixing="alti" or "attention"'
            )

    known = modules(model)
    with ExitStack() as stack:
        for parameter in parameters(known):
            if parameter.requires_grad:
                stack.callback(parameter.requires_grad_, True)
                parameter.requires_grad_(False)
        for module in known if by_rules else ():
            kind = type(module)
            if kind.__module__ == _OF_FUNCTIONS:
                stack.callback(before(module, before_function))
                stack.callback(behind(module, of_function))
            elif kind.__name__.lower().endswith("norm"):
                stack.callback(before(module, before_norm))
                stack.callback(behind(module, behind_norm))
        inference_mode: Any = torch.inference_mode  # which has no types
        stack.enter_context(inference_mode(False))
        stack.enter_context(torch.enable_grad())
        if by_rules:
            stack.enter_context(active)
        yield
