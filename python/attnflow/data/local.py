"""A corpus in one process, into Parquet files; interrupted work can be resumed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

from attnflow import _core
from attnflow.data.rows import Explainer, schema, table_of
from attnflow.errors import Error
from attnflow.hints import TextOptions, describes_options
from attnflow.model_inputs import model_source

if TYPE_CHECKING:
    import pyarrow

_SETTINGS = "settings.json"


@describes_options("explain")
def explain(
    dataset: Iterable[Any],
    model: Any,
    tokenizer: Any,
    folder: str | os.PathLike[str],
    *,
    column: str = "text",
    target_column: str | None = None,
    rows_per_file: int = 1000,
    worker: int = 0,
    workers: int = 1,
    **options: Unpack[TextOptions],
) -> int:
    """Explains every row of a dataset into a folder of Parquet files, and returns how many rows this call added.

    dataset: an iterable of texts or mappings, such as a list, a generator, or a Hugging Face dataset (streamed or not),
        in the same order every time.
    folder: receives one file for every `rows_per_file` rows, written under a temporary name and then renamed, so a file
        that exists is complete. A second call continues with the missing files; a killed process loses only its current
        file. A folder made with other options, another model or another dataset is refused, as far as names, types and
        the first text of each file tell.
    column: the column with the text.
    target_column: for encoder-decoders, the column with the decoder's text.
    worker, workers: for several processes that share a folder: this process's number, from 0, and their total.

    If a row cannot be explained, its column `error` holds the message; an error in the model, the machine or the
    options stops the work. schema() describes the columns, and read() returns the table.
    """
    if rows_per_file < 1 or not 0 <= worker < workers:
        raise Error(
            f"expected rows_per_file from 1 and worker from 0 to {workers - 1}, found {rows_per_file} and {worker}"
        )
    _require_rows(dataset)
    explainer = Explainer(model, tokenizer, column, target_column, **options)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    _claim(place, explainer, rows_per_file)
    if _is_indexed(dataset):
        _refuse_beyond(place, len(dataset), rows_per_file)  # type: ignore[arg-type]
    added = total = 0
    for number, count, rows in _parts(dataset, rows_per_file):
        total += count
        if count < rows_per_file:  # the last part
            _refuse_beyond(place, total, rows_per_file)
        path = place / f"rows-{number:06}.parquet"
        if number % workers != worker:
            continue
        if kept := _rows_in(path):
            _require_same_texts(path, explainer.texts_of(next(iter(rows()))))
        if kept == count:
            continue
        _write(path, list(explainer.rows(enumerate(rows(), number * rows_per_file))))
        added += count - kept
    _refuse_beyond(place, total, rows_per_file)
    return added


# Tables that iterate over something other than rows, by a method that they have, and the call that gives rows.
_TABLES = {
    "iterrows": 'to_dict("records")',  # pandas
    "to_pylist": "to_pylist()",  # PyArrow's tables and arrays
    "to_dicts": "to_dicts()",  # polars
    "collect_schema": "collect().to_dicts()",
}


def _require_rows(dataset: Any) -> None:
    """Before the first row is explained: checks the rows and the packages that write them."""
    advice = next((f"; pass its {rows}" for method, rows in _TABLES.items() if hasattr(dataset, method)), "")
    if advice or isinstance(dataset, str | Mapping) or not (_is_indexed(dataset) or isinstance(dataset, Iterable)):
        raise Error(
            f"expected an iterable of texts or rows, such as a list or one split of a dataset, found "
            f"{type(dataset).__module__.partition('.')[0]}.{type(dataset).__name__}{advice}"
        )
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise Error(
            "expected the package pyarrow, which writes Parquet files, found none; install it with pip"
        ) from error


def _rows_in(path: Path) -> int:
    """The number of rows in an existing file; the last of a dataset that has grown since has too few."""
    if not path.exists():
        return 0
    import pyarrow.parquet as pq

    rows: int = pq.read_metadata(path).num_rows
    return rows


def _refuse_beyond(place: Path, rows: int, rows_per_file: int) -> None:
    """Files with rows after the last one of the dataset belong to another one."""
    for path in sorted(place.glob("rows-*.parquet")):
        number = int(path.stem.split("-")[1])
        kept = _rows_in(path)
        if number * rows_per_file + kept > rows:
            raise Error(
                f"expected no more rows in '{place}' than the dataset's {rows}, found {path.name} from a longer dataset with row "
                f"{number * rows_per_file + kept - 1}; choose an empty folder"
            )


def _require_same_texts(path: Path, expected: list[str | None]) -> None:
    """A file's first row has to be the dataset's."""
    import pyarrow.parquet as pq

    first = pq.read_table(path, columns=["text", "target_text"]).slice(0, 1).to_pylist()[0]
    for name, value in zip(("text", "target_text"), expected, strict=True):
        if first[name] != value:
            raise Error(
                f"expected the {name} of the dataset in the first row of '{path}', {_shortened(value)}, found "
                f"{_shortened(first[name])} from another dataset; choose an empty folder"
            )


def _shortened(text: str | None) -> str:
    return "none" if text is None else repr(text if len(text) <= 60 else text[:57] + "...")


def read(folder: str | os.PathLike[str]) -> pyarrow.Table:
    """Reads the rows of a folder, in order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not Path(folder).is_dir():
        raise Error(f"expected a folder written by explain(), found none at '{folder}'")
    tables = [pq.read_table(path, schema=schema()) for path in sorted(Path(folder).glob("rows-*.parquet"))]
    return pa.concat_tables(tables) if tables else schema().empty_table()


