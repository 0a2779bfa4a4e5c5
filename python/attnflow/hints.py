"""The names in annotations, so that typing.get_type_hints() knows them.

NumPy is imported when a hint is looked at, not with the package.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: F401  for the options, whose types are strings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnflow._options import Options
else:
    from typing import TypedDict

    from attnflow import _core

    class _NumPy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            return getattr(numpy, name)

    class _NDArray:
        def __getitem__(self, scalar: Any) -> Any:
            from numpy.typing import NDArray

            return NDArray[scalar]

    np = _NumPy()
    NDArray = _NDArray()
    Options = TypedDict("Options", {name: kind for name, kind, _ in _core.described_options()}, total=False)

__all__ = ["NDArray", "Options", "np"]
