"""A corpus on a cluster: Ray Data, with the model in an actor for each worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from attnflow.data.rows import Explainer, table_of
from attnflow.errors import Error
from attnflow.hints import TextOptions, describes_options

# What makes a model and its tokenizer in the process that uses them.
Load = Callable[[], tuple[Any, Any]]


class Worker:
    """What an actor holds: the model, loaded once."""

    def __init__(self, load: Load, column: str, target_column: str | None, index: str | None, options: Any) -> None:
        import torch

        torch.set_num_threads(max(1, options.get("threads") or 1))
        self._explainer = Explainer(*load(), column, target_column, **options)
        self._index = index

    def __call__(self, batch: Any) -> Any:
        """A table of the dataset's columns to one of the schema."""
        rows = batch.to_pylist()
        return table_of(
            [self._explainer.row(-1 if self._index is None else row.get(self._index, -1), row) for row in rows]
        )


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
    """Explains every row of a ray.data.Dataset; gives one of the columns that schema() says, for write_parquet() and others.

    load: a function without arguments that gives (model, tokenizer). It runs once in each of the `workers`.
    index: the column of the row's number, which rows of other columns then have as `index`; -1 without it. Ray keeps no
        order of its own.
    cpus, gpus: what one worker takes of the cluster. Work on a processor uses `threads` of it, 1 unless said otherwise.
    """
    try:
        import ray.data
    except ImportError as error:
        raise Error(f"expected Ray Data ({error}); pip install attnflow[ray]", kind="usage") from error
    if not hasattr(dataset, "map_batches"):
        raise Error(
            f"expected a dataset of ray.data, found {type(dataset).__name__}; explain() takes others", kind="usage"
        )
    given = {"threads": 1, **options}
    return dataset.map_batches(
        Worker,
        fn_constructor_args=(load, column, target_column, index, given),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=cpus,
        num_gpus=gpus,
    )
