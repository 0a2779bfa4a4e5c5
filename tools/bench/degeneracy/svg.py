"""Just enough SVG for the figures of cuts: text stays text; the same numbers give the same file. The panel is opaque,
so that a figure looks the same on light and on dark pages."""

import sys
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

sys.path.append(str(Path(__file__).resolve().parent.parent))
import written  # noqa: E402  (after the path to it)

# Okabe and Ito's blue and orange: distinguishable with every kind of color vision, and by lightness in grayscale.
BLUE, ORANGE = "#0072B2", "#F0B95D"
INK, QUIET, PALE = "#1a1a1a", "#5c5c5c", "#e9e9e9"


def size(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Drawing:
    def __init__(self, width, height, title, description):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size(width)} {size(height)}" width="{size(width)}" '
            f'height="{size(height)}" role="img" font-family="DejaVu Sans, Verdana, sans-serif">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f'<rect x="0.5" y="0.5" width="{size(width - 1)}" height="{size(height - 1)}" rx="6" fill="#ffffff" '
            'stroke="#c8c8c8"/>',
        ]

    def add(self, name, content=None, **attributes):
        words = "".join(
            f" {key.replace('_', '-')}={quoteattr(value if isinstance(value, str) else size(value))}"
            for key, value in attributes.items()
            if value is not None
        )
        self.parts.append(f"<{name}{words}/>" if content is None else f"<{name}{words}>{escape(content)}</{name}>")

    def box(self, x, y, width, height, fill, stroke=None):
        self.add("rect", x=x, y=y, width=width, height=height, fill=fill, stroke=stroke)

    def line(self, x1, y1, x2, y2, stroke=INK, width=1.0, dash=None):
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=width, stroke_dasharray=dash)

    def text(self, x, y, words, height=11, anchor=None, fill=INK, weight=None):
        self.add("text", words, x=x, y=y, font_size=height, text_anchor=anchor, fill=fill, font_weight=weight)

    def save(self, path):
        written.write(path, "\n".join([*self.parts, "</svg>", ""]))
