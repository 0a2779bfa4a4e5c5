"""What the layers of a loaded model do with a text, or with several that are padded to one length: the parts of their contributions, and their gradients.

Hooks record a layer's input and output (attnflow.layers says where), and memory holds only one layer's vectors. The
library makes a matrix of them (graph/layer_terms.h, graph/attention_gradient_sink.h).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from attnflow import _core
from attnflow.capture import Captured
from attnflow.errors import Error, unsupported
from attnflow.hooks import before, behind, given_tensor, with_given_tensor
from attnflow.layers import LayerParts
from attnflow.text import numbers
from attnflow.walk import modules


@dataclass(frozen=True)
class BlockTerms:
    """The terms of a block of attention for its tokens, as arrays (graph/layer_terms.h)."""

    number: int  # the layer's
    attention: Any  # [head, query, key]
    values: Any  # [key, key-value head, width]
    projection: Any  # [head, width, hidden]
    residual: Any  # [query, hidden]
    output: Any
    block_scale: Any  # [query], or None: 1
    norm: Any  # scale, shift and epsilon, or None
    last_norm: Any
    rest: Callable[[Any], Any] | None

    def made(self) -> _core.LayerTerms:
        return _core.layer_terms(
            self.number,
            self.attention,
            self.values,
            self.projection,
            self.residual,
            self.output,
            self.block_scale,
            self.norm,
            self.last_norm,
            self.rest,
        )

    def among(self, tokens: int, rows: slice, columns: slice) -> BlockTerms:
        """The same for a layer of more tokens, which leaves the others alone: its queries are `rows`, its keys `columns`."""
        import numpy as np

        def at(own: slice, some: Any) -> Any:
            whole = np.zeros((tokens, *some.shape[1:]), np.float32)
            whole[own] = some
            return whole

        attention = np.zeros((len(self.attention), tokens, tokens), np.float32)
        attention[:, rows, columns] = self.attention
        return replace(
            self,
            attention=attention,
            values=at(columns, self.values),
            residual=at(rows, self.residual),
            output=at(rows, self.output),
            block_scale=at(rows, np.ones(len(self.output)) if self.block_scale is None else self.block_scale),
        )


@dataclass
class Run:
    """Data recorded since a layer was called."""

    layer: Any
    parts: LayerParts
    number: int  # 1 for the first
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    # Tensors of the layer's own, so that gradients reach them.
    x: Any = None
    y: Any = None
    weights: Any = None  # the tensor that is multiplied, see by_head
    value: Any = None  # [batch, key-value head, key, width]
    mixed: Any = None  # what attention gave, [batch, query, head, width]
    given: Any = None  # to the projection
    projected: Any = None  # by it
    attended: Any = None  # what the module of attention gave, where the parts say which it is
    normed: Any = None  # what a norm made of that, where the parts say which one
    gave: dict[str, Any] = field(default_factory=dict)  # the outputs of modules that can be left out
    is_paused: bool = False  # while the layer runs for another reason

    def start(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.forget()
        self.arguments, self.options = arguments, options
        self.x = given_tensor(self.layer, arguments, options)

    def forget(self) -> None:
        """Forgets all but the layer's arguments."""
        self.x = self.y = self.weights = self.value = self.mixed = None
        self.given = self.projected = self.attended = self.normed = None
        self.gave = {}

    @property
    def by_head(self) -> Any:
        """The weights as [text, head, query, key]: some families have [text and head, query, key]."""
        return self.weights if self.weights.dim() == 4 else self.weights.unflatten(0, (len(self.x), -1))

    @property
    def written(self) -> Any:
        """Its output into the residual stream."""
        return self.normed if self.parts.written_norm else self.projected

    def behind(self) -> Any:
        """y as [text, token, hidden]."""
        return self.sum() if self.y is None else self.y.reshape(self.x.shape)

    def sum(self) -> Any:
        return self.x.to(self.written.device) + self.parts.scale * self.written.reshape(self.x.shape)

    def check(self) -> None:
        """Checks that the layer is made as its parts say."""
        import torch
        from torch._C import DisableTorchFunction

        # AttnLRP's rules are not about this.
        with torch.no_grad(), DisableTorchFunction():  # type: ignore[no-untyped-call]
            self._check()

    def _check(self) -> None:
        where = f"layer {self.number} ({type(self.layer).__name__})"
        if self.weights is None or self.written is None or (self.parts.behind and self.y is None):
            raise _unlike(
                where, "one call of attention, of its projection and of the module after it", "some of them missing"
            )
        if self.x.dim() != 3 or self.by_head.shape[0] != len(self.x):
            raise _unlike(where, "[text, token, hidden]", f"shape {list(self.x.shape)}")
        mixed = self.mixed.reshape(self.given.shape)
        if not _close(self.given, mixed):
            raise _unlike(where, "the projection to receive the output of attention", "something else")
        if self.parts.attention and (self.attended is None or not _close(self.attended, self.written)):
            raise _unlike(where, f"{self.parts.attention} to return the output of the projection", "something else")
        if not _close(self.behind(), self.sum()):
            raise _unlike(where, "the sum of x and the output of the projection after attention", "something else")

    def check_completeness(self, error: float) -> None:
        """Checks the terms' completeness_error()."""
        exact = all(_is_exact(one) for one in (self.x, self.written, self.weights))  # not so with autocast
        if not error < (1e-4 if exact else 0.05):
            raise _unlike(f"layer {self.number}", "x and the contributions to each token to sum to y", "another sum")

    def terms(self) -> tuple[Callable[..., BlockTerms], Any]:
        """The terms by a text's place in the batch and its number of tokens (or all), and the bias written with them."""
        behind = self.behind()  # first: asking a module for what it does calls it, which is seen
        scale, of_tokens = self._scales()
        matrix, bias = self._linear()
        if self.parts.scale != 1.0:
            matrix, bias = (matrix * self.parts.scale, None if bias is None else bias * self.parts.scale)
        if scale is not None:
            matrix, bias = matrix.float() * scale, None if bias is None else bias.float() * scale
        norm, last_norm = self._norms()
        weights = self.by_head
        values = self.value.flatten(0, 1).unflatten(0, (len(self.x), -1)).transpose(1, 2)
        projection = numbers(matrix.reshape(weights.shape[1], -1, matrix.shape[-1]))  # [head, width, hidden]
        rest = self.parts.rest is not None or (self.parts.attends and self.parts.behind)

        def of_text(text: int, tokens: int | None = None) -> BlockTerms:
            return BlockTerms(
                number=self.number,
                attention=numbers(weights[text, :, :tokens, :tokens]),
                values=numbers(values[text, :tokens]),
                projection=projection,
                residual=numbers(self.x[text, :tokens]),
                output=numbers(behind[text, :tokens]),
                block_scale=None if of_tokens is None else numbers(of_tokens[text, :tokens]),
                norm=norm,
                last_norm=last_norm,
                rest=self._rest if rest and len(self.x) == 1 else None,
            )

        return of_text, None if bias is None else numbers(bias)

    def _norms(self) -> tuple[Any, Any]:
        """The norm of y and the last one, where norms come after their blocks."""
        if not self.parts.last_norm:
            return None, None
        return norm_of(module_at(self.layer, self.parts.behind)), norm_of(module_at(self.layer, self.parts.last_norm))

    def _rest(self, rows: Any) -> Any:
        """The layer's output for y, each position separately."""
        import torch

        given = torch.from_numpy(rows).to(device=self.x.device, dtype=self.x.dtype)
        with torch.no_grad():
            if self.parts.rest is not None:
                return numbers(self.parts.rest(self.layer, given[None])[0])
            return numbers(self._without_attention(given))

    def _without_attention(self, rows: Any) -> Any:
        """The layer's output for x, with nothing written by attention: for y = x + 0, in one call."""
        arguments, options = with_given_tensor(self.layer, self.arguments, self.options, rows[None])
        self.is_paused = True
        try:
            with _one_at_a_time, self._silenced(len(rows)):
                return first_of(self.layer(*arguments, **options))[0]
        finally:
            self.is_paused = False

    @contextmanager
    def _silenced(self, rows: int) -> Iterator[None]:
        """Attention writes zeros, for this number of tokens."""
        within = f"{self.parts.projection}.".startswith(f"{self.parts.attends}.")
        with ExitStack() as stack:
            for path in [self.parts.attends] if within else [self.parts.attends, self.parts.projection]:
                stack.enter_context(_giving_zeros(module_at(self.layer, path), self.gave[path], rows))
            yield

    def _scales(self) -> tuple[Any, Any]:
        """Factors of an RMS norm after the projection: by [hidden], and by [text, token], a constant of the run."""
        import torch

        if not self.parts.written_norm:
            return None, None
        module: Any = self.layer.get_submodule(self.parts.written_norm)
        projected, written = self.projected.float(), self.written.float()
        scale = module(torch.ones_like(self.projected[:1, :1]))[0, 0].float()  # but for a factor that all tokens share
        scaled = projected * scale
        of_tokens = (written * scaled).sum(-1) / (scaled * scaled).sum(-1)
        if not _close((scaled * of_tokens[..., None]).to(self.x.dtype), written.to(self.x.dtype)):
            raise _unlike(f"layer {self.number}", f"{self.parts.written_norm} to be an RMS norm", type(module).__name__)
        return scale, of_tokens

    def _linear(self) -> tuple[Any, Any]:
        """The matrix of the projection, [in, hidden], and its bias."""
        import torch

        module: Any = self.layer.get_submodule(self.parts.projection)
        if type(module) is torch.nn.Linear:
            return module.weight.t(), module.bias
        if type(module).__name__ == "Conv1D":  # of transformers, which keeps it the other way round
            return module.weight, module.bias
        # Other linear modules, quantized or with an adapter, store them differently: their output shows them.
        unit = torch.eye(self.given.shape[-1], dtype=self.x.dtype, device=self.x.device)
        bias = module(torch.zeros_like(unit[:1]))
        return module(unit) - bias, bias[0]


