"""Contributions of an encoder-decoder, layer by layer, as those of one graph over source and target tokens.

An encoder layer is a layer of that graph, and so is each of a decoder layer's two blocks, attention to the target and to
the source (attnflow.joint). The terms of a block are those of a layer (attnflow.edges.Run) with x_k and y_k, the residual
stream before and behind it, in place of x and y. Tokens that a block does not work on stay as they are.

Value zeroing needs what follows y_k: behind y_1 nothing but the norm that ends the block, if norms come after their
blocks; behind y_2 the rest of the layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from attnflow import _core
from attnflow.capture import capture_with, shape_alone
from attnflow.edges import Run, Watch, doing, first_of, hooks_within, module_at, norm_of, require_norms
from attnflow.errors import unsupported
from attnflow.hooks import before, behind, given_tensor
from attnflow.joint_pass import DecoderParts, decoder_parts, encoder_parts
from attnflow.layers import LayerParts


@dataclass
class Block(Run):
    """A block of a decoder layer, as if it were a layer of its own."""

    first: Block | None = None  # the layer's first block, if this is the second
    norm: str = ""  # post-norm: the module that ends the first block

    @property
    def _norm(self) -> Any:
        return module_at(self.layer, self.norm) if self.norm else None

    def _norms(self) -> tuple[Any, Any]:
        return super()._norms() if self._norm is None else (norm_of(self._norm), None)

    def _without_attention(self, rows: Any) -> Any:
        if self.first is not None:
            return super()._without_attention(rows)
        return rows if self._norm is None else first_of(self._norm(rows[None]))[0]

    @contextmanager
    def _silenced(self, rows: int) -> Iterator[None]:
        """The layer is given y_2 as x: until then, nothing happens to it."""
        with ExitStack() as stack:
            if self.first is not None:
                stack.enter_context(self.first._silenced(rows))
                if norm := self.first._norm:
                    stack.enter_context(doing(norm, lambda *given, **options: given_tensor(norm, given, options)))
            stack.enter_context(super()._silenced(rows))
            yield


def _blocks(known: DecoderParts, number: int) -> tuple[Block, Block]:
    """A decoder layer's, of which the first is the layer of the joint graph with this number."""
    first, second = (
        LayerParts(projection, given, scale=scale, attends=attends)
        for projection, given, scale, attends in zip(
            known.projections, (known.first, known.second), known.scales, known.attends, strict=True
        )
    )
    below = Block(known.layer, first, number, norm=known.first if known.from_first else "")
    return below, Block(known.layer, replace(second, last_norm=known.last_norm), number + 1, first=below)


def joint_layers(
    model: Any, inputs: dict[str, Any], mixing: str
) -> tuple[list[tuple[Any, LayerParts]], list[tuple[Block, Block]]]:
    """The encoder's layers and the blocks of the decoder's; refuses those that a mixing is not defined for."""
    encoder = encoder_parts(model, inputs)
    known = decoder_parts(model, inputs)
    decoder = [_blocks(parts, len(encoder) + 2 * layer + 1) for layer, parts in enumerate(known)]
    layers = [(number, parts) for number, (_, parts) in enumerate(encoder, start=1)]
    require_norms(mixing, [*layers, *((second.number, second.parts) for _, second in decoder)])
    return encoder, decoder


def run_with_terms(
    model: Any, inputs: dict[str, Any], mixing: str, source: int, give: Callable[[_core.LayerTerms], None]
) -> Any:
    """The model's output. Gives the terms of each layer among all tokens, of which the first `source` are the encoder's."""
    import torch

    encoder, decoder = joint_layers(model, inputs, mixing)
    tokens = source + inputs["decoder_input_ids"].shape[1]
    of_source, of_target = slice(0, source), slice(source, tokens)
    given = 0

    def finish(rows: slice, columns: slice, run: Run) -> None:
        nonlocal given
        terms, bias = run.terms()
        made = terms(0).among(tokens, rows, columns).made()
        if run.number in (1, len(encoder) + 1, len(encoder) + 2):  # for all: it costs as much as the contributions
            run.check_completeness(made.completeness_error(bias))
        give(made)
        given += 1

    def finish_encoder(run: Run) -> None:
        finish(of_source, of_source, run)
        run.forget()

    watch = Watch(encoder, finish_encoder)
    above = [
        _DecoderWatch(blocks, (partial(finish, of_target, of_target), partial(finish, of_target, of_source)))
        for blocks in decoder
    ]

    def see(*called: Any) -> None:
        watch.see(*called)
        for layer in above:
            layer.see(*called)

    with ExitStack() as stack:
        captured = stack.enter_context(capture_with(model, shape_alone, see=see))
        stack.enter_context(watch.hooks())
        for layer in above:
            stack.enter_context(layer.hooks())
        stack.enter_context(captured.seeing())
        stack.enter_context(torch.no_grad())
        output = model(**inputs)
    layers = len(encoder) + 2 * len(decoder)
    if given != layers or len(captured.calls) != layers:
        raise unsupported(
            f"expected {layers} calls of attention in {type(model).__name__}, one for each layer of the encoder and two for "
            f'each of the decoder, found {len(captured.calls)}; choose mixing="attention"'
        )
    return output


class _DecoderWatch:
    """Hooks on a decoder layer. Calls the functions with its first and its second block after it has run."""

    def __init__(
        self, blocks: tuple[Block, Block], finished: tuple[Callable[[Run], None], Callable[[Run], None]]
    ) -> None:
        self._blocks, self._finished = blocks, finished
        self._calls: int | None = None  # of attention, while the layer runs for itself

    @contextmanager
    def hooks(self) -> Iterator[None]:
        first, _ = self._blocks
        stream = module_at(first.layer, first.parts.behind)
        with ExitStack() as stack:
            stack.callback(before(first.layer, self._start))
            for block in self._blocks:
                for remove in hooks_within(block.layer, block.parts, partial(self._going_on, block)):
                    stack.callback(remove)
            if first.norm:
                stack.callback(behind(stream, lambda *called: self._take_x(called[-1])))
            else:
                stack.callback(before(stream, lambda *called: self._take_x(given_tensor(*called))))
            stack.callback(behind(first.layer, self._end))
            yield

    def see(self, _: Any, arguments: tuple[Any, ...], weights: Any, output: Any) -> None:
        """Sees a call of attention, which is this layer's if it is running."""
        if self._calls is None:
            return
        if self._calls < 2:
            run = self._blocks[self._calls]
            run.value, run.weights, run.mixed = arguments[2], weights, output
        self._calls += 1

    def _going_on(self, block: Block) -> Run | None:
        return None if self._calls is None else block

    def _take_x(self, stream: Any) -> None:
        first, second = self._blocks
        if self._calls is not None:
            second.x = first_of(stream).reshape(first.x.shape)

    def _start(self, _: Any, *called: Any) -> None:
        if any(block.is_paused for block in self._blocks):
            return
        self._calls = 0
        for block in self._blocks:
            block.start(*called)

    def _end(self, *_: Any) -> None:
        if self._calls is None:
            return
        self._calls = None  # what runs from now on is asked for by the blocks
        for block, finished in zip(self._blocks, self._finished, strict=True):
            block.check()
            finished(block)
        for block in self._blocks:  # the second looks at the first
            block.forget()
