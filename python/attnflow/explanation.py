"""A model and a text in, a report out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap
from typing import Any, Unpack, overload

from attnflow import _core
from attnflow.backend import Backend, OwnHead, begun_again, layer_count
from attnflow.capture import explained
from attnflow.errors import Error
from attnflow.hints import TextOptions, counted, describes_options
from attnflow.inputs import Given, given_once, is_whole
from attnflow.joint import is_encoder_decoder
from attnflow.model_inputs import check_ids, encoded
from attnflow.pictures import explain_picture, takes_pictures
from attnflow.progress import progress_bar
from attnflow.report import Report
from attnflow.text import Encoded, encode_target, head_of, require_words
from attnflow.together import explained_together
from attnflow.wrapped import pooling_of


@overload
def explain(
    model: Any,
    tokenizer: Any,
    text: str | tuple[str, str],
    *,
    target_text: str | None = None,
    check: bool | None = None,
    head: Callable[[Any], Any] | None = None,
    labels: Sequence[str] = (),
    **options: Unpack[TextOptions],
) -> Report: ...
@overload
def explain(
    model: Any,
    tokenizer: Any,
    text: Sequence[str | tuple[str, str]],
    *,
    target_text: Sequence[str] | None = None,
    check: bool | None = None,
    head: Callable[[Any], Any] | None = None,
    labels: Sequence[str] = (),
    **options: Unpack[TextOptions],
) -> list[Report]: ...
@overload
def explain(
    model: Any,
    tokenizer: Any,
    text: Any = None,
    *,
    inputs: Any = None,
    tokens: Sequence[str] | Sequence[Sequence[str]] | None = None,
    target_text: str | Sequence[str] | None = None,
    check: bool | None = None,
    head: Callable[[Any], Any] | None = None,
    labels: Sequence[str] = (),
    **options: Unpack[TextOptions],
) -> Any: ...
@describes_options("explain")
def explain(
    model: Any,
    tokenizer: Any,
    text: Any = None,
    *,
    inputs: Any = None,
    tokens: Sequence[str] | Sequence[Sequence[str]] | None = None,
    target_text: str | Sequence[str] | None = None,
    check: bool | None = None,
    head: Callable[[Any], Any] | None = None,
    labels: Sequence[str] = (),
    **options: Unpack[TextOptions],
) -> Any:
    """What each output of a loaded Transformers model depends on in a text, as a report; for several texts, a report
    each.

    The model may use any kernel (SDPA, flash); it is not reloaded. Several texts run in padded batches, if the model
    gives the same for them.
    text: a text; a tuple of two texts, which is a pair; or token ids as the tokenizer returns them (its whole output,
        whose attention_mask marks padding, or ids alone). A list of these, or a batch of ids, gives a list of reports.
    inputs: instead of text, what a tokenizer or processor returned: a BatchEncoding, or a dict of tensors.
    tokens: names for the tokens of inputs, without padding; a list for each of several. None: what they decode to.
    target_text: for an encoder-decoder, the decoder's text after its first tokens ("": only those). Tokens of both
        texts are then one graph (see `notes`), whose last token is the output token unless `output_token` says
        otherwise.
    head, labels: a classifier of your own: a function from the model's output to logits [text, class], and its classes'
        names. With it the model may have no head, or another one.
    check: whether to replace each token in turn and compare the maps with that (`Report.check`), if a prediction is
        made at the output token. None: only if that takes a fraction of a second, and not with only_output_token.
    """
    if head is not None and not callable(head):
        raise Error(f"head: expected a function from the model's output to logits, found {type(head).__name__}")
    own = None if head is None else OwnHead(head, tuple(map(str, labels)))
    if check is not None and not isinstance(check, bool):
        raise Error(f"check: expected True, False or None, found {check!r}")
    pooling = pooling_of(model)
    model = explained(model)
    if takes_pictures(model):
        for name, value in (("target_text", target_text), ("inputs", inputs), ("tokens", tokens)):
            if value is not None:
                raise Error(f"expected no {name} for a picture, found {type(value).__name__}; pass the picture itself")
        return _explain_pictures(model, tokenizer, text, check, dict(options))
    check_tokenizer(tokenizer)
    given, is_one = given_once(text, inputs, tokens, tokenizer, model)
    targets: list[str | None] = [None] * len(given)
    if target_text is not None:
        if is_one and not isinstance(target_text, str):
            raise Error(f"expected target_text as a text, as text is one, found {type(target_text).__name__}")
        targets = [target_text] if isinstance(target_text, str) else list(target_text)
        listed = is_one or not isinstance(target_text, str)
        if not listed or len(targets) != len(given) or not all(isinstance(one, str) for one in targets):
            raise Error(f"expected target_text as a list of {len(given)} texts, one for each text")
    reports = []
    texts = zip(given, targets, strict=True)
    for number, made in enumerate(explained_each(model, tokenizer, texts, check, options, own, pooling)):
        with _of_several("text", None if is_one else number):
            reports.append(_report(made))
    return reports[0] if is_one else reports


def check_tokenizer(tokenizer: Any) -> None:
    if not callable(tokenizer):
        raise Error(
            f"tokenizer: expected the model's tokenizer (AutoTokenizer.from_pretrained(name)), found {type(tokenizer).__name__}"
        )


def _explain_pictures(model: Any, processor: Any, pictures: Any, check: bool | None, asked: dict[str, Any]) -> Any:
    asked = counted(_by_number(asked, ""), layer_count(model))
    _core.check_model_options(asked)
    is_one = not isinstance(pictures, list | tuple)
    reports = []
    for number, picture in enumerate([pictures] if is_one else pictures):
        with _of_several("picture", None if is_one else number):
            reports.append(explain_picture(model, processor, picture, _when(check), asked))
    return reports[0] if is_one else reports


@contextmanager
def _of_several(name: str, number: int | None) -> Iterator[None]:
    """Errors say which of several inputs they are about."""
    try:
        yield
    except Error as error:
        if number is None or str(error).startswith(f"{name}["):
            raise
        raise Error(f"{name}[{number}]: {error}", kind=error.kind) from error


def _when(check: bool | None) -> str:
    return {None: "auto", True: "always", False: "never"}[check]


def check_target(model: Any, given: bool) -> None:
    """Refuses an encoder-decoder without a target, and other models with one."""
    is_joint = is_encoder_decoder(model)
    if is_joint == given:
        return
    raise Error(
        'expected target_text, the text that the decoder is given ("": its first tokens alone), found none'
        if is_joint
        else f"expected no target_text, which is for encoder-decoders, found one for {type(model).__name__}"
    )


def _parts(model: Any, tokenizer: Any, given: Given, target_text: str | None) -> list[Encoded]:
    """The tokens of the input and, for an encoder-decoder, those that its decoder is given."""
    parts = [encoded(model, tokenizer, given)]
    if target_text is not None and given.target is not None:
        raise Error("expected target_text or decoder_input_ids, found both")
    if target_text is not None:
        parts.append(encode_target(model, tokenizer, target_text))
        check_ids(model, parts[1].ids)
    elif given.target is not None:
        parts.append(encoded(model, tokenizer, Given(ids=given.target)))
    return parts


def _without_position(asked: dict[str, Any]) -> dict[str, Any]:
    """A position counted from the end is resolved once the tokens are known."""
    output: Any = asked.get("output_token")
    return asked | {"output_token": None} if is_whole(output) and int(output) < 0 else asked


def _by_number(asked: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Numbers for target and against, classes or tokens, get the prefix; also those in a list."""

    def named(value: Any) -> Any:
        if is_whole(value):
            return f"{prefix}{int(value)}"
        return [named(one) for one in value] if isinstance(value, list | tuple) else value

    return asked | {name: named(asked[name]) for name in ("target", "against") if name in asked}