def _unlike(where: str, expected: str, found: str) -> Error:
    return unsupported(
        f"{where}: expected {expected}, found {found}: the layer is not built as its attnflow.LayerParts say; choose "
        'mixing="attention"'
    )


def _is_exact(one: Any) -> bool:
    import torch

    return one.dtype in (torch.float32, torch.float64)


def _close(a: Any, b: Any) -> bool:
    """Equal up to the rounding of the coarser type."""
    if a.shape != b.shape:
        return False
    tolerance = 1e-4 if _is_exact(a) and _is_exact(b) else 0.02
    difference, size = (a - b).abs().max(), b.abs().max()
    return not bool(difference > tolerance * size)  # what is not finite is refused where it is named


def norm_of(module: Any) -> tuple[Any, Any, float]:
    """Scale, shift and epsilon of a layer norm, PyTorch's or one that computes the same."""
    import torch

    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    epsilon = getattr(module, "eps", getattr(module, "variance_epsilon", None))
    if isinstance(weight, torch.Tensor) and isinstance(epsilon, float):
        some = torch.linspace(-1, 1, 3 * len(weight), dtype=weight.dtype, device=weight.device).cos().reshape(3, -1)
        expected = torch.nn.functional.layer_norm(some, weight.shape, weight, bias, epsilon)
        if isinstance(module, torch.nn.LayerNorm) or _close(module(some), expected):
            return numbers(weight), numbers(torch.zeros_like(weight) if bias is None else bias), epsilon
    raise _unlike(type(module).__name__, "a layer norm with a scale after attention", "another norm")


