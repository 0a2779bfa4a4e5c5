"""AttnLRP's rules as a pass back through a model of PyTorch that stands as it is.

While rules() are active, what a model computes has the same numbers and another gradient (Achtibat et al., AttnLRP, ICML
2024, https://arxiv.org/abs/2402.05602):

    a norm                          its scale 1 / sigma is a constant
    a product of n activations      each receives an nth (q.k, a.v, gate.up)
    a function of one number, f(z)  is z times the constant f(z) / z
    softmax                         as it is

Rules belong to functions of PyTorch, so they hold for whatever a layer is made of. Parameters are constants meanwhile, which
is how a product of two activations is known. Functions that are known not to be linear and have no rule are refused; all
others are taken for linear (sums, views, selections) and keep their gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from attnflow.errors import Error
from attnflow.hooks import before, behind, given_tensor

# Where operators do what functions do: as PyTorch names them. What works in place ends in an underscore.
_OPERATORS = {
    "__mul__": "mul",
    "__rmul__": "mul",
    "__imul__": "mul_",
    "multiply": "mul",
    "multiply_": "mul_",
    "__matmul__": "matmul",
    "__rmatmul__": "matmul",
    "__div__": "div",
    "__truediv__": "div",
    "__idiv__": "div_",
    "__itruediv__": "div_",
    "divide": "div",
    "divide_": "div_",
    "true_divide": "div",
    "true_divide_": "div_",
    "__rdiv__": "reciprocal",
    "__rtruediv__": "reciprocal",
    "__pow__": "pow",
    "__rpow__": "pow",
    "__ipow__": "pow_",
    "float_power": "pow",
    "float_power_": "pow_",
}
# Products of activations, and which argument is no factor but added: its place and its name.
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
# Known not to be linear: of one activation or more, and of two.
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
# Linear but for one argument: its place and its name.
_REFUSED_OF_ONE: dict[str, tuple[int, str]] = {"addcdiv": (2, "tensor2"), "lerp": (2, "weight")}
# Of files of transformers and PyTorch with modules that are such a function, made of several steps.
_OF_FUNCTIONS = "transformers.activations"


def _with_gradient_of(linear: Any, value: Any) -> Any:
    """The numbers of `value`, and the gradient of `linear`."""
    return linear + (value - linear).detach()


def _is_active(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and one.requires_grad


def _active(arguments: Iterable[Any]) -> list[Any]:
    """The activations among them, also in lists."""
    listed = (
        one for argument in arguments for one in (argument if isinstance(argument, (list, tuple)) else [argument])
    )
    return [one for one in listed if _is_active(one)]


def _shared(function: Any, arguments: tuple[Any, ...], options: dict[str, Any], added: tuple[int, str]) -> Any:
    """A product of n activations, each of which receives an nth."""
    place, name = added
    count = len(_active(one for i, one in enumerate(arguments) if i != place))
    count += len(_active(one for key, one in options.items() if key != name))
    if count < 2:
        return function(*arguments, **options)

    def share(one: Any) -> Any:
        if isinstance(one, (list, tuple)):
            return [share(part) for part in one]
        return one * (1 / count) + one.detach() * (1 - 1 / count) if _is_active(one) else one

    shared = function(
        *(one if i == place else share(one) for i, one in enumerate(arguments)),
        **{key: one if key == name else share(one) for key, one in options.items()},
    )
    # A third and two thirds round; a half and a half do not.
    return shared if count == 2 else _with_gradient_of(shared, function(*arguments, **options))


def _gated(value: Any, z: Any) -> Any:
    if not _is_active(z):
        return value
    constant = value.detach() / z.detach()
    # Where z is 0, no relevance goes through: of most functions f(z) is 0 as well. Nor where z or f(z) is infinite.
    unknown = ~(z.detach() * constant).isfinite()
    return _with_gradient_of(z.masked_fill(unknown, 0.0) * constant.masked_fill(unknown, 0.0), value)


def _glu(value: Any, z: Any, dim: int = -1) -> Any:
    a, b = z.chunk(2, dim)
    return _with_gradient_of(_shared(torch.mul, (a, _gated(torch.sigmoid(b), b)), {}, _PRODUCTS["mul"]), value)


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


# What is done to arguments in place, by name with an underscore, is done to copies first where there is a rule.
_RULES = {*_PRODUCTS, *_FUNCTIONS, *_REFUSED_OF_TWO, "rsqrt"}


def _named(function: Any) -> tuple[str, bool]:
    """Its name, and whether it works in place."""
    name = getattr(function, "__name__", "")
    name = _OPERATORS.get(name, name).removeprefix("special_")
    in_place = name.endswith("_") and not name.endswith("__")
    return name[:-1] if in_place else name, in_place


class _Rules:
    """What a function of PyTorch gives, by the rules."""

    def __init__(self) -> None:
        self.norms = 0  # scales that became constants
        self.within = 0  # modules that are one function, made of several steps

    def apply(self, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        count = len(_active((*arguments, *options.values())))
        if self.within or count == 0:
            return function(*arguments, **options)
        name, in_place = _named(function)
        if (
            name in _REFUSED
            or (name in _REFUSED_OF_TWO and count > 1)
            or _is_refused_argument(name, arguments, options)
        ):
            raise _without_rule(f"{name} of {count} activation{'s' * (count > 1)}")
        if name in _FUNCTIONS:
            in_place = in_place or any(one is True for one in (*arguments, options.get("inplace")))
        if not in_place or name not in _RULES:
            return self._ruled(name, function, arguments, options)

        def on_copy(*given: Any, **named: Any) -> Any:
            if given:
                return function(given[0].clone(), *given[1:], **named)
            return function(**named | {"input": named["input"].clone()})

        changed = arguments[0] if arguments else options["input"]
        return changed.copy_(self._ruled(name, on_copy, arguments, options))

    def _ruled(self, name: str, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if name in _PRODUCTS:
            return _shared(function, arguments, options, _PRODUCTS[name])
        value = function(*arguments, **options)
        if not _is_active(value):
            return value
        first = arguments[0] if arguments else options.get("input")
        if name in _FUNCTIONS:
            self.norms += name == "normalize"
            return _gated(value, first)
        if name == "div":  # by a constant, or of one
            return value if _is_active(first) else _gated(value, _active((*arguments, *options.values()))[0])
        if name == "rsqrt" or (
            name == "pow" and _exponent(arguments, options) == -0.5
        ):  # of a norm that is written out
            self.norms += 1
            return value.detach()
        if name == "pow":
            return _gated(value, _active((*arguments, *options.values()))[0])
        if name == "glu":
            return _glu(value, *arguments, **{"z" if key == "input" else key: one for key, one in options.items()})
        if name in ("layer_norm", "rms_norm"):
            self.norms += 1
            named = {"normalized_shape": "shape"}
            rule = _layer_norm if name == "layer_norm" else _rms_norm
            if "input" in options:
                named["input"] = "x"
            return rule(value, *arguments, **{named.get(key, key): one for key, one in options.items()})
        return value


def _is_refused_argument(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    place, key = _REFUSED_OF_ONE.get(name, (-1, ""))
    return place >= 0 and _is_active(arguments[place] if place < len(arguments) else options.get(key))


def _exponent(arguments: tuple[Any, ...], options: dict[str, Any]) -> float | None:
    given = options.get("exponent", arguments[1] if len(arguments) > 1 else None)
    return float(given) if isinstance(given, (int, float)) else None


def _without_rule(found: str) -> Error:
    return Error(
        f"mixing relevance: expected functions that AttnLRP has a rule for, found {found}; use PyTorch's layer_norm, "
        'rms_norm or rsqrt for norms and its softmax for softmax, or choose mixing="alti" or "attention"',
        kind="unsupported_model",
    )


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

    def before_function(*_: Any) -> None:
        active.within += 1

    def of_function(module: Any, arguments: tuple[Any, ...], options: dict[str, Any], value: Any) -> Any:
        active.within -= 1
        return _gated(value, given_tensor(module, arguments, options)) if isinstance(value, torch.Tensor) else value

    # A norm that is computed otherwise, such as by a kernel of its own, would keep its usual gradient without a word.
    seen: list[int] = []

    def before_norm(*_: Any) -> None:
        seen.append(active.norms)

    def behind_norm(norm: Any, _: Any, __: Any, value: Any) -> None:
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
                stack.callback(before(module, before_function))
                stack.callback(behind(module, of_function))
            elif kind.__name__.lower().endswith("norm"):
                stack.callback(before(module, before_norm))
                stack.callback(behind(module, behind_norm))
        inference_mode: Any = torch.inference_mode  # which has no types
        stack.enter_context(inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(_mode_of(active))
        yield
