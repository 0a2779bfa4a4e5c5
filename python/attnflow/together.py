"""Several texts of one model, explained together: what their explanations ask of it at the same time is answered by one
pass over a padded batch.

Each explanation runs on a thread of its own, as if it were alone, and waits whenever it asks. The caller's thread
answers: it alone runs the model. What is not possible together, or fails, is done for each text alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from attnflow import _core
from attnflow.backend import Asked, Backend, OtherFacts, begun_again
from attnflow.capture import masks_beside_interface
from attnflow.padding import gives_the_same_padded
from attnflow.walk import modules, parameters

# Texts at once: more are hardly faster, and each has a thread.
_TEXTS = 32
# The shortest text of a batch, as a share of the longest.
_SHORTEST = 0.6

# These run the model or change the tokenizer.
_ASKED = {
    *("run", "attention_gradients", "input_gradient", "logits_of_each"),
    *("has_terms", "prepare_gradients", "word_to_ids", "read"),
}
# A pass answers these for several texts.
_OF_EACH = {"run", "attention_gradients"}
# The tokenizer says this for all texts.
_SAID_ONCE = {"vocabulary", "special_ids", "end_ids", "mask_id", "unknown_id", "padding_id", "tokenizer_name"}


class Apart(Exception):
    """What a text asks cannot be answered together with others."""


def can_be_together(backends: Sequence[Backend]) -> bool:
    """Whether batches of these texts give what each alone gives."""
    import torch

    if len(backends) < 2:
        return False
    first, model = backends[0], backends[0].model
    exact = all(
        one.dtype in (torch.float32, torch.float64) for one in parameters(modules(model)) if one.is_floating_point()
    )
    # Value zeroing runs each layer with other numbers of tokens.
    if first.is_joint or first.asked.get("mixing") == "value-zeroing" or not exact or _is_autocast(model):
        return False
    # Experts of a capacity leave out tokens that depend on the rest of the batch. An indexer chooses the keys of each
    # query by scores that are often equal, so that rounding decides.
    if any("capacity" in name for name in vars(model.config)) or masks_beside_interface(modules(model)):
        return False
    return gives_the_same_padded(model, lambda ids: first._inputs(ids, []), [backend.ids for backend in backends])


def _is_autocast(model: Any) -> bool:
    import torch

    is_enabled: Any = torch.is_autocast_enabled  # whose types lack the device
    return bool(is_enabled(next(model.parameters()).device.type))


def batches(backends: Sequence[Backend]) -> list[list[int]]:
    """Texts of similar length, by their places: as many as fit."""
    counts = [len(backend.ids) for backend in backends]
    left = sorted(range(len(counts)), key=counts.__getitem__, reverse=True)
    found = []
    while left:
        longest = counts[left[0]]
        most = backends[left[0]].at_once(longest, _TEXTS)
        batch = [place for place in left[:most] if counts[place] >= _SHORTEST * longest]
        found.append(batch)
        left = left[len(batch) :]
    return found


@dataclass(eq=False)
class _Question:
    """A call of a backend's function, and its answer."""

    number: int  # of the text
    backend: Backend
    name: str
    arguments: tuple[Any, ...]
    is_answered: threading.Event = field(default_factory=threading.Event)
    answer: Any = None
    failed: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        self.failed = error
        self.is_answered.set()


class _Member:
    """The backend of one of several texts, for which the caller's thread answers."""

    def __init__(self, number: int, backend: Backend, together: Together) -> None:
        self._number, self._backend, self._together = number, backend, together

    def __getattr__(self, name: str) -> Any:
        if name == "info":
            return self._together.ask(self._number, self._backend, name)
        if name in _ASKED:
            return lambda *arguments: self._together.ask(self._number, self._backend, name, *arguments)
        return getattr(self._together.first if name in _SAID_ONCE else self._backend, name)


