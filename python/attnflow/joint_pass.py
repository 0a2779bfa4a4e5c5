"""Gradients of an encoder-decoder, layer by layer, as those of one graph over source and target tokens.

A decoder layer has two blocks: attention to the target, then to the source (attnflow.joint). With x_k the residual
stream before block k and y_k after it, each is one layer of the joint graph:

    rows of target tokens    the block's attention, its gradient, x_k and the gradient at y_k
    rows of source tokens    what stays with them: the encoder's output, and the gradient that has come to it from above

and in the encoder's layers it is the other way round. Only the layers' inputs are kept; each layer runs once more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any

from attnflow import edges
from attnflow.anatomy import Call, FoundOnce, first_tokens, last_norm, layers_found, recording, same, scale_of
from attnflow.capture import capture_with, shape_alone
from attnflow.edges import Watch, first_of, replace_input, score_and_gradient
from attnflow.errors import Error, unsupported
from attnflow.hooks import before, behind, given_tensor, with_given_tensor
from attnflow.layers import LayerParts


@dataclass(frozen=True)
class DecoderParts:
    """A decoder layer: the modules that are given y_1 and y_2, and whether x_2 is what the first of them gives."""

    layer: Any
    first: str
    second: str
    from_first: bool  # post-norm: x_2 is the norm of y_1
    attends: tuple[str, str]  # the modules that call the attention function
    projections: tuple[str, str]  # what they give is added to x_1 and x_2
    scales: tuple[float, float]  # after it is multiplied by these
    last_norm: str  # post-norm: the norm after the feed-forward network


@dataclass
class JointLayer:
    """One layer of the joint graph: the rows and columns of its attention, and numbers for all tokens."""

    number: int
    rows: slice
    columns: slice
    weights: Any  # [head, row, column]
    slope: Any
    residual: Any  # [source + target, hidden]
    behind: Any

    def of_sink(self, *_: int) -> tuple[Any, ...]:
        """Weights, their gradient, x, and the gradient at y."""
        attention = self._whole(self.weights)
        # The tokens without a row of the block attend to themselves alone, as where the model runs.
        own = attention.diagonal(dim1=1, dim2=2)
        own[:, : self.rows.start] = 1.0
        own[:, self.rows.stop :] = 1.0
        return attention, self._whole(self.slope), self.residual, self.behind

    def _whole(self, block: Any) -> Any:
        """[head, token, token], zeros outside the block."""
        n = self.residual.shape[0]
        found = block.new_zeros(block.shape[0], n, n)
        found[:, self.rows, self.columns] = block
        return found


@dataclass
class _Seen:
    layer: Any
    x: Any = None
    o: Any = None
    attends: list[str] = field(default_factory=list)
    mixed: list[Any] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


_found: FoundOnce[list[DecoderParts]] = FoundOnce()


def encoder_parts(model: Any, inputs: dict[str, Any]) -> list[tuple[Any, LayerParts]]:
    """The encoder's layers, in order."""
    encoder = model.get_encoder()
    names = signature(encoder.forward).parameters
    return layers_found(encoder, {key: one for key, one in inputs.items() if key in names and "decoder" not in key})


def decoder_parts(model: Any, inputs: dict[str, Any]) -> list[DecoderParts]:
    """The decoder's layers, in order; found on the first tokens, once for each model."""
    return _found.of(model, partial(_find_parts, model, inputs))


