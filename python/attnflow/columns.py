"""What can be a table: columns of equal length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Tabular:
    """An object whose columns() can be turned into tables of other packages."""

    def columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """columns() as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.columns())

    def to_arrow(self) -> pyarrow.Table:
        """columns() as an Arrow table, for Parquet and Polars."""
        import pyarrow

        return pyarrow.table(self.columns())
