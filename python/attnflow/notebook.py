"""Reports in notebooks: a frame as high as its content."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Unpack
from uuid import uuid4

from attnflow.attribution import attribute
from attnflow.errors import Error
from attnflow.hints import Options
from attnflow.report import Report

# Until the page reports its height, and where scripts of outputs are not run.
_FIRST_HEIGHT = 360

_CELL = """<iframe id="{id}" title="attnflow" srcdoc="{page}" sandbox="allow-scripts allow-downloads" \
style="width: 100%; height: {height}px; border: 0"></iframe>
<script>
(() => {{
  const frame = document.getElementById("{id}");
  addEventListener("message", (event) => {{
    const height = event.data?.attnflow?.height;
    if (frame && event.source === frame.contentWindow && Number.isFinite(height)) frame.style.height = `${{height}}px`;
  }});
}})();
</script>
"""


def cell_html(page: str) -> str:
    """A page as a cell's output. The frame has no origin, so the page cannot access the notebook; it reports its
    height.
    """
    return _CELL.format(id=f"attnflow-{uuid4().hex}", page=html.escape(page), height=_FIRST_HEIGHT)


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
