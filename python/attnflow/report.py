"""The result of an analysis: arrays, files, pictures, and the output of a notebook's cell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, overload
from uuid import uuid4

from attnflow import _core
from attnflow.errors import Error
from attnflow.hints import unknown_option

if TYPE_CHECKING:
    import numpy as np
    import pandas
    import pyarrow
    from numpy.typing import NDArray

Path = str | PathLike[str]


class Figure(TypedDict, total=False):
    """Options of a figure; `view` is `--view` of `attnflow explain`: without it, the answer where a prediction was
    explained, otherwise the overview."""

    view: Literal["answer", "overview", "graph", "heatmap", "strip", "matrix", "referents"]
    output_token: int | None
    layers: Sequence[int]  # as their mean; none: the last
    method: str | Sequence[str]
    width: float | str  # in pixels of 1/96 inch, or a text such as "3.3in" or "84mm": as wide on paper
    font_size: float  # of labels, in points; 7.5 by default
    notes: bool  # False leaves out title, notes and explanations, which a paper's caption has


class Prediction(NamedTuple):
    """A prediction of the model's head."""

    kind: str  # classification, masked (the token at `position`), next (the one after it)
    position: int | None
    choices: list[tuple[str, float]]  # label and probability, the most probable first


class MapCheck(NamedTuple):
    """The check of one method's map, from its last layer."""

    rank_correlation: float | None  # Spearman's, with the drops; None where either orders nothing
    compared: int  # tokens
    first_token: int  # which the method ranks first, of those compared
    decisive_token: int | None  # the one with the largest drop
    level: str  # strong, weak, none, or unknown
    top: str  # whether the top token is right, as a sentence; where the map ranks nothing, why it is not judged
    order: str  # whether the order is; empty where the map ranks nothing


class Replacement(NamedTuple):
    """A token that stood in for another."""

    text: str
    fit: float  # its weight in the drop: how much of the prediction's kind it keeps
    value: float  # the quantity with it


class CheckedToken(NamedTuple):
    """A token that was replaced by others."""

    drop: float  # by which the quantity falls without it, on average; above 0 if it speaks for the prediction
    spread: float  # standard error of that mean
    replacements: list[Replacement]  # none where it was blanked


class Check(NamedTuple):
    """What the prediction depends on, found by replacing its tokens one by one, and what each map says of that."""

    quantity: str  # "logit difference"
    value: float  # the quantity as the text stands
    blank: str  # what stood in for tokens; empty: others
    reliability: float | None  # of the drops, from 0 to 1; None for blanks and for fewer than three tokens
    tokens: dict[int, CheckedToken]  # by position, those that were checked
    maps: dict[str, MapCheck]  # by method
    left_out: int  # tokens that were not checked, to save time
    irreplaceable: list[int]  # tokens that nothing fits in place of, by position


class Verdict(NamedTuple):
    """What the check says of the best map: two answers, or one if even that map ranks nothing and is not judged."""

    question: str  # top: is the top token right? order: is the order of the others?
    level: str  # strong, weak, none, or unknown
    text: str  # the answer, as a sentence


class Answer(NamedTuple):
    """What a report says first: what was predicted rather than what, and by which map to read the text."""

    headline: str
    method: str | None  # of the map that the check agrees with best; None if the report holds no values
    map: str  # that map in words: "flow over relevance"
    verdicts: list[Verdict]  # none if the map was not checked


class Target(NamedTuple):
    """The prediction that a report explains."""

    kind: str  # class, masked (the token at `position`), next (the one after it)
    label: str
    position: int | None
    against: str | None  # the others, in words; "rest": all others; None: nothing
    value: float  # the logit, less the mean of the others


def _of_core(name: str, meaning: str, method: str | None = None) -> Any:
    """A property of the core's report; one of a method exists if that was requested."""

    def read(report: Report) -> Any:
        value = getattr(report._core, name)
        if method is not None and value is None:
            raise Error(
                f"expected values of {method}, found only {', '.join([*report.methods, *report.scores])}; pass "
                f"method={[*report.methods, method]!r}"
            )
        return value

    return property(read, doc=meaning)


