"""`attnflow explain --referents`: the weights of a mask on words, next to the probabilities of the candidates."""

import json
import unittest

import numpy as np
from support import MODELS, USAGE, CommandTest

EXPLAIN = ("explain", "The author is on Sara about [MASK] book.", "--model", MODELS / "bert_masked_lm")
ASK = ("--candidates", "her,the", "--output-token", "mask", "--referents", "author,Sara")
METHODS = ("raw", "rollout", "flow")


class ReferentsTest(CommandTest):
    def explain(self, *arguments):
        return self.run_program(*EXPLAIN, *arguments)

    def test_document_and_table_say_the_same(self):
        report = json.loads(self.explain(*ASK, "--json").stdout)
        texts = [token["text"] for token in report["input"]["tokens"]]
        positions = [texts.index("author"), texts.index("sara")]
        self.assertEqual(
            report["referents"],
            [{"text": "author", "tokens": positions[:1]}, {"text": "Sara", "tokens": positions[1:]}],
        )
        mask = report["output_token"]
        self.assertEqual(texts[mask], "[MASK]")
        self.explain(*ASK, "-o", "a.md", "-o", "a.npz", "-o", "a.txt")
        made = np.load(self.folder / "a.npz")
        lines = (self.folder / "a.md").read_text().splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("## Weights of "))
        self.assertIn(f'"\\[MASK\\]" (position {mask}) on the referents', lines[first])
        header = next(i for i in range(first, len(lines)) if lines[i].startswith("| layer |"))
        titles = [cell.strip() for cell in lines[header].strip("|").split("|")]
        self.assertEqual(titles[1:], [f"{method}: {word}" for method in METHODS for word in ("author", "Sara")])
        for index, layer in enumerate(made["layers"]):
            cells = [cell.strip() for cell in lines[header + 2 + index].strip("|").split("|")]
            self.assertEqual(int(cells[0]), layer)
            for m, method in enumerate(METHODS):
                values = made[method][index, mask][positions]
                for r in range(2):
                    weight, share = cells[1 + 2 * m + r].split(" ")
                    self.assertAlmostEqual(float(weight.rstrip("°")), values[r], delta=6e-4 * abs(values[r]))
                    self.assertAlmostEqual(float(share.strip("(%)")), 100 * values[r] / values.sum(), delta=0.051)
        candidates = {c["label"]: c["probability"] for c in report["predictions"][0]["candidates"]}
        share = 100 * candidates["her"] / sum(candidates.values())
        said = f"Among the candidates: her {share:.1f}%, the {100 - share:.1f}%"
        printed = self.explain(*ASK).stdout
        for text in (printed, (self.folder / "a.txt").read_text(), "\n".join(lines)):
            self.assertIn(said, text)
        self.assertLessEqual(max(len(line) for line in printed.splitlines()), 80)

    def test_pictures(self):
        self.explain(*ASK, "--view", "referents", "-o", "r.svg", "-o", "r.pdf")
        svg = (self.folder / "r.svg").read_text()
        for text in ("candidates", "author", "Sara", "her"):
            self.assertIn(f">{text}<", svg)

    def test_bad_input(self):
        for words, more in (
            (["'author' twice"], ["author,Author"]),
            (["only a.csv"], ["author,Sara", "-o", "a.csv"]),
            (["only a.png"], ["author,Sara", "-o", "a.png"]),
        ):
            self.refuse(USAGE, ["--referents", *words], *EXPLAIN, "--referents", *more)
        self.refuse(USAGE, ["--view referents", "--referents"], *EXPLAIN, "--view", "referents", "-o", "a.svg")

    def test_candidates_alone_name_the_option(self):
        self.assertIn("--referents", self.explain(*ASK[:4]).stdout)
        self.assertIn("--referents", self.explain(*ASK[:4], "-o", "a.csv").stderr)
        for arguments in (ASK, ASK[2:4]):
            self.assertNotIn("--referents", self.explain(*arguments).stdout)


if __name__ == "__main__":
    unittest.main()