def _find_parts(model: Any, inputs: dict[str, Any]) -> list[DecoderParts]:
    import torch

    decoder = model.get_decoder()
    names = {id(module): name for name, module in decoder.named_modules()}
    layers: dict[str, _Seen] = {}

    def see(module: Any, _: Any, __: Any, output: Any) -> None:
        path = names.get(id(module))
        if path is None:
            return  # the encoder's
        numbers = [at for at, part in enumerate(path.split(".")) if part.isdigit()]
        if not numbers:
            raise _unlike(type(module).__name__, "attention within a module of a list of layers", f"it in {path}")
        layer = ".".join(path.split(".")[: numbers[0] + 1])
        seen = layers.setdefault(layer, _Seen(decoder.get_submodule(layer)))
        seen.mixed.append(output.detach().clone())
        seen.attends.append(path[len(layer) + 1 :])

    short = first_tokens(inputs)
    with capture_with(model, lambda *_: None, see=see) as captured, captured.seeing(), torch.no_grad():
        model(**short)
    with capture_with(model, lambda *_: None, see=lambda *_: None) as captured, ExitStack() as stack:
        for seen in layers.values():
            for path, module in seen.layer.named_modules():
                stack.enter_context(recording(module, partial(_record, seen, path, module)))
        stack.enter_context(captured.seeing())
        stack.enter_context(torch.no_grad())
        model(**short)
    return [_parts(seen) for seen in layers.values()]


def _record(seen: _Seen, path: str, module: Any, given: Any, gave: Any) -> None:
    if path == "":
        seen.x, seen.o = given, gave
    else:
        seen.calls.append(Call(path, module, given, gave))


def _parts(seen: _Seen) -> DecoderParts:
    kind = type(seen.layer).__name__
    if len(seen.mixed) != 2:
        raise _unlike(kind, "two calls of attention, to the target and to the source", f"{len(seen.mixed)}")
    found = [next((call for call in seen.calls if same(call.given, mixed)), None) for mixed in seen.mixed]
    projections = [call for call in found if call is not None]
    written = [call.gave for call in projections]
    if len(projections) != 2:
        raise _unlike(kind, "modules that are given what attention gave, and project it", "none")
    first = _outermost([call for call in seen.calls if scale_of(call.given, seen.x, written[0]) is not None])
    if first is None:
        raise _unlike(kind, "a module that is given the sum of x and what attention to the target writes", "none")
    # The module that is given y_1 may be a norm that ends the block, or the one that follows.
    alike = [call for call in seen.calls if same(call.given, first.given)]
    for from_first, streams in ((False, [first]), (True, [call for call in alike if call.gave is not None])):
        for stream in streams:
            base = stream.gave if from_first else stream.given
            second = _outermost([call for call in seen.calls if scale_of(call.given, base, written[1]) is not None])
            if second is not None:
                return _described(seen, (stream, second), from_first, (projections[0], projections[1]))
    raise _unlike(kind, "a module that is given the sum of that and what attention to the source writes", "none")


def _described(seen: _Seen, given: tuple[Call, Call], from_first: bool, projections: tuple[Call, Call]) -> DecoderParts:
    first, second = given
    streams = (seen.x, first.gave if from_first else first.given)
    scales = [scale_of(y.given, x, w.gave) or 1.0 for y, x, w in zip(given, streams, projections, strict=True)]
    return DecoderParts(
        layer=seen.layer,
        first=first.path,
        second=second.path,
        from_first=from_first,
        attends=(seen.attends[0], seen.attends[1]),
        projections=(projections[0].path, projections[1].path),
        scales=(scales[0], scales[1]),
        last_norm=last_norm(seen.calls, seen.o, second) if from_first else "",
    )


def _outermost(calls: Sequence[Call]) -> Call | None:
    return min(calls, key=lambda call: call.path.count("."), default=None)


def _unlike(kind: str, expected: str, found: str) -> Error:
    return unsupported(f'{kind}: expected {expected}, found {found}; choose mixing="attention"')


@dataclass
class _Run:
    """A run of a decoder layer."""

    parts: DecoderParts
    number: int
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    weights: list[Any] = field(default_factory=list)
    y: list[Any] = field(default_factory=list)
    written: list[Any] = field(default_factory=list)
    x2: Any = None


