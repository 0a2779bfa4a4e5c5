"""Which map finds the word that decides a prediction, in a loaded model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Unpack

from attnflow import _core
from attnflow.backend import Backend, begun_again, layer_count
from attnflow.capture import explained
from attnflow.errors import Error
from attnflow.explanation import check_tokenizer
from attnflow.hints import EvaluationOptions, counted, describes_options
from attnflow.inputs import Given
from attnflow.model_inputs import encoded
from attnflow.progress import progress_bar
from attnflow.report import Tabular

# Text, right word, wrong word, evidence, swapped word.
_Sample = tuple[str, str | None, str | None, str, str]

_COLUMNS = ("text", "evidence", "good", "bad", "swap")


class Evaluation(Tabular):
    """How high each method ranks the words that decide: the mean reciprocal rank, 1 where they always come first."""

    def __init__(self, core: _core.EvidenceReport) -> None:
        self._core = core
        self.document: dict[str, Any] = json.loads(core.json())

    @property
    def cells(self) -> list[dict[str, Any]]:
        """A method over a mixing at a layer ("mean": over all), with `mean`, its interval `low` to `high`, and `count`;
        without a mixing, a score, or "chance".
        """
        cells: list[dict[str, Any]] = self.document["cells"]
        return cells

    def columns(self) -> dict[str, Any]:
        names = ("method", "mixing", "variant", "layer", "mean", "low", "high", "count")
        columns: dict[str, Any] = {name: [cell.get(name) for cell in self.cells] for name in names}
        # Texts, as one of the layers is "mean".
        columns["layer"] = [None if layer is None else str(layer) for layer in columns["layer"]]
        return columns

    def to_csv(self) -> str:
        """A row for each cell."""
        return self._core.csv()

    def to_markdown(self) -> str:
        """The means over layers and of the last layer, as a document."""
        return self._core.markdown()

    def __repr__(self) -> str:
        samples = self.document["samples"]
        best = max((cell for cell in self.cells if cell["method"] != "chance"), key=lambda cell: cell["mean"])
        name = best["method"] + (f" over {best['mixing']}" if best["mixing"] else "")
        return f"<attnflow.Evaluation of {samples['scored']} texts; highest: {name}, {best['mean']:.2f}>"

    def __str__(self) -> str:
        return self._core.table(100)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


@describes_options("evaluate")
def evaluate(
    model: Any,
    tokenizer: Any,
    samples: str | PathLike[str] | Iterable[Mapping[str, Any]],
    *,
    mixing: str | Sequence[str] = "auto",
    scores: str | Sequence[str] = ("check",),
    flow_layers: int | Sequence[int] | None = None,
    begin: str = "",
    limit: int = 200,
    seed: int = 1,
    **options: Unpack[EvaluationOptions],
) -> Evaluation:
    """How high each map ranks the word that decides, in texts where that word is known, by a loaded Transformers model:
    `attnflow evaluate evidence`.

    samples: a mapping for each text, or the path of a CSV file with these columns. `text`: what comes before the word
        that a decoder predicts, a text with one mask, or what a classifier is given. `evidence`: the word of the text
        that decides. Optional: `good`, the word or class that is explained (else what the model predicts), `bad`, what
        it is compared with, and `swap`, a word that turns the answer in the evidence's place; texts where it does not
        are left out.
    mixing: one or several, "all", or "auto": attention and, where the model supports it, relevance.
    scores: other rankings to compare with: check, blank-out, gradient, gradient-x-input, attnlrp, ...
    flow_layers: the layers that flow starts from; None: a quarter, half, three quarters of the depth, and the last.
    begin: a text before every text, such as the token that begins one.
    limit: at most so many texts, drawn by the seed; 0: all.
    """
    model = explained(model)
    check_tokenizer(tokenizer)
    given = _read(samples)
    layers = layer_count(model)
    asked = counted(dict(options) | {"flow_layers": flow_layers}, layers)
    starts = asked.pop("flow_layers")
    wanted = _core.EvaluationRequest(
        mixings=_names(mixing),
        scores=_names(scores),
        flow_layers=[] if starts is None else [starts] if isinstance(starts, int) else list(starts),
        begin=begin,
        samples=limit,
        seed=seed,
    )
    first = Backend(model, tokenizer, [encoded(model, tokenizer, Given(begin + given[0][0]))], asked, {})

    def run(facts: dict[str, Any]) -> _core.EvidenceReport:
        with progress_bar() as progress:
            return _core.evaluate_model(first.given(facts), given, wanted, asked, progress)

    return Evaluation(begun_again(model, asked, run))


def _names(given: str | Sequence[str]) -> list[str]:
    names = given.split(",") if isinstance(given, str) else given
    return [name.strip() for name in names if name.strip()]


def _read(samples: Any) -> list[_Sample]:
    if isinstance(samples, str | PathLike):
        read: list[_Sample] = _core.read_evidence(fspath(samples))
        return read
    if hasattr(samples, "to_dict"):
        samples = samples.to_dict("records")
    if not isinstance(samples, Iterable) or isinstance(samples, Mapping):
        raise Error(
            f"samples: expected a list of mappings with text and evidence, or the path of a CSV file, found "
            f"{type(samples).__name__}"
        )
    found = [_sample(number, one) for number, one in enumerate(samples)]
    if not found:
        raise Error("samples: expected at least one text, found none")
    return found


def _sample(number: int, given: Any) -> _Sample:
    if not isinstance(given, Mapping):
        raise Error(
            f"samples[{number}]: expected a mapping with text and evidence, found {type(given).__name__}; write "
            '{"text": "The keys to the cabinet", "evidence": "keys"}'
        )
    for name in ("text", "evidence"):
        if not isinstance(given.get(name), str):
            raise Error(f"samples[{number}]: expected {name} as a text, found {given.get(name)!r}")
    unknown = [name for name in given if name not in _COLUMNS]
    if unknown:
        raise Error(f"samples[{number}]: expected {', '.join(_COLUMNS)}, found {unknown[0]!r}")
    good, bad, swap = (_word(given.get(name)) for name in ("good", "bad", "swap"))
    return given["text"], good, bad, given["evidence"], swap or ""


def _word(given: Any) -> str | None:
    """A table's empty cell is not a number."""
    return None if given is None or given != given else str(given)
