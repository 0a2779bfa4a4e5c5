"""Folders with SentencePiece files and no tokenizer.json: does the program give a text the right ids?

sentencepiece_folders.py knows the right ids, and ids_by_attention.py finds out the program's.
"""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import ids_by_attention
import sentencepiece_folders
from ids_by_attention import PROGRAM, TOLERANCE, Server


class SentencePieceFolders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="attnflow.")
        cls.addClassCleanup(held.cleanup)
        cls.model = ids_by_attention.model_of_ids()
        cls.folders = {}
        arguments = []
        for row in sentencepiece_folders.ROWS:
            path = Path(held.name) / row.name.replace(" ", "-").replace("'", "")
            cls.model.save_pretrained(path)
            cls.folders[row.name] = sentencepiece_folders.Folder(row, path)
            arguments += ["--model", path]
        cls.server = Server(*arguments)
        cls.addClassCleanup(cls.server.stop)

    def ask(self, folder, text: str, pair: str | None):
        return ids_by_attention.ask(self.server, folder.path.name, text, pair)

    def report(self, folder, text: str, pair: str | None) -> dict:
        answer = self.ask(folder, text, pair)
        self.assertEqual(answer.status, 200, f"{text!r}: {answer.body.decode()}")
        return answer.json()

    def compare(self, folder, ids: list[int], types: list[int], text: str, pair: str | None = None) -> None:
        report = self.report(folder, text, pair)
        found = [token["text"] for token in report["input"]["tokens"]]
        self.assertEqual(len(found), len(ids), f"{text!r}: {found}, expected {ids}")
        difference = ids_by_attention.difference(self.model, report, ids, types)
        self.assertLess(difference, TOLERANCE, f"{text!r}: {found}, expected {ids}")

    def compare_all(self, name: str) -> None:
        folder = self.folders[name]
        references = []
        if folder.row.by_transformers:
            references.append(folder.by_transformers)
        if folder.row.number:
            references.append(folder.by_sentencepiece)
        self.assertTrue(references)
        for reference in references:
            texts = [(text, None) for text in [*sentencepiece_folders.TEXTS, folder.row.typed]]
            for text, pair in texts + sentencepiece_folders.PAIRS:
                with self.subTest(name, by=reference.__name__, text=text, pair=pair):
                    ids, types = reference(text, pair)
                    if pair is None and ids == reference("", None)[0]:
                        answer = self.ask(folder, text, pair)
                        self.assertEqual(answer.status, 400)
                        self.assertIn("expected text with at least one token", answer.message)
                    else:
                        self.compare(folder, ids, types, text, pair)

    def test_the_ids_of_every_family(self):
        for name in self.folders:
            self.compare_all(name)

    def test_another_id_is_seen(self):
        folder = self.folders["t5"]
        ids, types = folder.by_sentencepiece("the key", None)
        self.compare(folder, ids, types, "the key")
        with self.assertRaises(AssertionError):
            self.compare(folder, [ids[0] + 1, *ids[1:]], types, "the key")

    def test_the_program_says_pieces(self):
        report = self.report(self.folders["marian"], ">>fr<< the key", None)
        self.assertEqual([token["text"] for token in report["input"]["tokens"]], [">>fr<<", "▁the", "▁key", "</s>"])
        self.assertEqual([token["special"] for token in report["input"]["tokens"]], [False, False, False, True])

    def test_the_families_of_the_program_are_here(self):
        rows = {row.tokenizer_class for row in sentencepiece_folders.ROWS}
        folder = self.folders["t5"].path.parent / "unknown"
        folder.mkdir()
        self.model.save_pretrained(folder)
        (folder / "spiece.model").write_bytes((self.folders["t5"].path / "spiece.model").read_bytes())
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BigBirdTokenizer"}))
        command = [PROGRAM, "explain", "a", "--model", str(folder)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        self.assertIn('found "BigBirdTokenizer"', said)
        listed = {word.strip(",().") for word in said.split() if word.strip(",().").endswith("Tokenizer")}
        self.assertEqual(listed - {"AutoTokenizer", "BigBirdTokenizer"}, rows, said)


if __name__ == "__main__":
    unittest.main()
