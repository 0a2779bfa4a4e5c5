"""Draws flow-example.svg: the worked example of docs/flow.md, with the program's numbers.

example.py ATTNFLOW DIR
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from svg import BLUE, INK, ORANGE, QUIET, Drawing

# Two layers of one head over three tokens, the README's example.
ATTENTION = [
    [[0.50, 0.25, 0.25], [0.00, 1.00, 0.00], [0.25, 0.25, 0.50]],
    [[0.00, 0.50, 0.50], [0.50, 0.50, 0.00], [1.00, 0.00, 0.00]],
]
OUTPUT, INPUT, RESIDUAL = 0, 1, 0.5
LEFT, STEP, TOP, RISE, RADIUS = 150, 190, 88, 120, 17


def values(program):
    """Rollout and flow of the pair, from the program."""
    with tempfile.TemporaryDirectory() as folder:
        stack, out = Path(folder) / "example.npy", Path(folder) / "out.npz"
        np.save(stack, np.array(ATTENTION, dtype=np.float32)[:, None])
        command = [
            program,
            "explain",
            "--attention",
            stack,
            "--residual",
            RESIDUAL,
            "--output-token",
            OUTPUT,
            "-o",
            out,
        ]
        result = subprocess.run(
            [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if result.returncode != 0:
            sys.exit(f"example: {program} explain failed: {result.stderr.strip()}")
        with np.load(out, allow_pickle=False) as arrays:
            at = list(arrays["flow_output_tokens"] if "flow_output_tokens" in arrays else arrays["output_tokens"])
            return arrays["rollout"][-1, list(arrays["output_tokens"]).index(OUTPUT), INPUT], arrays["flow"][
                -1, at.index(OUTPUT), INPUT
            ]


def place(layer, token):
    return LEFT + STEP * token, TOP + RISE * (2 - layer)


def arc(drawing, layer, start, end, capacity, cut):
    x1, y1 = place(layer, start)
    x2, y2 = place(layer - 1, end)
    length = np.hypot(x2 - x1, y2 - y1)
    dx, dy = (x2 - x1) / length * (RADIUS + 2), (y2 - y1) / length * (RADIUS + 2)
    width = 1.0 + 7.0 * capacity
    drawing.line(x1 + dx, y1 + dy, x2 - dx, y2 - dy, INK if cut else "#9a9a9a", width, "7 5" if cut else None)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = Path(sys.argv[1]), Path(sys.argv[2])
    mixing = (1 - RESIDUAL) * np.array(ATTENTION) + RESIDUAL * np.eye(3)
    upper, lower = mixing[1, OUTPUT], mixing[0, :, INPUT]
    rollout, flow = values(program)
    # Each path has two arcs that no other path uses: the narrower one is saturated, and in the cut.
    if abs(flow - np.minimum(upper, lower).sum()) > 1e-12 or abs(rollout - (upper * lower).sum()) > 1e-7:
        sys.exit(f"example: the program's rollout {rollout} and flow {flow} do not fit the closed form")

    description = (
        f"Output token {OUTPUT} after layer 2 at the top, tokens 0, 1 and 2 after layer 1, input token {INPUT} at the bottom. "
        f"Arcs down carry {', '.join(f'{c:g}' for c in upper)}; arcs on to the input token {', '.join(f'{c:g}' for c in lower)}."
    )
    drawing = Drawing(700, 402, f"Flow from output token {OUTPUT} to input token {INPUT} over two layers", description)
    source_side = [u > v for u, v in zip(upper, lower, strict=True)]
    for k in range(3):
        arc(drawing, 2, OUTPUT, k, upper[k], not source_side[k])
        arc(drawing, 1, k, INPUT, lower[k], source_side[k])
    for k in range(3):
        for layer, start, end, capacity in ((2, OUTPUT, k, upper[k]), (1, k, INPUT, lower[k])):
            (x1, y1), (x2, y2) = place(layer, start), place(layer - 1, end)
            part = 0.5 if layer == 2 else 0.45
            x, y = x1 + (x2 - x1) * part, y1 + (y2 - y1) * part
            flow_here = min(upper[k], lower[k])
            drawing.box(x - 45, y - 9, 90, 18, "#ffffff")
            drawing.text(x, y + 4, f"{flow_here:g} of {capacity:g}", 12, "middle")
    for layer in (2, 1, 0):
        drawing.text(20, place(layer, 0)[1] + 4, ("input", "layer 1", "layer 2")[layer], 12, fill=QUIET)
        for token in range(3):
            x, y = place(layer, token)
            used = layer == 1 or (layer, token) in ((2, OUTPUT), (0, INPUT))
            on_source_side = (layer == 2 and token == OUTPUT) or (layer == 1 and source_side[token])
            fill = "#ffffff" if not used else BLUE if on_source_side else ORANGE
            drawing.add("circle", cx=x, cy=y, r=RADIUS, fill=fill, stroke=INK if used else "#cccccc", stroke_width=1.2)
            ink = "#bbbbbb" if not used else "#ffffff" if on_source_side else INK
            drawing.text(x, y + 5, str(token), 14, "middle", ink)
    y = TOP + 2 * RISE + 52
    drawing.box(20, y - 11, 14, 14, BLUE)
    drawing.text(40, y, "source side of the minimum cut", 12)
    drawing.box(260, y - 11, 14, 14, ORANGE)
    drawing.text(280, y, "sink side", 12)
    drawing.line(375, y - 4, 415, y - 4, INK, 2.5, "7 5")
    drawing.text(422, y, "arc of the cut; numbers: flow of capacity", 12)
    products = " + ".join(f"{u:g} × {v:g}" for u, v in zip(upper, lower, strict=True))
    minima = " + ".join(f"{min(u, v):g}" for u, v in zip(upper, lower, strict=True))
    drawing.text(20, 30, f"flow: {minima} = {flow:g}", 13, weight="bold")
    drawing.text(20, 50, f"rollout: {products} = {rollout:.4f}", 13)
    drawing.save(folder / "flow-example.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
