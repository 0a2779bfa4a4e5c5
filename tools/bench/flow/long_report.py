"""Reports the flow of one output token of long texts: long.json -> long.md and long.svg next to it.

long_report.py LONG.json [PAGE.md]

With a page, also puts the table there, between its lines <!-- bench-long --> and <!-- /bench-long -->.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from plot import by_tokens
from report import duration, put_into, table

sys.path.append(str(Path(__file__).resolve().parent.parent))
import written  # noqa: E402  (after the path to it)

# Okabe and Ito's colors, distinguishable with every kind of color vision; markers differ as well.
LINES = {
    "flow_seconds_1": ("flow, one thread", "#000000", "o"),
    "flow_seconds_2": ("flow, two threads", "#0072B2", "s"),
    "flow_seconds_loose": ("flow within 0.01, one thread", "#D55E00", "^"),
    "program_seconds": ("the whole program", "#009E73", "v"),
}


def report(document: dict) -> str:
    checked = ", ".join(f"{check['pairs']} at {check['tokens']} tokens" for check in document["checks"])
    rows = [
        [f"{one['tokens']:,}", *(duration(one[key]) for key in LINES), f"{one['program_mib']:,.0f} MiB"]
        for one in document["lengths"]
    ]
    growth = [f"n^{document['exponents'][key]:.1f}" for key in LINES] if "exponents" in document else []
    lines = [
        "# Flow of one output token",
        "",
        f"SmolLM2, 30 layers, the last token of the benchmark's prose; {document['machine']}. Medians; what takes ten seconds ran "
        f"once. Enclosures that agree with SciPy: {checked}.",
        "",
        table(["tokens", *(label for label, _, _ in LINES.values()), "its memory"], rows + [["growth", *growth, ""]]),
        "",
        "*the whole program*: `attnflow explain --only-output-token --method rollout,flow`, with the model's own pass.",
    ]
    return "\n".join(lines) + "\n"


def draw(document: dict, path: Path) -> None:
    plt.rcParams.update(written.SETTINGS)
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    tokens = [one["tokens"] for one in document["lengths"]]
    for key, (label, colour, marker) in LINES.items():
        seconds = [one[key] for one in document["lengths"]]
        if "exponents" in document:
            label += f": $n^{{{document['exponents'][key]:.1f}}}$"
        axes.plot(tokens, seconds, color=colour, marker=marker, markersize=5.5, label=label)
    by_tokens(axes, tokens)
    axes.set_ylabel("seconds")
    axes.legend(frameon=False)
    written.save(figure, path)


def main() -> int:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    path = Path(sys.argv[1])
    document = json.loads(path.read_text())
    text = report(document)
    written.write(path.with_suffix(".md"), text)
    draw(document, path.with_suffix(".svg"))
    if len(sys.argv) == 3:
        put_into(Path(sys.argv[2]), text, "bench-long")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
