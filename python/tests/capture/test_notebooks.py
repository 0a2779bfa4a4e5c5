"""The notebooks of the documentation run, show their pages, and are stored with their outputs."""

from __future__ import annotations

import unittest

import nbformat
import notebooks


class Notebooks(unittest.TestCase):
    def test_run_and_show(self) -> None:
        self.assertEqual(len(notebooks.NOTEBOOKS), 3)
        for path in notebooks.NOTEBOOKS:
            with self.subTest(path.name):
                kept = nbformat.read(path, as_version=4)
                self.assertLess(path.stat().st_size, 150_000)
                found = notebooks.executed(path)
                pages = [
                    output
                    for cell in found.cells
                    for output in cell.get("outputs", [])
                    if '<details id="attnflow-' in output.get("data", {}).get("text/html", "")
                ]
                self.assertGreaterEqual(len(pages), 1)
                answer = notebooks.without_page(pages[0]["data"]["text/html"])
                self.assertNotIn("<script", answer)
                self.assertIn("Highlighted: ", answer)
                for cell, other in zip(kept.cells, notebooks.without_pages(found).cells, strict=True):
                    kinds = [
                        [sorted(output.get("data", {})) for output in one.get("outputs", [])] for one in (cell, other)
                    ]
                    self.assertEqual(kinds[0], kinds[1], cell.source)


if __name__ == "__main__":
    unittest.main()