def hooks_within(layer: Any, parts: LayerParts, going_on: Callable[[], Run | None]) -> Iterator[Callable[[], None]]:
    """Hooks on the modules that the parts name, which keep what they are given and give in the run that is going on."""

    def given(name: str) -> Callable[..., None]:
        def keep(module: Any, *called: Any) -> None:
            if run := going_on():
                setattr(run, name, given_tensor(module, *called))

        return keep

    def gives(name: str) -> Callable[..., None]:
        def keep(_module: Any, _arguments: Any, _options: Any, output: Any) -> None:
            if run := going_on():
                setattr(run, name, first_of(output))

        return keep

    def whole(path: str) -> Callable[..., None]:
        def keep(_module: Any, _arguments: Any, _options: Any, output: Any) -> None:
            if run := going_on():
                run.gave[path] = output

        return keep

    projection = module_at(layer, parts.projection)
    if parts.attends:
        yield behind(module_at(layer, parts.attends), whole(parts.attends))
        yield behind(projection, whole(parts.projection))
    yield before(projection, given("given"))
    yield behind(projection, gives("projected"))
    if parts.written_norm:
        yield behind(module_at(layer, parts.written_norm), gives("normed"))
    if parts.attention:
        yield behind(module_at(layer, parts.attention), gives("attended"))
    if parts.behind:
        yield before(module_at(layer, parts.behind), given("y"))


