"""Two reports of one input, side by side: other layers, heads, mixings, models."""

from __future__ import annotations

from typing import Any

from attnflow import _core
from attnflow.errors import Error
from attnflow.hints import NDArray, np
from attnflow.report import Report, Tabular


class Comparison(Tabular):
    """The result of compare(). Arrays are [layer, output_token, input_token], for the layers and output tokens of both."""

    def __init__(self, a: Report, b: Report) -> None:
        self.a = a
        self.b = b
        for name, what in (("tokens", "tokens"), ("generated_tokens", "generated tokens")):
            first, second = getattr(a, name) or [], getattr(b, name) or []
            if first == second:
                continue
            at = next((t for t, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), None)
            found = f"{len(first)} and {len(second)}" if at is None else f"{first[at]!r} and {second[at]!r} at {at}"
            raise Error(f"expected two reports of the same {what}, found {found}")
        self.methods = [method for method in a.methods if method in b.methods]
        if not self.methods:
            raise Error(
                f"expected a method that both reports have, found {', '.join(a.methods)} and {', '.join(b.methods)}"
            )
        if not any(len(self.layers(method)) for method in self.methods):
            raise Error(f"expected a layer that both reports have, found {a.layers.tolist()} and {b.layers.tolist()}")

    def layers(self, method: str) -> NDArray[np.int64]:
        """The layers that both reports hold for the method."""
        return self._shared(method, 0)

    def output_tokens(self, method: str) -> NDArray[np.int64]:
        """The output tokens that both reports hold for the method."""
        return self._shared(method, 1)

    def _shared(self, method: str, axis: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.intersect1d(self.a._axes(method)[axis], self.b._axes(method)[axis])
        return found

    def _values(self, method: str, name: str) -> list[Any]:
        """An array of both reports, as far as both have it."""
        if method not in self.methods:
            raise Error(f"expected one of {', '.join(self.methods)}, found {method!r}")
        found = []
        for report in (self.a, self.b):
            layers, outputs = report._axes(method)
            rows = np.searchsorted(layers, self.layers(method)), np.searchsorted(outputs, self.output_tokens(method))
            found.append(np.ascontiguousarray(getattr(report, name)[np.ix_(*rows)]))
        return found

    def difference(self, method: str = "rollout") -> NDArray[np.float64]:
        """The values of `a` minus those of `b`."""
        found: NDArray[np.float64] = np.subtract(*self._values(method, method))
        return found

    def correlation(self, method: str = "rollout") -> NDArray[np.float64]:
        """Spearman's rank correlation of each row, [layer, output_token]: 1 if both rank the input tokens alike.

        Ranks only tokens that an output token sees; flow values whose intervals overlap count as tied. NaN without an
        order: fewer than two tokens, or all tied.
        """
        first, second = self._values(method, method)
        gaps = self._values(method, "flow_gap") if method == "flow" else [np.zeros_like(first), np.zeros_like(second)]
        n = len(self.a.tokens)
        causal = self.a.causal and self.b.causal
        found = np.full(first.shape[:2], np.nan)
        for layer in range(first.shape[0]):
            for row, output in enumerate(self.output_tokens(method)):
                seen = min(int(output) + 1, n) if causal else n
                values = (values[layer, row, :seen] for values in (first, second, *gaps))
                rho = _core.spearman(*values)
                if rho is not None:
                    found[layer, row] = rho
        return found

    def columns(self) -> dict[str, Any]:
        """A row for each layer, output token and input token of both: METHOD_a, METHOD_b and METHOD_difference."""
        first, second = self.a.columns(), self.b.columns()
        names = ("layer", "output_token", "input_token")
        of_b = {key: row for row, key in enumerate(zip(*(second[name].tolist() for name in names), strict=True))}
        of_a = enumerate(zip(*(first[name].tolist() for name in names), strict=True))
        pairs = [(row, of_b[key]) for row, key in of_a if key in of_b]
        rows_a, rows_b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        shared = ("layer", "output_token", "output_text", "input_token", "input_text", "input_special")
        columns: dict[str, Any] = {name: first[name][rows_a] for name in shared}
        for method in self.methods:
            columns[f"{method}_a"] = first[method][rows_a]
            columns[f"{method}_b"] = second[method][rows_b]
            columns[f"{method}_difference"] = columns[f"{method}_a"] - columns[f"{method}_b"]
        return columns

    def __str__(self) -> str:
        lines = []
        for method in self.methods:
            rows = self.correlation(method)
            known = rows[~np.isnan(rows)]
            said = f"rank correlation {known.mean():.3f} on average of {len(known)} rows" if len(known) else "no order"
            largest = np.abs(self.difference(method)).max(initial=0.0)
            lines.append(f"{method}: {said}, largest difference {largest:.4f}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<attnflow.Comparison: {self.a!r}, {self.b!r}>"

    def _repr_html_(self) -> str:
        from html import escape

        sides = "".join(
            f'<div style="flex: 1 1 28em; min-width: 0">{report._repr_html_()}</div>' for report in (self.a, self.b)
        )
        said = "<br>".join(escape(line) for line in str(self).splitlines())
        return f'<div>{said}</div><div style="display: flex; flex-wrap: wrap; gap: 8px">{sides}</div>'


def compare(a: Report, b: Report) -> Comparison:
    """Compares two reports of the same tokens: differences, rank correlations, a table, and both side by side in a notebook."""
    for report in (a, b):
        if not isinstance(report, Report):
            raise Error(f"expected two reports, found {type(report).__name__}")
    return Comparison(a, b)
