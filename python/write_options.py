"""Writes attnflow/_options.pyi: the options as a TypedDict, from the table in the library.

write_options.py FOLDER_OF_CORE OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    folder, output = arguments
    sys.path.insert(0, folder)
    import _core

    lines = [
        '"""Written from the table in attnflow/attribution/setting_options.cc."""',
        "",
        "from collections.abc import Sequence",
        "from typing import TypedDict",
        "",
        "class Options(TypedDict, total=False):",
    ]
    for name, annotation, text in _core.described_options():
        lines += [f"    {name}: {annotation}", f'    """{text}"""']
    Path(output).write_text("\n".join(lines) + "\n", encoding="utf-8")


main(sys.argv[1:])
