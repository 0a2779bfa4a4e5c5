"""Reports in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from attnflow.attribution import attribute
from attnflow.errors import Error
from attnflow.hints import Options
from attnflow.report import Report


def show(attentions: Any, tokens: Sequence[str] | None = None, **options: Unpack[Options]) -> None:
    """Shows a report, or attention in any form that attribute() accepts, below the cell; outside notebooks, prints a table."""
    if isinstance(attentions, Report) and (tokens is not None or options):
        given = ", ".join([*(["tokens"] if tokens is not None else []), *options])
        raise Error(f"expected only a report, found {given} as well; a report brings its own")
    report: Report = attentions if isinstance(attentions, Report) else attribute(attentions, tokens, **options)
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        print(report)
        return
    is_notebook = hasattr(get_ipython(), "kernel")  # IPython in a terminal shows no html
    (display if is_notebook else print)(report)