class Watch:
    """Hooks on the layers of a model. Calls finished(run) after each layer."""

    def __init__(self, known: list[tuple[Any, LayerParts]], finished: Callable[[Run], None]) -> None:
        self.runs = [Run(layer, parts, number) for number, (layer, parts) in enumerate(known, start=1)]
        self._finished = finished
        self._of_module = {id(module): run.layer for run in self.runs for module in modules(run.layer)}
        self._begun: dict[int, int] = {}  # by layer: how often it has run
        self.again: Run | None = None  # the run that is repeated

    def _current(self, layer: Any) -> Run:
        """The run of a layer that is going on: layers may run several times (ALBERT)."""
        if self.again is not None:
            return self.again
        own = [run for run in self.runs if run.layer is layer]
        return own[min(self._begun.get(id(layer), 1), len(own)) - 1]

    @contextmanager
    def hooks(self) -> Iterator[None]:
        self._begun.clear()
        with ExitStack() as stack:
            for run in {id(run.layer): run for run in self.runs}.values():
                for remove in self._hooks_of(run.layer, run.parts):
                    stack.callback(remove)
            yield

    def _hooks_of(self, layer: Any, parts: LayerParts) -> Iterator[Callable[[], None]]:
        def going_on() -> Run | None:
            run = self._current(layer)
            return None if run.is_paused else run

        def start(_: Any, *called: Any) -> None:
            if self.again is None and going_on() is not None:
                self._begun[id(layer)] = self._begun.get(id(layer), 0) + 1
            if run := going_on():
                run.start(*called)

        def end(*_: Any) -> None:
            if run := going_on():
                run.check()
                self._finished(run)

        yield before(layer, start)
        yield from hooks_within(layer, parts, going_on)
        yield behind(layer, end)

    def see(self, module: Any, arguments: tuple[Any, ...], weights: Any, output: Any) -> None:
        """Sees a call of attention: query, key, value, ..."""
        layer = self._of_module.get(id(module))
        if layer is not None:
            run = self._current(layer)
            run.value, run.weights, run.mixed = arguments[2], weights, output

    def check_calls(self, captured: Captured) -> None:
        """Compares the calls of attention with the layers."""
        attentions = captured.attentions
        if len(attentions) != len(self.runs):
            raise unsupported(
                f"expected {len(attentions)} known layers, one for each call of attention, found {len(self.runs)} in "
                f'{type(captured.model).__name__}; choose mixing="attention"'
            )

    def cut_top(self, top: list[Any]) -> Callable[[], None]:
        """Makes the output of the last layer a leaf, which is put into the list."""

        last = [self.runs[-1].layer is run.layer for run in self.runs].count(True)

        def cut(layer: Any, __: Any, ___: Any, output: Any) -> Any:
            if self._begun.get(id(layer), 0) < last:
                return None
            top.append(first_of(output).detach().requires_grad_(True))
            return (top[0], *output[1:]) if isinstance(output, tuple) else top[0]

        return behind(self.runs[-1].layer, cut)

    def one_top(self, top: list[Any]) -> Any:
        if len(top) != 1:
            raise _unlike("the last layer", "one run", f"{len(top)}")
        return top[0]

    def replace_input(self, embedding: Any) -> Callable[[], None]:
        """Puts [token, hidden] in place of the first layer's input."""
        layer = self.runs[0].layer
        return replace_input(layer, embedding, lambda: self._begun.get(id(layer), 0) == 0)