class Together:
    """Explanations of several texts, each on its thread."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        self.first = backends[0]
        self._backends = backends
        self._changed = threading.Condition()
        self._questions: list[_Question] = []
        self._at_work = len(backends)
        self._is_over = False
        self._infos: list[tuple[dict[str, Any], Any]] = []

    def explain(self, check: str) -> list[Any]:
        """What the library makes of each text, or an exception."""

        def begun(number: int, facts: dict[str, Any]) -> Any:
            backend = self._backends[number].given(facts)
            return _core.explain_model(_Member(number, backend, self), backend.asked, check, self._tell)

        def work(number: int) -> None:
            backend = self._backends[number]
            try:
                made[number] = begun_again(backend.model, backend.asked, partial(begun, number))
            except BaseException as error:
                made[number] = error
            finally:
                with self._changed:
                    self._at_work -= 1
                    self._changed.notify()

        made: list[Any] = [None] * self._at_work
        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(self._at_work)]
        try:
            for thread in threads:
                thread.start()
            self._answer_all()
        finally:
            with self._changed:
                self._is_over = True
            for question in self._questions:
                question.fail(Apart())
            for thread in threads:
                thread.join()
        return made

    def _tell(self, _: int, __: int) -> None:
        """The library calls this while it computes."""
        if self._is_over:
            raise Apart

    def ask(self, number: int, backend: Backend, name: str, *arguments: Any) -> Any:
        question = _Question(number, backend, name, arguments)
        with self._changed:
            if self._is_over:
                raise Apart
            self._questions.append(question)
            self._changed.notify()
        question.is_answered.wait()
        if question.failed is not None:
            raise question.failed
        return question.answer

    def _answer_all(self) -> None:
        def is_time() -> bool:
            return len(self._questions) >= self._at_work or any(one.name not in _OF_EACH for one in self._questions)

        while True:
            with self._changed:
                self._changed.wait_for(is_time)
                if not self._at_work:
                    return
                now = [one for one in self._questions if one.name not in _OF_EACH] or list(self._questions)
            for group in _groups(now):
                self._answer(group)
                with self._changed:
                    self._questions = [one for one in self._questions if one not in group]
                for one in group:
                    one.is_answered.set()

    def _answer(self, group: list[_Question]) -> None:
        try:
            if len(group) == 1:
                group[0].answer = self._answer_of(group[0])
            else:
                _answer_each(group)
        except Exception as error:
            for one in group:
                one.failed = error if len(group) == 1 else Apart()

    def _answer_of(self, question: _Question) -> Any:
        backend, name = question.backend, question.name
        if name != "info":
            return getattr(backend, name)(*question.arguments)
        known = next((info for facts, info in self._infos if facts == backend.facts), None)
        if known is None:
            known = backend.info
            self._infos.append((backend.facts, known))
        backend.__dict__[name] = known
        return known


def _groups(questions: Sequence[_Question]) -> Iterator[list[_Question]]:
    """Those that one pass answers, in the order of their texts, which their threads do not change."""
    left = sorted(questions, key=lambda one: one.number)
    while left:
        kind = _kind(left[0])
        group = [one for one in left if one is left[0] or (kind is not None and _kind(one) == kind)]
        left = [one for one in left if one not in group]
        yield group


def _kind(question: _Question) -> tuple[Any, ...] | None:
    """What is the same for texts in one pass."""
    if question.name not in _OF_EACH:
        return None
    _, types, *others = question.arguments
    if question.name == "run":
        sink = others[0]
        how = None if sink is None else bool(sink.wants_terms)
    else:
        _, sink, how = others
    return question.name, how, any(types), question.backend.facts


def _answer_each(group: list[_Question]) -> None:
    leader = group[0].backend
    is_run = group[0].name == "run"
    texts = []
    for one in group:
        ids, types, *others = one.arguments
        if is_run:
            texts.append(Asked(ids, types, others[0], positions=others[1], is_one=False))
        else:
            texts.append(Asked(ids, types, others[1], target=others[0], is_one=False))
    if is_run:
        for one, answer in zip(group, leader.run_each(texts), strict=True):
            one.answer = answer
    else:
        leader.attention_gradients_of_each(texts, group[0].arguments[4])
    for one, text in zip(group, texts, strict=True):
        if text.failed is not None:  # other facts are found alike for a text alone
            one.failed = text.failed if isinstance(text.failed, OtherFacts) else Apart()


def explained_together(backends: Sequence[Backend], check: str) -> list[Any]:
    """What the library makes of each text, or an exception if the text is to be explained alone."""
    found: list[Any] = [Apart()] * len(backends)
    if not can_be_together(backends):
        return found
    for batch in batches(backends):
        if len(batch) < 2:
            continue
        together = Together([backends[place] for place in batch])
        for place, made in zip(batch, together.explain(check), strict=True):
            found[place] = made
    return found
