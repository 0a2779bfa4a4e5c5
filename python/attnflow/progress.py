"""A bar for work that takes over a second, where tqdm is installed."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """Called with what is done and how much there is; the library calls it only once a second has passed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._bar = False
            else:
                self._bar = tqdm(desc=self._name, total=total, leave=False)
        if self._bar:
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.close()
