"""Folders with SentencePiece files and no tokenizer.json: does the program give a text the ids that it should have?

The program says pieces, not ids. So each folder has a tiny BERT with random weights, and the attention of transformers'
model of it, given the right ids and type ids, is compared: another id anywhere is another number. Which ids are right is
asked of sentencepiece_folders.py.
"""

import base64
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import sentencepiece_folders
import torch
import transformers

ROOT = Path(__file__).resolve().parent.parent.parent
# By its path: other folders of tests have a module of the name.
specification = importlib.util.spec_from_file_location("serve_support", ROOT / "tests" / "serve" / "support.py")
serving = importlib.util.module_from_spec(specification)
sys.modules["serve_support"] = serving
specification.loader.exec_module(serving)
PROGRAM, Server = serving.PROGRAM, serving.Server

TOLERANCE = 2e-5
VOCABULARY = 1500
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def model_of_ids() -> transformers.BertModel:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=VOCABULARY, type_vocab_size=3, max_position_embeddings=256, **sizes)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


class SentencePieceFolders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="attnflow.")
        cls.addClassCleanup(held.cleanup)
        cls.model = model_of_ids()
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
        asked = {"model": folder.path.name, "text": text, "method": ["raw"], "keep_attention": True}
        return self.server.post("explain", asked if pair is None else asked | {"pair": pair})

    def report(self, folder, text: str, pair: str | None) -> dict:
        answer = self.ask(folder, text, pair)
        self.assertEqual(answer.status, 200, f"{text!r}: {answer.body.decode()}")
        return answer.json()

    def compare(self, folder, ids: list[int], types: list[int], text: str, pair: str | None = None) -> None:
        report = self.report(folder, text, pair)
        found = [token["text"] for token in report["input"]["tokens"]]
        self.assertEqual(len(found), len(ids), f"{text!r}: {found}, expected {ids}")
        with torch.no_grad():
            output = self.model(torch.tensor([ids]), token_type_ids=torch.tensor([types]), output_attentions=True)
        array = report["arrays"]["attention"]
        self.assertEqual(array["dtype"], "f32")
        attention = np.frombuffer(base64.b64decode(array["data"]), dtype="<f4").reshape(array["shape"])
        expected = torch.stack(output.attentions)[:, 0].numpy()
        self.assertEqual(attention.shape, expected.shape)
        self.assertLess(np.abs(attention - expected).max(), TOLERANCE, f"{text!r}: {found}, expected {ids}")

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