# Limits for what is explained before the first report is given: texts, and numbers in their matrices.
_WINDOW = 128
_VALUES = 2**23


def explained_each(
    model: Any,
    tokenizer: Any,
    texts: Iterable[tuple[Given, str | None]],
    check: bool | None,
    options: TextOptions,
    own: OwnHead | None = None,
    pooling: str = "mean",
) -> Iterator[Report | Error]:
    """The report of each text with its target_text, or what is wrong with it; other exceptions are raised."""

    def backend_of(given: Given, target_text: str | None) -> Backend | Error:
        try:
            return _backend_of(model, tokenizer, given, target_text, check, options, own, pooling)
        except Error as error:
            return error

    for window in _windows(starmap(backend_of, texts), layer_count(model)):
        together = explained_together([one for one in window if isinstance(one, Backend)], _when(check))
        for one in window:
            if isinstance(one, Error):
                yield one
                continue
            made = together.pop(0)
            try:
                yield Report(_explained(one, _when(check)) if isinstance(made, Exception) else made)
            except Error as error:
                yield error


def _windows(texts: Iterable[Backend | Error], layers: int) -> Iterator[list[Backend | Error]]:
    """Texts that are explained before the first report of them is given, so that those of similar length are batches."""
    window: list[Backend | Error] = []
    values = 0
    for one in texts:
        window.append(one)
        values += 0 if isinstance(one, Error) else layers * len(one.ids) ** 2
        if len(window) == _WINDOW or values > _VALUES:
            yield window
            window, values = [], 0
    if window:
        yield window


def _report(made: Report | Error) -> Report:
    if isinstance(made, Error):
        raise made
    return made


def _backend_of(
    model: Any,
    tokenizer: Any,
    given: Given,
    target_text: str | None,
    check: bool | None,
    options: TextOptions,
    own: OwnHead | None,
    pooling: str,
) -> Backend:
    """The model with a text, and with what is asked of it."""
    of_tokens = own is None and head_of(model) in ("masked", "next")
    asked = _by_number(dict(options), "id:" if of_tokens else "")
    _core.check_model_options(_without_position(counted(asked, layer_count(model))))
    if asked.get("words"):
        require_words(tokenizer)
    is_joint = is_encoder_decoder(model)
    if is_joint and asked.get("words") and given.pair is not None:
        raise Error("words: expected one text with target_text, found a pair as well")
    check_target(model, target_text is not None or given.target is not None)
    parts = _parts(model, tokenizer, given, target_text)
    asked = counted(asked, layer_count(model), sum(len(part.ids) for part in parts))
    return Backend(model, tokenizer, parts, asked, {}, own, pooling)


def _explained(backend: Backend, check: str) -> _core.Report:
    def explain(facts: dict[str, Any]) -> _core.Report:
        with progress_bar() as progress:
            return _core.explain_model(backend.given(facts), backend.asked, check, progress)

    report: _core.Report = begun_again(backend.model, backend.asked, explain)
    return report
