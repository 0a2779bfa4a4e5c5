"""Tokens declared next to a vocabulary have the ids that transformers gives them, or are refused.

Covers every vocabulary of declared_folders.py with every declaration: a folder is right or refused, never silently
different.
"""

import shutil
import tempfile
import unittest
from pathlib import Path

import declared_folders
import ids_by_attention
import transformers
from ids_by_attention import Server


def reference(folder: Path):
    """transformers' tokenizer of a folder, or None if it makes none."""
    try:
        return transformers.AutoTokenizer.from_pretrained(folder)
    except Exception:  # noqa: BLE001  (it raises all kinds)
        return None


class DeclaredTokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="attnflow.")
        cls.addClassCleanup(held.cleanup)
        cls.model = ids_by_attention.model_of_ids()
        model = Path(held.name) / "model"
        cls.model.save_pretrained(model)
        cls.folders = []
        arguments = []
        for i, base in enumerate(declared_folders.BASES):
            for j, declaration in enumerate(declared_folders.DECLARATIONS):
                folder = Path(held.name) / f"{i}-{j}"
                shutil.copytree(model, folder)
                declared_folders.write(base, declaration, folder)
                cls.folders.append((base, declaration, folder))
                arguments += ["--model", folder]
        cls.server = Server(*arguments)
        cls.addClassCleanup(cls.server.stop)

    def outcome(self, tokenizer, folder: Path, text: str) -> str:
        answer = ids_by_attention.ask(self.server, folder.name, text)
        if answer.status != 200:
            return "refused: " + answer.message
        report = answer.json()
        expected = tokenizer(text, return_token_type_ids=True)
        ids = expected["input_ids"]
        types = (
            expected["token_type_ids"]
            if type(tokenizer).__name__.startswith(("Bert", "Albert", "XLNet"))
            else [0] * len(ids)
        )
        pieces = [token["text"] for token in report["input"]["tokens"]]
        if not ids_by_attention.difference(self.model, report, ids, types) < ids_by_attention.TOLERANCE:
            return f"different: {pieces} for {tokenizer.convert_ids_to_tokens(ids)} {ids}"
        return "same"

    def test_ids(self):
        same = dict.fromkeys((base.name for base in declared_folders.BASES), 0)
        for base, declaration, folder in self.folders:
            is_lost = (base.name, declaration.name) in declared_folders.LOST
            tokenizer = None if is_lost else reference(folder)
            may_refuse = declaration.name in declared_folders.REFUSED | base.refused
            for text in declared_folders.TEXTS if tokenizer else []:
                with self.subTest(base.name, declaration=declaration.name, text=text):
                    outcome = self.outcome(tokenizer, folder, text)
                    if may_refuse and outcome.startswith("refused"):
                        continue
                    self.assertEqual(outcome, "same")
                    same[base.name] += 1
        tried = len(declared_folders.DECLARATIONS) * len(declared_folders.TEXTS)
        for base in declared_folders.BASES:
            floor = 0.6 - len(base.refused) / len(declared_folders.DECLARATIONS)
            self.assertGreater(same[base.name], max(0.25, floor) * tried, base.name)


if __name__ == "__main__":
    unittest.main()
