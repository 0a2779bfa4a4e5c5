"""The files that benchmarks write: complete or absent, and one style for all plots."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = {
    "svg.fonttype": "path",  # looks the same everywhere
    "svg.hashsalt": "attnflow",  # same numbers, same file
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
}


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """The path to write to, which replaces `path` at the end."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    yield temporary
    os.replace(temporary, path)


def write(path: Path, text: str) -> None:
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def dress(axes) -> None:
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def save(figure, path: Path) -> None:
    with whole(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
