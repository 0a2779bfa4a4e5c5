"""A corpus on a cluster: Ray Data, with the model in an actor for each worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from attnflow.data.rows import Explainer, row_options, table_of
from attnflow.errors import Error
from attnflow.hints import TextOptions, describes_options

# Makes a model and its tokenizer in the process that uses them.
Load = Callable[[], tuple[Any, Any]]


class Worker:
    """An actor's model, loaded once."""

    def __init__(self, load: Load, column: str, target_column: str | None, index: str | None, options: Any) -> None:
        import torch

        torch.set_num_threads(max(1, options.get("threads") or 1))
        self._explainer = Explainer(*load(), column, target_column, **options)
        self._index = index

    def __call__(self, batch: Any) -> Any:
        """Turns a table of the dataset's columns into one of the schema."""
        rows = batch.to_pylist()
        return table_of(list(self._explainer.rows((_number_of(row, self._index), row) for row in rows)))


def _number_of(row: Mapping[str, Any], column: str | None) -> int:
    if column is None:
        return -1
    if column not in row:
        raise Error(f"index: expected a column {column!r}, found {', '.join(map(repr, row)) or 'none'}")
    number = row[column]
    if not isinstance(number, int) or isinstance(number, bool) or not -(2**63) <= number < 2**63:
        raise Error(
            f"index: expected whole numbers of 64 bits in the column {column!r}, found {number!r}; omit index, or number "
            "the rows"
        )
    return number


@describes_options("explain")
def explain_ray(
    dataset: Any,
    load: Load,
    *,
    column: str = "text",
    target_column: str | None = None,
    index: str | None = None,
    workers: int = 2,
    batch_size: int = 64,
    cpus: float = 1,
    gpus: float = 0,
    **options: Unpack[TextOptions],
) -> Any:
    """Explains every row of a ray.data.Dataset; returns a dataset with schema()'s columns, for write_parquet() and
    others.

    load: a function without arguments that returns (model, tokenizer). It runs once in each of the `workers`.
    index: the column with the row's number, kept as `index`; -1 without it. Ray does not keep the order of rows.
    cpus, gpus: a worker's resources in the cluster. On CPUs, a worker uses `threads` threads, 1 by default.
    """
    try:
        import ray.data
    except ImportError as error:
        raise Error(f"expected Ray Data ({error}); pip install attnflow[ray]") from error
    if not hasattr(dataset, "map_batches"):
        raise Error(f"expected a dataset of ray.data, found {type(dataset).__name__}; use explain() for other datasets")
    given = {"threads": 1, **options}
    row_options(given)  # before an actor loads a model
    names = dataset.columns(fetch_if_missing=False)
    if index is not None and names is not None:
        _number_of(dict.fromkeys(names, 0), index)
    return dataset.map_batches(
        Worker,
        fn_constructor_args=(load, column, target_column, index, given),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=cpus,
        num_gpus=gpus,
    )