class JointPass:
    """One run of the model, used like attnflow.one_pass.OnePass. embedding: that of the source's tokens, then the target's."""

    def __init__(
        self, model: Any, inputs: dict[str, Any], ids: list[Any], by_rules: bool, embedding: Any = None
    ) -> None:
        from attnflow.attnlrp import rules

        self._model, self._rules = model, partial(rules, model, by_rules)
        self.ids, self.by_rules = ids, by_rules
        encoder = model.get_encoder()
        self._watch = Watch(encoder_parts(model, inputs), lambda _: None)
        known = decoder_parts(model, inputs)
        self._runs = [_Run(parts, number) for number, parts in enumerate(known, start=1)]
        self._again: _Run | None = None
        if "use_cache" in signature(model.forward).parameters:
            inputs = inputs | {"use_cache": False}
        top: list[Any] = []  # of the encoder
        made: list[Any] = []  # of the decoder
        with ExitStack() as stack:
            captured = stack.enter_context(capture_with(model, shape_alone, see=self._see))
            stack.enter_context(self._rules())
            if embedding is not None:  # first, so that the other hooks see it
                source = inputs["input_ids"].shape[1]
                stack.callback(self._watch.replace_input(embedding[:source]))
                stack.callback(replace_input(known[0].layer, embedding[source:], lambda: True))
            stack.enter_context(self._watch.hooks())
            stack.callback(self._watch.cut_top(top))
            stack.callback(behind(encoder, self._part_with))
            for run in self._runs:
                stack.callback(before(run.parts.layer, partial(self._keep_arguments, run)))
            stack.callback(behind(self._runs[-1].parts.layer, partial(_cut, made)))
            stack.enter_context(captured.seeing())
            self.output = model(**inputs)
        for below in self._watch.runs:
            below.forget()
        self._top, self.top = self._watch.one_top(top), made[0]

    def _keep_arguments(self, run: _Run, _: Any, arguments: Any, options: Any) -> None:
        if self._again is None:
            run.arguments, run.options = arguments, options

    def _part_with(self, _: Any, __: Any, ___: Any, output: Any) -> Any:
        """The decoder is given the encoder's output as a constant."""
        self._made = first_of(output) if isinstance(output, tuple) else output[0]
        self._states = self._made.detach()
        if isinstance(output, tuple):
            return (self._states, *output[1:])
        output["last_hidden_state"] = self._states
        return output

    def _see(self, module: Any, arguments: Any, weights: Any, output: Any) -> None:
        if self._again is not None:
            self._again.weights.append(weights)
        else:
            self._watch.see(module, arguments, weights, output)

    def backward(self, score: Callable[[Any], Any]) -> tuple[float, Any]:
        """The score of the output, and its gradient at the output of the decoder's last layer."""
        return score_and_gradient(score, self.output, self.top)

    def all_tokens(self, of_target: Any, *_: int) -> Any:
        """[token, hidden]: nothing for those of the source."""
        return self.joined(self._states * 0.0, of_target)

    def joined(self, source: Any, target: Any) -> Any:
        """[source + target, hidden] of two of [1, token, hidden]."""
        import torch

        return torch.cat([source[0], target[0]])

    def layers(self, gradient: Any) -> Generator[JointLayer, None, None]:
        """The layers of the joint graph from the top down, by the gradient at the output of the decoder's last."""
        import torch

        s, t = self._states.shape[1], gradient.shape[1]
        source, target = slice(0, s), slice(s, s + t)
        below = len(self._watch.runs)
        with ExitStack() as stack:
            captured = stack.enter_context(capture_with(self._model, shape_alone, see=self._see))
            stack.enter_context(self._rules())
            stack.enter_context(captured.seeing())
            come = torch.zeros_like(self._states)  # the gradient that has come to the encoder's output
            for run in reversed(self._runs):
                x, grads = self._back(run, gradient)
                of_x, of_states, *of_weights, of_y1, of_y2 = grads
                slopes = [one * 2.0 if self.by_rules else one for one in of_weights]
                yield JointLayer(
                    below + 2 * run.number,
                    target,
                    source,
                    _by_head(run.weights[1]),
                    _by_head(slopes[1]),
                    self.joined(self._states, run.x2.detach().reshape(x.shape)),
                    self.joined(come, of_y2.reshape(x.shape)),
                )
                come = come + of_states
                yield JointLayer(
                    below + 2 * run.number - 1,
                    target,
                    target,
                    _by_head(run.weights[0]),
                    _by_head(slopes[0]),
                    self.joined(self._states, x),
                    self.joined(come, of_y1.reshape(x.shape)),
                )
                gradient = of_x
                run.weights, run.y, run.written, run.x2 = [], [], [], None
            self._again = None
            stack.enter_context(self._watch.hooks())
            (of_source,) = torch.autograd.grad([self._made], [self._top], [come])
            for one in reversed(self._watch.runs):
                self._watch.again = one
                layer = edges.back(one, of_source, self.by_rules)
                of_source = layer.gradient
                self.lowest = self.joined(layer.x, x), self.joined(of_source, gradient)
                yield JointLayer(
                    one.number,
                    source,
                    source,
                    layer.weights[0],
                    layer.slope[0],
                    self.joined(layer.x, x),
                    self.joined(layer.behind, gradient),
                )

    def _back(self, run: _Run, gradient: Any) -> tuple[Any, Any]:
        """Runs a decoder layer once more: its input, and the gradients there, at the states, the weights, y_1, y_2."""
        import torch

        layer, self._again = run.parts.layer, run
        x = given_tensor(layer, run.arguments, run.options).detach().requires_grad_(True)
        states = self._states.detach().requires_grad_(True)
        arguments, options = with_given_tensor(layer, run.arguments, run.options, x)
        swapped = [one is self._states for one in (*arguments, *options.values())].count(True)
        if swapped != 1:
            raise _unlike(type(layer).__name__, "the encoder's output among its arguments once", f"{swapped}")
        arguments = tuple(states if one is self._states else one for one in arguments)
        options = {key: states if one is self._states else one for key, one in options.items()}

        def take_y(module: Any, *called: Any) -> None:
            run.y.append(given_tensor(module, *called))

        def take_x2(_: Any, __: Any, ___: Any, output: Any) -> None:
            run.x2 = first_of(output)

        def take_written(_: Any, __: Any, ___: Any, output: Any) -> None:
            run.written.append(first_of(output).detach())

        with ExitStack() as stack:
            for path in run.parts.projections:
                stack.callback(behind(layer.get_submodule(path), take_written))
            first = layer.get_submodule(run.parts.first)
            stack.callback(before(first, take_y))
            if run.parts.from_first:
                stack.callback(behind(first, take_x2))
            stack.callback(before(layer.get_submodule(run.parts.second), take_y))
            output = first_of(layer(*arguments, **options))
        if len(run.y) != 2 or len(run.weights) != 2:
            raise _unlike(type(layer).__name__, "two blocks of attention", f"{len(run.weights)}")
        if not run.parts.from_first:
            run.x2 = run.y[0]
        for y, base, written in zip(run.y, (x, run.x2), run.written, strict=True):
            if scale_of(y.detach(), base.detach().reshape(x.shape), written) is None:
                raise _unlike(type(layer).__name__, "the sum of x and what attention writes", "something else")
        return x.detach(), torch.autograd.grad([output], [x, states, *run.weights, *run.y], [gradient])


def _cut(made: list[Any], _: Any, __: Any, ___: Any, output: Any) -> Any:
    made.append(first_of(output).detach().requires_grad_(True))
    return (made[0], *output[1:]) if isinstance(output, tuple) else made[0]


def _by_head(weights: Any) -> Any:
    """[head, query, key]"""
    return weights.detach()[0] if weights.dim() == 4 else weights.detach()