class Tabular:
    """An object whose columns() can be turned into tables of other packages."""

    def columns(self) -> dict[str, Any]:
        """Columns of equal length."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """columns() as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.columns())

    def to_arrow(self) -> pyarrow.Table:
        """columns() as an Arrow table, for Parquet and Polars."""
        import pyarrow

        return pyarrow.table(self.columns())


class Report(Tabular):
    """Raw attention, rollout and flow between the tokens of one input: those that were requested.

    Arrays are [layer, output_token, input_token]: `layers` names the first dimension, `output_tokens` the second
    (`flow_layers` and `flow_output_tokens` for flow) and `tokens` the last. They share the report's memory, read-only.
    """

    def __init__(self, core: _core.Report) -> None:
        self._core = core

    tokens: list[str] = _of_core("tokens", "The input's tokens; empty texts where none were given.")
    labels: list[str] = _of_core(
        "labels",
        "The tokens as people read them: without the tokenizer's marks, patches as 'row 3, column 5' (counted from 1; "
        "`tokens` and options count patches from 0).",
    )
    text: str = _of_core("text", "The text that was explained; empty without one.")
    special: list[bool] = _of_core(
        "special",
        "Whether each token is special ([CLS], padding, ...): special tokens are computed with but not ranked.",
    )
    layers: NDArray[np.int64] = _of_core("layers", "The layers of the values, counted from 1.")
    causal: bool = _of_core("causal", "Whether no token sees a later one, as in decoders.")
    output_token: int = _of_core("output_token", "The position of the output token that is shown first.")
    output_tokens: NDArray[np.int64] = _of_core("output_tokens", "The positions of the rows of raw and rollout.")
    flow_output_tokens: NDArray[np.int64] = _of_core(
        "flow_output_tokens",
        "The positions of the rows of flow: all up to 128 tokens, else `output_token` unless 'all' was asked for.",
    )
    flow_layers: NDArray[np.int64] = _of_core(
        "flow_layers", "The layers of flow: `layers`, or for a generation only those that were requested."
    )
    generated_text: str | None = _of_core(
        "generated_text", "The text that generate() added to the prompt; `tokens` are the prompt's tokens."
    )
    generated_tokens: list[str] | None = _of_core(
        "generated_tokens",
        "The tokens of the generated text. Row t of the arrays belongs to the position that chose token t.",
    )
    notes: list[str] = _of_core("notes", "Notes on how to read the values, as sentences.")
    raw: NDArray[np.float64] = _of_core("raw", "The attention of each layer, heads fused, without the residual.", "raw")
    rollout: NDArray[np.float64] = _of_core(
        "rollout", "Attention rollout down to the input (or to start_layer).", "rollout"
    )
    flow: NDArray[np.float64] = _of_core("flow", "Attention flow: the certified lower end of each enclosure.", "flow")
    flow_gap: NDArray[np.float64] = _of_core(
        "flow_gap", "How far the upper end of each enclosure lies above `flow`.", "flow"
    )
    flow_degenerate: NDArray[np.uint8] = _of_core(
        "flow_degenerate",
        "Where flow is set by the first or last layer alone: 0 no, 1 by the first layer, 2 by the last.",
        "flow",
    )

    def _document(self) -> dict[str, Any]:
        """The report document (docs/report-format.md) without its arrays."""
        found: dict[str, Any] = json.loads(self._core.document())
        return found

    @property
    def attention(self) -> NDArray[np.float32]:
        """[layer, head, query, key], with keep_attention=True."""
        found = self._core.attention
        if found is None:
            raise Error("expected attention that was kept, found none; pass keep_attention=True")
        return found

    @property
    def predictions(self) -> list[Prediction]:
        """The model's predictions from the same run."""
        return [
            Prediction(
                one["kind"],
                one.get("position"),
                [(choice["label"], choice["probability"]) for choice in one["choices"]],
            )
            for one in json.loads(self._core.predictions_json())
        ]

    @property
    def target(self) -> Target | None:
        """The prediction that is explained; None if the edges do not explain a prediction."""
        found = self._core.target
        return None if found is None else Target(*found)

    @property
    def answer(self) -> Answer:
        """What the report says first, on every surface."""
        found = self._document()["answer"]
        verdicts = [Verdict(**one) for one in found["verdicts"]]
        return Answer(found["headline"], found.get("method"), found.get("map", ""), verdicts)

    @property
    def check(self) -> Check | None:
        """Whether to believe the maps: what the prediction depends on; None if not checked."""
        known = self._document().get("check")
        if known is None:
            return None
        tokens = {
            one["token"]: CheckedToken(
                one["drop"], one["spread"], [Replacement(**each) for each in one["replacements"]]
            )
            for one in known["tokens"]
        }
        maps = {
            one["method"]: MapCheck(
                one.get("rank_correlation"),
                one["compared"],
                one["first_token"],
                one.get("decisive_token"),
                one["level"],
                one["effect"],
                one["order"],
            )
            for one in known["maps"]
        }
        return Check(
            known["quantity"],
            known["value"],
            known["blank"],
            known.get("reliability"),
            tokens,
            maps,
            known.get("left_out", 0),
            known.get("irreplaceable", []),
        )

    @property
    def scores(self) -> dict[str, NDArray[np.float64]]:
        """The scores of methods without layers (blank-out, attnlrp, ...), by method: [prediction, input_token].

        Signed, in units of the target's value; one prediction, or one for each generated token.
        """
        return dict(self._core.scores)

    def graph(self, layer: int) -> NDArray[np.float64]:
        """The matrix of a layer, from which rollout and flow are made: [output_token, input_token], of all tokens.

        layer: from 1, or -1 for the last. Absent from reports of one row, of arrays alone, and of generations.
        """
        matrices = self._core.graph
        if matrices is None:
            raise Error("expected a report with the matrices of its layers, found one of rows alone")
        count = len(matrices)
        if not hasattr(layer, "__index__"):
            raise Error(f"layer: expected a layer from 1 to {count}, or from -{count} to -1, found {layer!r}")
        if not 1 <= (layer + count + 1 if layer < 0 else layer) <= count:
            raise Error(f"layer: expected a layer from 1 to {count}, or from -{count} to -1, found {layer}")
        matrix: NDArray[np.float64] = matrices[layer if layer < 0 else layer - 1]
        return matrix

    def top(self, count: int = 5, method: str | None = None) -> list[tuple[int, str, float]]:
        """The input tokens that the output token depends on most: position, label and value, the largest first.

        method: by default that of `answer`: the one that the check agrees with best, or, without a check, flow over
            relevance and rollout over all else. Or another that the report holds. Values of layers are those of the
            last one; those of `scores` are signed: the largest argue for the prediction.
            Special tokens and zeros are not ranked.
        """
        import numpy as np

        known = [*(name for name in ("flow", "rollout", "raw") if name in self.methods), *self.scores]
        if method is None:
            method = self.answer.method or known[0]
        if method not in known:
            raise Error(f"method: expected one that the report holds ({', '.join(known)}), found {method!r}")
        if not hasattr(count, "__index__") or count < 0:
            raise Error(f"count: expected a whole number from 0, found {count!r}")
        if method in self.scores:
            row = self.scores[method][0]
        else:
            outputs = self._axes(method)[1].tolist()
            at = self.output_token if self.output_token in outputs else outputs[0]
            row = getattr(self, method)[-1, outputs.index(at)]
        ranked = [
            int(token) for token in np.argsort(-row, kind="stable") if row[token] != 0 and not self.special[token]
        ]
        labels = self.labels
        return [(token, labels[token], float(row[token])) for token in ranked[:count]]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the values were computed with, by name."""
        found: dict[str, Any] = self._document()["settings"]
        return found

    @property
    def methods(self) -> list[str]:
        """The methods that the report holds: raw, rollout, flow."""
        return [name for name in ("raw", "rollout", "flow") if getattr(self._core, name) is not None]

    def _axes(self, method: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The layers and the output tokens of a method's values."""
        return (self.flow_layers, self.flow_output_tokens) if method == "flow" else (self.layers, self.output_tokens)

    @classmethod
    def from_json(cls, document: str) -> Report:
        """The report of a document that to_json() or the program wrote."""
        return cls(_core.Report.from_json(document))

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Report.from_json, (self.to_json(),)

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: Path) -> None: ...
    def to_json(self, path: Path | None = None) -> str | None:
        """Writes the report document (docs/report-format.md) to a file, or returns it as a string."""
        return self._core.json(_name(path))

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: Path) -> None: ...
    def to_csv(self, path: Path | None = None) -> str | None:
        """Writes the table of `attnflow explain -o FILE.csv` to a file, or returns it as a string."""
        return self._core.csv(_name(path))

    @overload
    def to_html(self, path: None = None) -> str: ...
    @overload
    def to_html(self, path: Path) -> None: ...
    def to_html(self, path: Path | None = None) -> str | None:
        """Writes the interactive page, which needs no network, to a file, or returns it as a string."""
        return self._core.html(_name(path))

    def to_npz(self, path: Path) -> None:
        """Writes the arrays for numpy.load()."""
        self._core.write_npz(fspath(path))

    def to_safetensors(self, path: Path) -> None:
        """Writes the arrays as .safetensors."""
        self._core.write_safetensors(fspath(path))

    @overload
    def to_svg(self, path: None = None, **figure: Unpack[Figure]) -> str: ...
    @overload
    def to_svg(self, path: Path, **figure: Unpack[Figure]) -> None: ...
    def to_svg(self, path: Path | None = None, **figure: Unpack[Figure]) -> str | None:
        """Draws a figure for a paper, as the program does, into a file, or returns it as a string."""
        drawn: str | None = _drawn(self._core, "svg", path, figure)
        return drawn

    @overload
    def to_png(self, path: None = None, **figure: Unpack[Figure]) -> bytes: ...
    @overload
    def to_png(self, path: Path, **figure: Unpack[Figure]) -> None: ...
    def to_png(self, path: Path | None = None, **figure: Unpack[Figure]) -> bytes | None:
        """Draws the same figure as a PNG file, or returns its bytes."""
        drawn: bytes | None = _drawn(self._core, "png", path, figure)
        return drawn

    def to_pdf(self, path: Path, **figure: Unpack[Figure]) -> None:
        """Draws the same figure as a PDF file, for LaTeX."""
        _drawn(self._core, "pdf", path, figure)

    def columns(self) -> dict[str, Any]:
        """The values as columns of equal length, one row for each layer, output token and input token.

        The columns are layer, output_token, output_text (for a generation, the token chosen there), input_token,
        input_text, input_special, and one for each method; of methods without layers at the last layer, in the row of the
        output token. flow, flow_gap and flow_degenerate are missing (NaN, 255)
        where flow was not computed, as are other methods at layers that only flow has.
        """
        import numpy as np

        n = len(self.tokens)
        axes = [self._axes(method) for method in self.methods] or [(self.layers, self.flow_output_tokens)]
        layers, outputs = (reduce(np.union1d, axis) for axis in zip(*axes, strict=True))  # a generation's differ
        shape = (len(layers), len(outputs), n)
        texts = np.array(self.tokens, dtype=object)
        made = self.generated_tokens
        output_texts = texts[outputs] if made is None else np.array(made, dtype=object)[outputs - (n - 1)]

        def spread(values: Any, axis: int) -> Any:
            steps = [1, 1, 1]
            steps[axis] = -1
            return np.broadcast_to(np.reshape(values, steps), shape).reshape(-1)

        columns: dict[str, Any] = {
            "layer": spread(layers, 0),
            "output_token": spread(outputs, 1),
            "output_text": spread(output_texts, 1),
            "input_token": spread(np.arange(n), 2),
            "input_text": spread(texts, 2),
            "input_special": spread(self.special, 2),
        }
        absences = dict.fromkeys(("raw", "rollout", "flow", "flow_gap"), np.nan) | {"flow_degenerate": 255}
        for name, absent in absences.items():
            method = name.partition("_")[0]
            if method in self.methods:
                values = getattr(self, name)
                spaced = np.full(shape, absent, values.dtype)
                of_layers, of_outputs = self._axes(method)
                spaced[np.ix_(np.searchsorted(layers, of_layers), np.searchsorted(outputs, of_outputs))] = values
                columns[name] = spaced.reshape(-1)
        for name, scores in self.scores.items():  # of the last layer, and where the prediction is made
            spaced = np.full(shape, np.nan)
            rows = np.arange(len(outputs)) if made is not None else np.searchsorted(outputs, [self.output_token])
            if made is not None and len(scores) != len(outputs):
                rows = np.searchsorted(outputs, self.output_tokens)
            if len(rows) == len(scores) and rows.max(initial=-1) < len(outputs):
                spaced[-1, rows] = scores
            columns[name] = spaced.reshape(-1)
        return columns

    def __str__(self) -> str:
        return self._core.table(width=100, color=False)

    def __repr__(self) -> str:
        name = f"{self._core.name!r}, " if self._core.name else ""
        return (
            f"<attnflow.Report: {name}{len(self.tokens)} tokens, layers {self.settings['layers']}, "
            f"{', '.join(self.methods)}>"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For IPython: what the report is, and its answer."""
        printer.text(repr(self) if cycle else f"{self!r}\n{self._core.answer_lines()}")

    def _repr_markdown_(self) -> str:
        found: str = self._core.markdown()
        return found

    def _repr_html_(self) -> str:
        return self._core.notebook_cell(f"attnflow-{uuid4().hex}")


def _figure_options(figure: Figure) -> tuple[Any, Any]:
    """The module that draws, and its options."""
    try:
        from attnflow import _figures
    except ImportError as error:
        raise Error(
            f"this build of attnflow cannot draw pictures ({error}): pango was missing at build time, or is missing now. "
            "Install libpango1.0-dev (its name on Debian), then attnflow again; to_html() needs neither",
            kind="other",
        ) from error
    unknown = [name for name in figure if name not in Figure.__annotations__]
    if unknown:
        raise unknown_option(unknown[0], list(Figure.__annotations__))
    given = figure.get("method", ())
    width = figure.get("width", 900.0)
    try:
        options = _figures.Options(
            view=figure.get("view"),
            output_token=figure.get("output_token"),
            layers=list(figure.get("layers", ())),
            methods=given.split(",") if isinstance(given, str) else list(given),
            width=width if isinstance(width, str) else f"{float(width)!r}px",
            font_size=figure.get("font_size", 7.5),
            notes=figure.get("notes", True),
        )
    except TypeError as error:
        found = ", ".join(f"{name}={value!r}" for name, value in figure.items())
        raise Error(
            "expected view as a text, output_token as a position or None, layers as a list of numbers from 1, method as "
            "names, width as a number of pixels or a text such as 3.3in, font_size as a number and notes as True or False, "
            f"found {found}"
        ) from error
    return _figures, options


def _drawn(core: _core.Report, form: str, path: Path | None, figure: Figure) -> Any:
    """The picture, or None if it was written to a file."""
    figures, options = _figure_options(figure)
    if path is None:
        return getattr(figures, form)(core, options)
    name = fspath(path)
    if not name.lower().endswith(f".{form}"):
        raise Error(f"expected a file name ending in .{form}, found '{name}'")
    figures.write(core, name, options)
    return None


def _name(path: Path | None) -> str | None:
    return None if path is None else fspath(path)
