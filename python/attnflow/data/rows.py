"""A report's row in a corpus, and how a row of text becomes one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack

from attnflow import _core
from attnflow.capture import explained
from attnflow.errors import Error, bad_input
from attnflow.explanation import check_target, check_tokenizer, explain, explained_each
from attnflow.hints import TextOptions
from attnflow.inputs import Given
from attnflow.pictures import takes_pictures
from attnflow.report import Report
from attnflow.text import require_words, unicode_text
from attnflow.wrapped import pooling_of

if TYPE_CHECKING:
    import pyarrow


def schema() -> pyarrow.Schema:
    """The columns of a corpus.

    index: the row's number in the dataset.
    text, target_text: the texts as they were read.
    tokens, special: as in a report.
    output_token, layer: the output token and the layer of the values.
    raw, rollout, flow: a value for each token (missing if not requested).
    prediction, probability: the model's most probable prediction, if it has a head.
    notes: as in a report.
    error: the reason why the row could not be explained; its other columns are then missing.
    """
    import pyarrow as pa

    values = pa.list_(pa.float64())
    return pa.schema(
        [
            pa.field("index", pa.int64(), nullable=False),
            ("text", pa.string()),
            ("target_text", pa.string()),
            ("tokens", pa.list_(pa.string())),
            ("special", pa.list_(pa.bool_())),
            ("output_token", pa.int64()),
            ("layer", pa.int64()),
            *((method, values) for method in ("raw", "rollout", "flow")),
            ("prediction", pa.string()),
            ("probability", pa.float64()),
            ("notes", pa.list_(pa.string())),
            ("error", pa.string()),
        ]
    )


def row_of(report: Report) -> dict[str, Any]:
    """The last layer's row of the report's output token, and the model's prediction."""
    found: dict[str, Any] = {
        "tokens": report.tokens,
        "special": report.special,
        "output_token": report.output_token,
        "layer": int(report.layers[-1]),
        "notes": report.notes,
    }
    for method in report.methods:
        row = report._axes(method)[1].tolist().index(report.output_token)
        found[method] = getattr(report, method)[-1, row].copy()
    choices = report.predictions[0].choices if report.predictions else []
    if choices:  # an embedding has none
        found["prediction"], found["probability"] = choices[0]
    return found


def row_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of every row; refuses wrong ones."""
    asked: dict[str, Any] = {"method": ["raw", "rollout"], **options}
    if asked.get("keep_attention"):
        raise Error("keep_attention: expected False for a corpus, whose rows hold no attention, found True")
    _core.check_model_options({name: value for name, value in asked.items() if name != "layers"})
    methods = asked["method"]
    for method in methods.split(",") if isinstance(methods, str) else methods:
        if method.strip() not in ("raw", "rollout", "flow"):
            raise Error(f"method: expected raw, rollout or flow for a corpus, found {method}")
    return asked


class Explainer:
    """A model that explains rows. It takes the options of attnflow.explain(); flow, the slowest method, must be requested."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        column: str = "text",
        target_column: str | None = None,
        **options: Unpack[TextOptions],
    ) -> None:
        self._pooling = pooling_of(model)
        self.model = model = explained(model)
        self.tokenizer = tokenizer
        self.column = column
        self.target_column = target_column
        # Faults of every row end the work before it begins.
        self.options = row_options(options)
        check_target(model, target_column is not None)
        if self.options.get("words"):
            require_words(tokenizer)

    def row(self, index: int, given: Any) -> dict[str, Any]:
        """One of rows()."""
        return next(self.rows([(index, given)]))

    def rows(self, numbered: Iterable[tuple[int, Any]]) -> Iterator[dict[str, Any]]:
        """Explains texts, or mappings from columns to values, each with its number; gives rows of the schema. A fault
        of a row is its `error`; errors in the model, the machine or the options are raised.
        """
        read: deque[dict[str, Any]] = deque()  # rows without what is explained of them

        def texts() -> Iterator[tuple[Given, str | None]]:
            for index, given in numbered:
                read.append(self._read(index, given))
                if "error" not in read[-1]:
                    yield Given(read[-1]["text"]), read[-1].get("target_text")

        for made in self._explained(texts()):
            while "error" in read[0]:
                yield read.popleft()
            row = read.popleft()
            if isinstance(made, Error) and not _is_of_row(made):
                raise made
            yield row | ({"error": str(made)} if isinstance(made, Error) else row_of(made))
        yield from read

    def _explained(self, texts: Iterator[tuple[Given, str | None]]) -> Iterator[Report | Error]:
        if not takes_pictures(self.model):
            check_tokenizer(self.tokenizer)
            options: Any = self.options
            yield from explained_each(self.model, self.tokenizer, texts, False, options, pooling=self._pooling)
            return
        for path, _ in texts:
            try:
                yield explain(self.model, self.tokenizer, path.text, check=False, **self.options)
            except Error as error:
                yield error

    def _read(self, index: int, given: Any) -> dict[str, Any]:
        """A row's texts, or what is wrong with them."""
        found: dict[str, Any] = {"index": index}
        try:
            found["text"] = self._text(given, self.column)
            if self.target_column is not None:
                found["target_text"] = self._text(given, self.target_column)
        except Error as error:
            if not _is_of_row(error):
                raise
            found["error"] = str(error)
        return found

    def texts_of(self, given: Any) -> list[str | None]:
        """The text of a row and its target_text, as they are kept."""
        found: list[str | None] = []
        with suppress(Error):
            found.append(self._text(given, self.column))
            if self.target_column is not None:
                found.append(self._text(given, self.target_column))
        return [*found, None, None][:2]

    def _text(self, given: Any, column: str) -> str:
        if isinstance(given, str) and column == self.column:
            return unicode_text("text", given, "bad_input")
        if not isinstance(given, Mapping):
            raise bad_input(f"expected a text or a row with the column {column!r}, found {type(given).__name__}")
        if column not in given:
            raise bad_input(f"expected a column {column!r}, found {', '.join(map(repr, given)) or 'none'}")
        value = given[column]
        if not isinstance(value, str):
            raise bad_input(f"expected a text in {column!r}, found {type(value).__name__}")
        return unicode_text(column, value, "bad_input")


# Options that name places or words, which differ between texts.
_OF_TEXT = ("output_token", "mask_columns", "referents")


def _is_of_row(error: Error) -> bool:
    return error.kind in ("bad_input", "input_too_long") or (error.kind == "usage" and str(error).startswith(_OF_TEXT))


def table_of(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    """Rows as a table of the schema; missing values are null."""
    import pyarrow as pa

    made = schema()
    columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in made]
    return pa.Table.from_arrays(columns, schema=made)
