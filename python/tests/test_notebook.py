"""Output in a notebook."""

from __future__ import annotations

import html
import io
import re
import unittest
import zlib
from contextlib import redirect_stdout
from types import SimpleNamespace

from support import PackageTest, random_attention

import attnflow


def page_in(cell: str) -> str:
    """The page that a cell's script unpacks."""
    code, count = (re.search(pattern, cell) for pattern in (r'code = "([^"]*)"', r"Uint8Array\((\d+)\)"))
    assert code is not None and count is not None
    digits = [value - 33 - (value > 34) - (value > 60) - (value > 92) for value in map(ord, code[1])]
    bits = "".join(f"{91 * first + second:013b}" for first, second in zip(digits[::2], digits[1::2], strict=True))
    return zlib.decompress(bytes(int(bits[at : at + 8], 2) for at in range(0, 8 * int(count[1]), 8))).decode()


class Notebook(PackageTest):
    def test_the_answer_stands_outside_the_frame(self) -> None:
        markup = '</script><script>alert("1")</script>'
        report = attnflow.attribute(random_attention(), [markup, "b", "c", "d", "e", "f"])
        cell = report._repr_html_()
        before, script = cell.split("<script>", 1)
        self.assertEqual(script.count("</script>"), 1)
        self.assertNotIn('alert("1")', cell)
        self.assertLess(before.index(html.escape(report.answer.headline)), before.index("<details"))
        self.assertIn("rollout over attention", before)
        self.assertIn("once the notebook is trusted", before)
        self.assertIn('"allow-scripts allow-downloads"', script)
        self.assertNotIn("allow-same-origin", script)

    def test_the_frame_has_a_page_of_its_own(self) -> None:
        markup = '</script><script>alert("1")</script>'
        report = attnflow.attribute(random_attention(), [markup, "b", "c", "d", "e", "f"])
        page = page_in(report._repr_html_())
        self.assertIn("<html data-embed", page)
        self.assertNotIn('alert("1")', page)
        # The page's own policy forbids external content, and nothing requests it.
        self.assertIn("default-src 'none'", page)
        self.assertIsNone(re.search(r'(src|href)="(https?:)?//', page))
        self.assertNotIn("data-embed", report.to_html().split(">", 2)[1])

    def test_thirty_tokens_take_little(self) -> None:
        report = attnflow.attribute(random_attention(6, 12, 30), ["word"] * 30)
        self.assertLess(len(report._repr_html_()), 150_000)

    def test_cells_do_not_share_a_name(self) -> None:
        report = attnflow.attribute(random_attention())
        names = [re.findall(r'id="(attnflow-\w+)"', report._repr_html_())[0] for _ in range(2)]
        self.assertNotEqual(*names)

    def test_other_forms_begin_with_the_answer(self) -> None:
        report = attnflow.attribute(random_attention(), list("abcdef"), output_token=5)
        self.assertEqual(report.answer, (report.answer.headline, "rollout", report.answer.map, []))
        self.assertIn("rollout over attention", report.answer.map)
        self.assertIn(report.answer.headline, report._repr_markdown_())
        printed: list[str] = []
        report._repr_pretty_(SimpleNamespace(text=printed.append), False)
        first, second, third = printed[0].split("\n")
        self.assertEqual((first, second), (repr(report), report.answer.headline))
        self.assertTrue(third.startswith(report.answer.map), third)

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