def _parts(dataset: Iterable[Any], size: int) -> Iterator[tuple[int, int, Any]]:
    """Each part's number, number of rows, and a function for them, which alone reads a dataset that can be indexed."""
    if _is_indexed(dataset):
        whole: Any = dataset
        for number, begin in enumerate(range(0, len(whole), size)):
            places = range(begin, min(begin + size, len(whole)))
            yield number, len(places), partial(map, whole.__getitem__, places)
        return
    rows = iter(dataset)
    for number in itertools.count():
        part = list(itertools.islice(rows, size))
        if not part:
            return
        yield number, len(part), partial(iter, part)


def _is_indexed(dataset: Any) -> bool:
    return hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__") and not hasattr(dataset, "keys")


def _plain(value: Any) -> Any:
    """An option's arrays, ranges and other sequences as plain values."""
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _claim(place: Path, explainer: Explainer, rows_per_file: int) -> None:
    """Writes what the folder's rows are made with, or compares it."""
    # Threads change no number.
    asked = {
        name: value for name, value in sorted(explainer.options.items()) if value is not None and name != "threads"
    }
    options = json.loads(json.dumps(asked, default=_plain))
    made_by = {
        "version": _core.version(),
        "model": model_source(explainer.model),
        "dtype": str(next(explainer.model.parameters()).dtype).removeprefix("torch."),
        "tokenizer": str(getattr(explainer.tokenizer, "name_or_path", "") or type(explainer.tokenizer).__name__),
        "column": explainer.column,
        "target_column": explainer.target_column,
        "rows_per_file": rows_per_file,
        "options": options,
    }
    path = place / _SETTINGS
    if not path.exists():
        if any(place.glob("rows-*.parquet")):
            raise Error(f"expected {_SETTINGS} next to the rows in '{place}', found none; choose an empty folder")
        _replace(path, json.dumps(made_by, indent=1).encode(), only_new=True)
    found = json.loads(path.read_text(encoding="utf-8"))
    for name, value in made_by.items():
        if found.get(name) != value:
            raise Error(
                f"expected the same {name} as in the folder, {found.get(name)}, found {value}; choose another folder"
            )


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = pa.BufferOutputStream()
    pq.write_table(table_of(rows), made)
    _replace(path, made.getvalue().to_pybytes())


def _replace(path: Path, content: bytes, only_new: bool = False) -> None:
    """Writes a whole file or none, even if the process is killed; with `only_new`, an existing file stays."""
    beside = path.with_name(f".{path.name}-{uuid.uuid4().hex}.tmp")
    try:
        _write_through(open(beside, "wb"), content)
        if only_new:
            with contextlib.suppress(FileExistsError):
                _link(beside, path, content)
        else:
            os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _link(beside: Path, path: Path, content: bytes) -> None:
    """Raises FileExistsError. Some file systems have no links (exFAT, FUSE): there the content is written once more."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        _write_through(open(path, "xb"), content)


def _write_through(file: BinaryIO, content: bytes) -> None:
    with file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
