"""Writes attnflow/_options.pyi: the options of each question as a TypedDict, from the table in the library.

write_options.py FOLDER_OF_CORE OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path

# Questions as described_options() names them, and the names of their options in hints.py.
CLASSES = {
    "attribute": "Options",
    "values": "ValueOptions",
    "explain": "TextOptions",
    "generate": "GenerationOptions",
    "evaluate": "EvaluationOptions",
}


def main(arguments: list[str]) -> None:
    folder, output = arguments
    sys.path.insert(0, folder)
    import _core

    lines = [
        '"""Written from the tables of options (attnflow/attribution/option.h)."""',
        "",
        "from collections.abc import Sequence",
        "from typing import TypedDict",
    ]
    for asks, name in CLASSES.items():
        lines += ["", f"class {name}(TypedDict, total=False):"]
        for option, annotation, text in _core.described_options(asks):
            lines += [f"    {option}: {annotation}", f'    """{text}"""']
    Path(output).write_text("\n".join(lines) + "\n", encoding="utf-8")


main(sys.argv[1:])