def replace_input(layer: Any, embedding: Any, is_wanted: Callable[[], bool]) -> Callable[[], None]:
    """Puts [token, hidden] in place of a layer's input, where that is wanted; calling the result ends it."""
    import torch

    def replace(module: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if not is_wanted():
            return None
        given = given_tensor(module, arguments, options)
        other = torch.from_numpy(embedding).to(device=given.device, dtype=given.dtype)[None]
        return with_given_tensor(module, arguments, options, other)

    return before(layer, replace)


def require_norms(mixing: str, layers: Iterable[tuple[int, LayerParts]]) -> None:
    """Refuses layers, by number, without the norms that a mixing is defined with."""
    without = [number for number, parts in layers if not parts.last_norm]
    if _core.mixing_info(mixing).norms_after and without:
        raise unsupported(
            f"mixing {mixing}: expected layers with a norm after attention and one after the feed-forward network, as in "
            f"BERT, found layer {without[0]} without; choose mixing norm or alti"
        )


# The library asks from several threads.
_one_at_a_time = threading.Lock()


def _giving_zeros(module: Any, output: Any, rows: int) -> AbstractContextManager[None]:
    """A module that gives zeros instead of an output, for this number of tokens."""
    like = first_of(output)
    zeros = like.new_zeros(*like.shape[:-2], rows, like.shape[-1])
    silent = (zeros, *(None for _ in output[1:])) if isinstance(output, tuple) else zeros
    return doing(module, lambda *_, **__: silent)


@contextmanager
def doing(module: Any, other: Callable[..., Any]) -> Iterator[None]:
    """A module that does something else on this thread."""
    thread, usual = threading.get_ident(), module.forward
    own = vars(module).get("forward")  # of accelerate, for example

    def forward(*arguments: Any, **options: Any) -> Any:
        return (other if threading.get_ident() == thread else usual)(*arguments, **options)

    module.forward = forward
    try:
        yield
    finally:
        if own is None:
            del module.forward
        else:
            module.forward = own


def module_at(layer: Any, path: str) -> Any:
    try:
        return layer.get_submodule(path)
    except AttributeError:
        raise Error(
            f"expected a module {path!r} in {type(layer).__name__}, as its attnflow.LayerParts say, found none"
        ) from None


def first_of(output: Any) -> Any:
    return output[0] if isinstance(output, tuple) else output


def score_and_gradient(score: Callable[[Any], Any], output: Any, at: Any) -> tuple[float, Any]:
    """The score of a model's output, and its gradient at the tensor `at`."""
    import torch

    inference_mode: Any = torch.inference_mode  # which has no types
    with inference_mode(False), torch.enable_grad():
        value = score(output)
        (gradient,) = torch.autograd.grad(value, [at])
    return float(value.detach()), gradient


@dataclass
class LayerGradient:
    """What a layer did, and a score's gradients in it (graph/attention_gradient_sink.h), with the batch's dimension."""

    number: int
    weights: Any  # [text, head, query, key]
    slope: Any  # at the weights
    x: Any  # [text, token, hidden]
    behind: Any  # the gradient at y
    gradient: Any  # at x

    def of_sink(self, text: int, tokens: int) -> tuple[Any, ...]:
        """Weights, their gradient, x, and the gradient at y of one of the texts."""
        own = slice(0, tokens)
        return self.weights[text, :, own, own], self.slope[text, :, own, own], self.x[text, own], self.behind[text, own]


def back(run: Run, gradient: Any, by_rules: bool) -> LayerGradient:
    """Runs a layer once more and propagates the gradient at its output."""
    import torch

    leaf = given_tensor(run.layer, run.arguments, run.options).detach().requires_grad_(True)
    arguments, options = with_given_tensor(run.layer, run.arguments, run.options, leaf)
    fork: list[Any] = []  # what attention is given, as it comes and as a leaf of its own
    stack = ExitStack()
    if run.parts.attention:

        def split(module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
            into = given_tensor(module, given, named)
            if fork or not into.requires_grad:
                raise _unlike(f"layer {run.number}", f"{run.parts.attention} to receive x once", "something else")
            fork.extend((into, into.detach().requires_grad_(True)))
            return with_given_tensor(module, given, named, fork[1])

        stack.callback(before(module_at(run.layer, run.parts.attention), split))
    with stack:
        output = first_of(run.layer(*arguments, **options))
    wanted = [leaf, run.weights, *(fork[1:] or [run.y])]
    of_leaf, of_weights, of_other = torch.autograd.grad([output], wanted, [gradient], retain_graph=bool(fork))
    of_output, of_input = of_other, of_leaf
    if fork:  # the gradient at y is that past attention
        (through_attention,) = torch.autograd.grad(fork[:1], [leaf], [of_other])
        of_output, of_input = of_leaf, of_leaf + through_attention
    # By the rules, half of the product of attention and values reached the weights.
    slope: Any = of_weights * 2.0 if by_rules else of_weights
    made = LayerGradient(
        number=run.number,
        weights=run.by_head.detach(),
        slope=slope.reshape(run.by_head.shape),
        x=leaf.detach(),
        behind=of_output.reshape(leaf.shape),
        gradient=of_input,
    )
    run.forget()
    run.arguments, run.options = (), {}
    return made
