"""The output of a notebook cell: a report of 30 tokens and bertviz's head_view of the same attention, compared in bytes
and in time to the first picture.

Needs the package, torch, transformers, MiniLM in $ATTNFLOW_MINILM_DIR, Node with the packages of tests/browser, and
Chromium; `./dev bench python` provides all but Chromium. bertviz comes from PyPI; jQuery, d3 and RequireJS, which its
cells load from the web, come from npm and are served locally, so that no network time counts. (jQuery 2.1.0 instead of
2.0.0, which npm does not have.) cell.mjs opens the cells in turn and makes sure that each has drawn its picture.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import transformers

import attnflow

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".cache"
MODEL = os.environ.get("ATTNFLOW_MINILM_DIR", str(CACHE / "models" / "minilm"))
TOKENS = 30
TEXT = (
    "The key to the cabinets in the old house by the river is on the small table, where the brother of the keeper left it "
    "last night"
)
BERTVIZ = "bertviz==1.4.1"
# For each URL from which a bertviz cell loads a script: the npm package with it, and its path there.
SCRIPTS = {
    "cdnjs.cloudflare.com/ajax/libs/require.js/2.3.6/require.min.js": ("requirejs@2.3.6", "require.js"),
    "cdnjs.cloudflare.com/ajax/libs/jquery/2.0.0/jquery.min.js": ("jquery@2.1.0", "dist/jquery.min.js"),
    "cdnjs.cloudflare.com/ajax/libs/d3/5.7.0/d3.min.js": ("d3@5.7.0", "dist/d3.min.js"),
}
NAMES = {
    "bertviz": "bertviz, `head_view`",
    "attnflow": "a report",
    "attnflow-heads": "a report with `keep_attention=True`",
}


def installed() -> Path:
    """A folder with bertviz and the scripts that its cells load."""
    folder = CACHE / "bench" / "cell"
    ready = folder / "ready"
    wanted = " ".join([BERTVIZ, *(package for package, _ in SCRIPTS.values())])
    if not ready.is_file() or ready.read_text(encoding="utf-8") != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--upgrade",
            "--no-deps",
        ]
        subprocess.run([*pip, "--target", str(folder / "python"), BERTVIZ], check=True)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--loglevel=error"]
        packages = [package for package, _ in SCRIPTS.values()]
        subprocess.run([*npm, "--prefix", str(folder), *packages], check=True, stdout=sys.stderr)
        ready.write_text(wanted, encoding="utf-8")
    return folder


def cells(folder: Path) -> dict[str, str]:
    """The HTML that each puts into a notebook."""
    sys.path.insert(0, str(folder / "python"))
    from bertviz import head_view

    model: Any = transformers.AutoModel.from_pretrained(MODEL).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    inputs = tokenizer(TEXT, return_tensors="pt")
    with attnflow.capture(model) as captured:
        model(**inputs)
    tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    if len(tokens) != TOKENS:
        raise SystemExit(f"cell: expected {TOKENS} tokens, found {len(tokens)}")
    attentions = [layer.detach() for layer in captured.attentions]
    return {
        "bertviz": head_view(attentions, tokens, html_action="return").data,
        "attnflow": attnflow.explain(model, tokenizer, TEXT)._repr_html_(),
        "attnflow-heads": attnflow.explain(model, tokenizer, TEXT, keep_attention=True)._repr_html_(),
    }


def main() -> None:
    packages = installed()
    found = cells(packages)
    scripts: dict[str, bytes] = {}
    for address, (package, path) in SCRIPTS.items():
        scripts[address] = (packages / "node_modules" / package.rpartition("@")[0] / path).read_bytes()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, cell in found.items():
            page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title><body>\n{cell}\n'
            (folder / f"{name}.html").write_text(page, encoding="utf-8")
        for address, script in scripts.items():
            place = folder / "scripts" / address
            place.parent.mkdir(parents=True)
            place.write_bytes(script)
        done = subprocess.run(["node", HERE / "cell.mjs", folder], check=True, stdout=subprocess.PIPE, text=True)
    times = {name: statistics.median(found) for name, found in json.loads(done.stdout).items()}
    print(
        f"| cell of {TOKENS} tokens, MiniLM | in the notebook | from a network | to its first picture |\n| --- | --- | --- | --- |"
    )
    network = sum(map(len, scripts.values()))
    for name, title in NAMES.items():
        size = len(found[name].encode())
        print(
            f"| {title} | {size / 1000:.0f} KB | {network / 1000 if name == 'bertviz' else 0:.0f} KB | {times[name]:.0f} ms |"
        )
    print()


if __name__ == "__main__":
    main()
