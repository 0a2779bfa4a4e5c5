"""A bar for work that takes over a second, where tqdm is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None]]:
    """The bar's function of work done and total; the library calls it only after a second."""
    bar: Any = None

    def tell(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                bar = False
            else:
                bar = tqdm(desc="flow", total=total, leave=False)
        if bar:
            bar.total = total
            bar.update(done - bar.n)

    try:
        yield tell
    finally:
        if bar:
            bar.close()
