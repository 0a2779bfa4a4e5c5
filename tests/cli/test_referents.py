"""`attnflow explain --referents`: the weights of a mask on words, next to the probabilities of the candidates."""

import csv
import json
import unittest

import numpy as np
from support import MODELS, USAGE, CommandTest, random_attention

BERT = str(MODELS / "bert_masked_lm")
ROBERTA = str(MODELS / "roberta_masked_lm")
TEXT = "The author is on Sara about [MASK] book."
ASK = ("--candidates", "her,the", "--output-token", "mask", "--referents", "author,Sara")
METHODS = ("raw", "rollout", "flow")


class ReferentsTest(CommandTest):
    def explain(self, *arguments, text=TEXT, model=BERT):
        return self.run_program("explain", text, "--model", model, *arguments)

    def refuse_referents(self, words, referents, *more, text=TEXT):
        return self.refuse(
            USAGE, ["--referents", *words], "explain", text, "--model", BERT, "--referents", referents, *more
        )

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
        self.assertEqual(lines[header].count("share"), 6)
        for index, layer in enumerate(made["layers"]):
            cells = [cell.strip().rstrip("°") for cell in lines[header + 2 + index].strip("|").split("|")]
            self.assertEqual(int(cells[0]), layer)
            for m, method in enumerate(METHODS):
                values = made[method][index, mask][positions]
                for r in range(2):
                    weight, share = cells[1 + 4 * m + 2 * r : 3 + 4 * m + 2 * r]
                    self.assertAlmostEqual(float(weight), values[r], delta=1e-5 * abs(values[r]) + 1e-12)
                    self.assertAlmostEqual(float(share.rstrip("%")), 100 * values[r] / values.sum(), delta=0.051)
        candidates = {c["label"]: c["probability"] for c in report["predictions"][0]["candidates"]}
        share = 100 * candidates["her"] / sum(candidates.values())
        said = f"Among the candidates: her {share:.1f}%, the {100 - share:.1f}%"
        printed = self.explain(*ASK).stdout
        for text in (printed, (self.folder / "a.txt").read_text(), "\n".join(lines)):
            self.assertIn(said, text)
        self.assertLessEqual(max(len(line) for line in printed.splitlines()), 80)

    def test_words_sum_pieces_but_flow_has_a_sink(self):
        text = "The cabinets talked to Sara about [MASK] book."
        ask = ("--output-token", "mask", "--referents", "cabinets,Sara")
        message = self.refuse_referents(["cabinets", "--words", "not the sum"], "cabinets,Sara", text=text)
        self.assertIn("--method raw,rollout", message)
        pieces = json.loads(self.explain(*ask, "--method", "raw,rollout", "--json", text=text).stdout)
        self.assertGreater(len(pieces["referents"][0]["tokens"]), 1)
        words = json.loads(self.explain(*ask, "--words", "--json", text=text).stdout)
        self.assertEqual([len(r["tokens"]) for r in words["referents"]], [1, 1])
        self.assertEqual(words["input"]["tokens"][words["referents"][0]["tokens"][0]]["text"], "cabinets")
        self.explain(*ask, "--words", "-o", "w.npz", "-o", "w.md", text=text)
        self.explain(*ask, "--method", "raw,rollout", "-o", "p.npz", "-o", "p.md", text=text)
        of_words = np.load(self.folder / "w.npz")
        of_pieces = np.load(self.folder / "p.npz")
        for method in ("raw", "rollout"):
            whole = of_words[method][:, words["output_token"], words["referents"][0]["tokens"][0]]
            parts = of_pieces[method][:, pieces["output_token"]][:, pieces["referents"][0]["tokens"]]
            np.testing.assert_allclose(whole, parts.sum(axis=1), atol=1e-12)
        self.assertIn("flow: cabinets", (self.folder / "w.md").read_text())
        self.assertNotIn("flow: cabinets", (self.folder / "p.md").read_text())

    def test_choosing_among_occurrences(self):
        text = "The book is on the book about [MASK] key."
        message = self.refuse_referents(["'book'", "2 times", "book:1", "book:2", "position"], "book,key", text=text)
        self.assertIn("positions 2, 6", message)
        for asked, position in (("book:1", 2), ("BOOK:2", 6), ("6", 6)):
            report = json.loads(self.explain("--referents", f"{asked},key", "--json", text=text).stdout)
            self.assertEqual(report["referents"][0], {"text": "book", "tokens": [position]})
        report = json.loads(self.explain("--referents", "The,the", "--json", text=text).stdout)
        self.assertEqual([r["tokens"] for r in report["referents"]], [[1], [5]])
        both = self.explain("--referents", "book:1,book:2", text=text).stdout
        self.assertIn("book (2)", both)
        self.assertIn("book (6)", both)

    def test_byte_level_pieces(self):
        report = json.loads(
            self.explain(
                "--referents", "key,the", "--json", "--words", text="a key on the <mask>", model=ROBERTA
            ).stdout
        )
        self.assertEqual([r["text"] for r in report["referents"]], ["key", "the"])

    def test_pictures(self):
        names = [f"r.{kind}" for kind in ("svg", "pdf", "png")]
        self.explain(*ASK, "--view", "referents", *(part for name in names for part in ("-o", name)))
        svg = (self.folder / "r.svg").read_text()
        for text in ("candidates", "raw", "rollout", "flow", "author", "Sara", "her", "layer"):
            self.assertIn(f">{text}<", svg)
        for name, magic in (("r.pdf", b"%PDF-"), ("r.png", b"\x89PNG")):
            self.assertTrue((self.folder / name).read_bytes().startswith(magic), name)
        self.explain(*ASK, "--view", "referents", "-o", "again.svg", "--threads", "1")
        self.assertEqual(svg, (self.folder / "again.svg").read_text())

    def test_csv_has_the_values_of_every_token(self):
        self.explain(*ASK, "-o", "a.csv", "-o", "a.json")
        report = json.loads((self.folder / "a.json").read_text())
        with (self.folder / "a.csv").open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["input_text"] == "Sara"]
        self.assertEqual({int(row["input_token"]) for row in rows}, set(report["referents"][1]["tokens"]))
        self.assertEqual([int(row["layer"]) for row in rows], report["settings"]["layers"])

    def test_attention_files(self):
        weights = random_attention(tokens=4)
        bare = self.save_attention(weights, "bare.npz")
        self.refuse(USAGE, ["--referents", "without tokens"], "explain", "--attention", bare, "--referents", "a,b")
        printed = self.run_program("explain", "--attention", bare, "--referents", "1,2", "--output-token", "0").stdout
        self.assertIn("Weights of output token 0 on the referents", printed)
        named = self.save_attention(weights, "named.npz", tokens=np.array(["a", "b", "C", "d"]))
        report = json.loads(self.run_program("explain", "--attention", named, "--referents", "b,c", "--json").stdout)
        self.assertEqual(report["referents"], [{"text": "b", "tokens": [1]}, {"text": "C", "tokens": [2]}])

    def test_bad_input(self):
        self.refuse_referents(["'autor'", "The author is on Sara"], "autor,Sara")
        self.refuse_referents(["found 1"], "author")
        self.refuse_referents(["found 9"], ",".join("abcdefghi"))
        self.refuse_referents(["'author' twice"], "author,Author")
        self.refuse_referents(["only a.csv"], "author,Sara", "-o", "a.csv")
        self.refuse_referents(["only a.png"], "author,Sara", "-o", "a.png")
        self.refuse(
            USAGE,
            ["--view referents", "--referents"],
            "explain",
            TEXT,
            "--model",
            BERT,
            "--view",
            "referents",
            "-o",
            "a.svg",
        )

    def test_candidates_alone_name_the_option(self):
        self.assertIn("--referents", self.explain(*ASK[:4]).stdout)
        self.assertIn("--referents", self.explain(*ASK[:4], "-o", "a.csv").stderr)
        for arguments in (ASK, ASK[2:4]):
            self.assertNotIn("--referents", self.explain(*arguments).stdout)


if __name__ == "__main__":
    unittest.main()
