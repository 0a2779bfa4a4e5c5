"""Runs the notebooks of the documentation; as a program, updates their outputs.

notebooks.py      runs docs/notebooks/*.ipynb and keeps their outputs, of cells the static part without the page
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent.parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> Any:
    """The notebook with its outputs; a cell's exception is raised."""
    notebook = nbformat.read(path, as_version=4)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    return notebook


def without_page(cell: str) -> str:
    """A report's cell without the page in its script, and without the name that differs from run to run."""
    static = re.sub(r"<script>.*?</script>\s*", "", cell, flags=re.DOTALL)
    return re.sub(r'<details id="attnflow-\w+"', "<details", static)


def without_pages(notebook: Any) -> Any:
    """Keeps texts and figures, nothing of the run."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = without_page(data["text/html"])
            data.pop("image/jpeg", None)  # beside image/png
            if "image/svg+xml" in data:
                data["image/svg+xml"] = re.sub(r">\s+<", "><", data["image/svg+xml"])
        cell["outputs"] = [one for one in cell.get("outputs", []) if one.get("name") != "stderr"]
        if cell.cell_type != "code":
            del cell["outputs"]
    notebook.metadata = {"language_info": {"name": "python"}}
    return notebook


if __name__ == "__main__":
    for one in NOTEBOOKS:
        nbformat.write(without_pages(executed(one)), one)
        print(f"{one.name}: {one.stat().st_size} bytes")
