"""One run of a model of one stack, with one text or several, whose layers are run once more from the top down, each with its own graph."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from inspect import signature
from typing import Any

from attnflow import edges
from attnflow.capture import capture_with, shape_alone
from attnflow.edges import LayerGradient, Run, Watch, score_and_gradient


def same_inputs(a: list[Any], b: list[Any]) -> bool:
    """Whether two lists of inputs, each token ids or pixels, are equal."""
    return len(a) == len(b) and all(map(_same, a, b))


def _same(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, list) else a.shape == b.shape and bool((a == b).all())


class OnePass:
    """Only the layers' inputs are kept. ids: those of each text. embedding: [token, hidden], put in place of the first layer's input."""

    def __init__(
        self, model: Any, known: Any, inputs: dict[str, Any], ids: list[Any], by_rules: bool, embedding: Any = None
    ) -> None:
        from attnflow.attnlrp import rules

        self._model, self._rules = model, partial(rules, model, by_rules)
        self.ids, self.by_rules = ids, by_rules
        if "use_cache" in signature(model.forward).parameters:
            inputs = inputs | {"use_cache": False}  # layers run twice
        top: list[Any] = []  # the output of the last layer, a leaf

        def finished(run: Run) -> None:
            if self._is_forward:
                run.forget()

        self._is_forward = True
        self._watch = Watch(known, finished)
        # capture_with() comes first: one capture at a time keeps two threads from changing the same model's parameters.
        with ExitStack() as stack:
            captured = stack.enter_context(capture_with(model, shape_alone, see=self._watch.see))
            stack.enter_context(self._rules())
            if embedding is not None:  # first, so that the other hooks see it
                stack.callback(self._watch.replace_input(embedding))
            stack.enter_context(self._watch.hooks())
            stack.callback(self._watch.cut_top(top))
            stack.enter_context(captured.seeing())
            self.output = model(**inputs)
        self._is_forward = False
        self._watch.check_calls(captured)
        self.top = self._watch.one_top(top)

    def backward(self, score: Callable[[Any], Any]) -> tuple[float, Any]:
        """The score of the output, and its gradient at the output of the last layer."""
        return score_and_gradient(score, self.output, self.top)

    def layers(self, gradient: Any) -> Generator[LayerGradient, None, None]:
        """The layers from the top down, by the gradient at the output of the last."""
        with ExitStack() as stack:
            captured = stack.enter_context(capture_with(self._model, lambda *_: None, see=self._watch.see))
            stack.enter_context(self._rules())
            stack.enter_context(self._watch.hooks())
            stack.enter_context(captured.seeing())
            for run in reversed(self._watch.runs):
                self._watch.again = run
                layer = edges.back(run, gradient, self.by_rules)
                gradient = layer.gradient
                self.lowest = layer.x[0], gradient[0]
                yield layer

    def all_tokens(self, of_tokens: Any, text: int, tokens: int) -> Any:
        """[token, hidden] of one of the texts."""
        return of_tokens[text, :tokens]
