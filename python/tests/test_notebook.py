"""Output in a notebook."""

from __future__ import annotations

import html
import io
import re
import unittest
from contextlib import redirect_stdout

from support import PackageTest, random_attention

import attnflow


class Notebook(PackageTest):
    def test_a_frame_of_its_own(self) -> None:
        markup = '</script><script>alert("1")</script>'
        report = attnflow.attribute(random_attention(), [markup, "b", "c", "d", "e", "f"])
        cell = report._repr_html_()
        self.assertEqual(cell.count("<iframe"), 1)
        self.assertEqual(cell.count("<script"), 1)  # the one that sets the height
        self.assertIn('sandbox="allow-scripts allow-downloads"', cell)
        self.assertNotIn("allow-same-origin", cell)
        found = re.search(r'srcdoc="([^"]*)"', cell)
        assert found is not None
        page = html.unescape(found[1])
        self.assertIn("<html data-embed", page)
        self.assertNotIn('alert("1")', page)
        # The page's own policy forbids external content, and nothing requests it.
        self.assertIn("default-src 'none'", page)
        self.assertIsNone(re.search(r'(src|href)="(https?:)?//', page))
        self.assertNotIn("data-embed", report.to_html().split(">", 2)[1])

    def test_frames_do_not_share_a_name(self) -> None:
        report = attnflow.attribute(random_attention())
        names = [re.findall(r'id="(attnflow-\w+)"', report._repr_html_())[0] for _ in range(2)]
        self.assertNotEqual(*names)

    def test_show_prints_a_table_elsewhere(self) -> None:
        for shown in (random_attention(), attnflow.attribute(random_attention(), method="rollout")):
            output = io.StringIO()
            with redirect_stdout(output):
                attnflow.show(shown)
            self.assertIn("rollout, layers 1-3", output.getvalue())

    def test_names_itself(self) -> None:
        report = attnflow.attribute(random_attention(), method="rollout", layers="2-3", name="tiny")
        self.assertEqual(repr(report), "<attnflow.Report: 'tiny', 6 tokens, layers [2, 3], rollout>")
        self.assertIn("residual (float): Weight rho of the residual", attnflow.rollout.__doc__ or "")


if __name__ == "__main__":
    unittest.main()
