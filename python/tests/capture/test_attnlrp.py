"""AttnLRP's rules for functions of PyTorch: numbers stay, gradients are those of the rules, and what has none is refused."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import torch
from attnflow.attnlrp import rules
from torch.nn import functional

import attnflow

Function = Callable[..., Any]


def of(*shape: int, positive: bool = False) -> Any:
    made = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape) + shape[-1]))
    return (made.abs() + 0.1 if positive else made).requires_grad_(True)


def by_rules(function: Function, *given: Any) -> tuple[Any, tuple[Any, ...]]:
    """The result, and its sum's gradient at the arguments."""
    with rules(torch.nn.Identity()):
        value = function(*given)
        return value.detach(), torch.autograd.grad(value.sum(), given, allow_unused=True)


class Rules(unittest.TestCase):
    def close(self, found: Any, expected: Any) -> None:
        same: Any = torch.testing  # which has no types
        same.assert_close(found, expected, rtol=1e-9, atol=1e-12)

    def test_functions_of_one_number(self) -> None:
        """f(z) = z f(z) / z, the quotient a constant."""
        functions: dict[str, Function] = {
            "relu": functional.relu,
            "silu": functional.silu,
            "gelu": functional.gelu,
            "selu": functional.selu,
            "celu": functional.celu,
            "softplus": functional.softplus,
            "softsign": functional.softsign,
            "hardsigmoid": functional.hardsigmoid,
            "logsigmoid": functional.logsigmoid,
            "erf": torch.erf,
            "special.erf": torch.special.erf,
            "expit": torch.special.expit,
            "exp": torch.Tensor.exp,
            "sin": torch.sin,
            "square": torch.square,
            "pow": lambda z: z**3,
            "pow by name": lambda z: z.pow(exponent=3),
            "power of": lambda z: 2.0**z,
            "reciprocal": lambda z: 1.0 / z,
            "division": lambda z: torch.ones_like(z.detach()).div(z),
            "module": torch.nn.Mish(),
        }
        for name, function in functions.items():
            with self.subTest(name):
                z = of(3, 4)
                value, (gradient,) = by_rules(function, z)
                expected = function(z.detach())
                self.close(value, expected)
                self.close(gradient, expected / z.detach())
        z = of(3, 4, positive=True)
        for function in (torch.sqrt, torch.log):
            value, (gradient,) = by_rules(function, z)
            self.close(gradient, value / z.detach())

    def test_numbers_that_have_no_quotient(self) -> None:
        z = torch.tensor([0.0, -torch.inf, torch.inf, 1.0, 800.0], dtype=torch.float64, requires_grad=True)
        for function in (torch.sigmoid, torch.exp, functional.relu):
            value, (gradient,) = by_rules(function, z)
            self.assertTrue(torch.equal(value, function(z.detach())))
            self.assertTrue(bool(gradient.isfinite().all()))
            self.assertEqual(gradient[:3].tolist(), [0.0, 0.0, 0.0])

    def test_products(self) -> None:
        """Each side receives half; what is added, all."""
        a, b = of(3, 3), of(3, 3)
        with torch.no_grad():
            b += 1
        c = of(3)
        products: dict[str, Function] = {
            "mul": torch.mul,
            "*": lambda a, b: a * b,
            "matmul": lambda a, b: a @ b,
            "mm": torch.mm,
            "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
            "linear": functional.linear,
            "named": lambda a, b: torch.mul(input=a, other=b),
        }
        for name, function in products.items():
            with self.subTest(name):
                value, found = by_rules(function, a, b)
                plain = function(a, b)
                self.close(value, plain.detach())
                for one, other in zip(found, torch.autograd.grad(plain.sum(), (a, b)), strict=True):
                    self.close(one, other / 2)
        with_sum: dict[str, Function] = {
            "addcmul": torch.addcmul,
            "addmm": torch.addmm,
            "addmm by keyword": lambda c, a, b: torch.addmm(input=c, mat1=a, mat2=b),
            "linear": lambda c, a, b: functional.linear(a, b, c),
        }
        for name, function in with_sum.items():
            with self.subTest(name):
                value, found = by_rules(function, c, a, b)
                plain = function(c, a, b)
                self.close(value, plain.detach())
                expected = torch.autograd.grad(plain.sum(), (c, a, b))
                for one, other, share in zip(found, expected, (1, 2, 2), strict=True):
                    self.close(one, other / share)
        constant = torch.full((3, 3), 2.0, dtype=torch.float64)
        self.close(by_rules(lambda a: a * constant, a)[1][0], constant)
        three = by_rules(lambda a, b: torch.einsum("ij,ij,j->ij", a, b, c), a, b)[1][0]
        self.close(three, (b * c / 3).detach())

    def test_glu(self) -> None:
        z = of(3, 4)
        for function in (
            functional.glu,
            lambda z: functional.glu(input=z, dim=-1),
            lambda z: z[:, :2] * torch.sigmoid(z[:, 2:]),
        ):
            value, (gradient,) = by_rules(function, z)
            self.close(value, functional.glu(z.detach()))
            self.close(gradient, torch.cat([value, value], dim=-1) / 2 / z.detach())

    def test_in_place(self) -> None:
        a, b = of(3, 4), of(3, 4)
        with torch.no_grad():
            b += 1
        pairs: dict[str, tuple[Function, Function]] = {
            "mul_": (lambda a, b: a.clone().mul_(b), torch.mul),
            "addcmul_": (lambda a, b: a.clone().addcmul_(a, b), lambda a, b: a.addcmul(a, b)),
            "tanh_": (lambda a, b: a.clone().tanh_() * b, lambda a, b: a.tanh() * b),
            "silu": (lambda a, b: functional.silu(a.clone(), inplace=True) * b, lambda a, b: functional.silu(a) * b),
            "elu": (lambda a, b: functional.elu(a.clone(), 1.0, True) * b, lambda a, b: functional.elu(a) * b),
            "pow_": (lambda a, b: a.clone().pow_(2) + b, lambda a, b: a**2 + b),
            "add_": (lambda a, b: a.clone().add_(b), torch.add),
        }

        def multiplied(a: Any, b: Any) -> Any:
            made = a + 0.0
            made *= b
            return made

        pairs["*="] = (multiplied, torch.mul)
        for name, (changes, other) in pairs.items():
            with self.subTest(name):
                value, found = by_rules(changes, a, b)
                same, expected = by_rules(other, a, b)
                self.close(value, same)
                for one, another in zip(found, expected, strict=True):
                    self.close(one, another)

    def test_norms(self) -> None:
        x = of(3, 4)

        def written(x: Any) -> Any:
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))

        for norm in (
            written,
            lambda x: x * (x**2).mean(-1, keepdim=True) ** -0.5,
            lambda x: functional.normalize(x, dim=-1) * 2.0,
        ):
            value, (gradient,) = by_rules(norm, x)
            self.close(value, written(x.detach()))
            self.close(gradient, value / x.detach())

    def test_what_is_linear_keeps_its_gradient(self) -> None:
        x = of(3, 4)
        mask = torch.tensor([True, False, True, False])
        linear: tuple[Function, ...] = (
            lambda x: x.T.reshape(2, 6)[1:, :4].contiguous(),
            lambda x: torch.where(mask, x, 0.0).masked_fill(mask, 1.0),
            lambda x: torch.stack([*x.split(1), *x.chunk(3)]).sum(0) - x.mean(),
            lambda x: functional.pad(x, (1, 1)).to(torch.float32).double() / 3.0,
            lambda x: functional.linear(x, torch.ones(2, x.shape[-1], dtype=x.dtype)),
            lambda x: torch.cat([x.repeat(2, 1), x.expand(3, 4)]).cumsum(0),
            lambda x: x.clamp(-1, 1) + x.abs() + x.amax(-1, keepdim=True) + x.real,
            lambda x: functional.softmax(x, dim=-1) + functional.dropout(x, training=False),
            lambda x: functional.conv1d(x[None], torch.ones(2, 3, 2, dtype=x.dtype)),
            # Shares of some of a softmax's, as of the chosen experts.
            lambda x: (some := functional.softmax(x, dim=-1)[:, :2]) / some.sum(dim=-1, keepdim=True),
        )
        for number, function in enumerate(linear):
            with self.subTest(number):
                self.close(by_rules(function, x)[1], torch.autograd.grad(function(x).sum(), [x]))

    def test_what_has_no_rule_is_refused(self) -> None:
        x = of(3, 4)
        kernels: Any = functional
        refused: dict[str, Function] = {
            "log_softmax of 1 activation;": lambda x: functional.log_softmax(x, -1),
            "div of 2 activations;": lambda x: x / x.sum(),
            "div of 2": lambda x: x.exp().div_(x.abs().sum(-1, keepdim=True)),
            "pow of 2": lambda x: x.abs() ** x,
            "logsumexp": lambda x: torch.logsumexp(x, -1),
            "prod": lambda x: x.prod(-1),
            "std": lambda x: x.std(-1),
            "linalg_vector_norm": torch.linalg.vector_norm,
            "addcdiv of 3": lambda x: torch.addcdiv(x, x, x.exp()),
            "lerp of 1": lambda x: torch.lerp(x.detach(), x.detach() + 1, x),
            "ldexp of 2": lambda x: torch.ldexp(x, x),
            "cov": torch.cov,
            "cosine_similarity": lambda x: functional.cosine_similarity(x, x + 1),
            "scaled_dot_product_attention": lambda x: kernels.scaled_dot_product_attention(x, x, x),
        }
        for found, function in refused.items():
            message = f'expected functions that AttnLRP has a rule for, found {found}.* mixing="alti" or "attention"'
            with self.subTest(found), self.assertRaisesRegex(attnflow.Error, message) as caught:
                by_rules(function, x)
            self.assertEqual(caught.exception.kind, "unsupported_model")
            function(x)  # without rules as ever
            with rules(torch.nn.Identity()):
                function(x.detach())


if __name__ == "__main__":
    unittest.main()
