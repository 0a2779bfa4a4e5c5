"""Texts for explain() and generate(): the same numbers as for the text, or a refusal that names the argument."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import torch
import transformers
from loading import BERT, DECODERS, MODELS, PackageTest, like, loaded

import attnflow

TEXT, LONGER = "the key is [MASK]", "the key to the cabinets is here"


def document_of(report: attnflow.Report) -> Any:
    return json.loads(report.to_json())


class Inputs(PackageTest):
    tokenizer: Any
    model: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.model, cls.tokenizer = loaded()

    def explain(self, given: Any, **options: Any) -> Any:
        return attnflow.explain(self.model, self.tokenizer, given, **({"method": "rollout"} | options))

    def test_inputs_by_name(self) -> None:
        batch = self.tokenizer(TEXT, return_tensors="pt")
        expected = self.explain(TEXT)
        plain = attnflow.explain(self.model, self.tokenizer, inputs=batch, method="rollout")
        self.assertEqual(document_of(plain), document_of(expected))
        names = [f"t{number}" for number in range(len(expected.tokens))]
        named = attnflow.explain(self.model, self.tokenizer, inputs=dict(batch), tokens=names, method="rollout")
        self.assertEqual((named.tokens, named.labels, named.text), (expected.tokens, names, " ".join(names)))
        self.assertEqual((named.special, named.output_token), (expected.special, expected.output_token))
        np.testing.assert_array_equal(named.rollout, expected.rollout)
        several = self.tokenizer([TEXT, LONGER], return_tensors="pt", padding=True)
        counts = [int(row.sum()) for row in several["attention_mask"]]
        lists = [["a"] * count for count in counts]
        for one, tokens in zip(
            attnflow.explain(self.model, self.tokenizer, inputs=several, tokens=lists, method="rollout"),
            lists,
            strict=True,
        ):
            self.assertEqual(one.labels, tokens)
        refused: list[tuple[str, dict[str, Any]]] = [
            (f"tokens: expected {len(names)} names, .* found 2", {"inputs": batch, "tokens": ["a", "b"]}),
            (r"tokens\[1\]: expected .* found 1", {"inputs": several, "tokens": [lists[0], ["a"]]}),
            ("tokens: expected a list of texts", {"inputs": batch, "tokens": "abc"}),
            ("tokens: expected inputs, whose tokens these name, found text", {"text": TEXT, "tokens": names}),
            ("expected text or inputs, found both", {"text": TEXT, "inputs": batch}),
            ("expected text or inputs, found neither", {}),
            ("inputs: expected what a tokenizer or processor returned, found a text", {"inputs": TEXT}),
        ]
        for words, given in refused:
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.explain(self.model, self.tokenizer, **given)

    def test_lists_of_options(self) -> None:
        ask: dict[str, Any] = {"method": "rollout", "mixing": "relevance", "check": False}
        by_name = self.explain(TEXT, **(ask | {"method": "flow"}), target="key", against="the,is", certificate="0,1")
        by_list = self.explain(
            TEXT, **(ask | {"method": "flow"}), target="key", against=["the", "is"], certificate=[0, 1]
        )
        self.assertEqual(document_of(by_list), document_of(by_name))
        ids = [self.tokenizer.convert_tokens_to_ids(word) for word in ("the", "is")]
        by_id = self.explain(TEXT, **ask, target="key", against=ids)
        self.assertEqual(by_id.target, by_name.target)
        pairs = self.explain(TEXT, **(ask | {"method": "flow"}), certificate=[[0, 1], ("cls", 2)])
        self.assertEqual(len(document_of(pairs)["certificates"]), 2)

    def test_encodings_are_the_text(self) -> None:
        expected = self.explain(TEXT)
        ids = self.tokenizer(TEXT)["input_ids"]
        forms: dict[str, Any] = {
            "lists": self.tokenizer(TEXT),
            "tensors": self.tokenizer(TEXT, return_tensors="pt"),
            "arrays": self.tokenizer(TEXT, return_tensors="np"),
            "dict": dict(self.tokenizer(TEXT)),
            "a row of a tokenized data set": {
                "text": "another",
                "label": 1,
                "input_ids": ids,
                "attention_mask": [1] * len(ids),
            },
            "padded": self.tokenizer(TEXT, return_tensors="pt", padding="max_length", max_length=12),
            "padded in front": self.tokenizer(TEXT, padding="max_length", max_length=12, padding_side="left"),
            "ids": ids,
            "ids as a tuple": tuple(ids),
            "ids as an array": np.array(ids),
            "ids as a tensor": torch.tensor([ids]),
            "of tokenizers": self.tokenizer(TEXT).encodings[0],
            "of NumPy": np.str_(TEXT),
            "of NumPy, an array": np.array(TEXT),
        }
        for name, given in forms.items():
            with self.subTest(name):
                found = self.explain(given)
                self.assert_same_bits(found.rollout, expected.rollout)
                self.assertEqual(document_of(found)["input"], document_of(expected)["input"])
                self.assertEqual(found.predictions, expected.predictions)
                self.assertEqual(found.check, expected.check)

    def test_several(self) -> None:
        expected = [self.explain(text) for text in (TEXT, LONGER)]
        batch = self.tokenizer([TEXT, LONGER], padding=True, return_tensors="pt")
        encodings = [self.tokenizer(text) for text in (TEXT, LONGER)]
        forms: dict[str, Any] = {
            "a batch": batch,
            "lists": self.tokenizer([TEXT, LONGER]),
            "encodings": encodings,
            "ids": [one["input_ids"] for one in encodings],
            "a generator": (text for text in (TEXT, LONGER)),
            "an array": np.array([TEXT, LONGER]),
            "a column of a data set": datasets.Dataset.from_dict({"text": [TEXT, LONGER]})["text"],
            "mixed": [TEXT, encodings[1]],
        }
        for name, given in forms.items():
            with self.subTest(name):
                found = self.explain(given)
                self.assertEqual([one.tokens for one in found], [one.tokens for one in expected])
                for one, other in zip(found, expected, strict=True):
                    self.assert_same_bits(one.rollout, other.rollout)
        self.assertEqual(self.explain([]), [])
        self.assertEqual([one.tokens for one in self.explain([TEXT])], [expected[0].tokens])

    def test_ids_that_no_text_gives(self) -> None:
        ids = self.tokenizer(TEXT)["input_ids"]
        for name, given in (("twice", ids + ids), ("without a template", ids[1:-1]), ("backwards", ids[::-1])):
            with self.subTest(name):
                report = self.explain(given, check=False, mixing="attention")
                with attnflow.capture(self.model) as captured, torch.no_grad():
                    self.model(input_ids=torch.tensor([given]))
                np.testing.assert_allclose(report.rollout, attnflow.rollout(captured), atol=1e-6)
                document = document_of(report)
                self.assertEqual(len(report.tokens), len(given))
                self.assertIn("key", document["input"]["text"])

    def test_pairs_are_those_of_the_program(self) -> None:
        first, second = "the keys are here", "a cabinet [MASK]"
        for name in ("bert_masked_lm", "bert_classification", "roberta_classification"):
            model, tokenizer = loaded(name)
            if name.startswith("roberta"):  # 20 positions
                first, second = "the keys", "here"
            arguments = ("--model", MODELS / name, "--method", "rollout", "--mixing", "attention", "-o", "out.json")
            self.run_program("explain", first, "--pair", second, *arguments)
            program = attnflow.Report.from_json((self.folder / "out.json").read_text(encoding="utf-8"))
            encoded = tokenizer(first, second, return_tensors="pt")
            for given in ((first, second), encoded, [(first, second)]):
                with self.subTest(name, given=type(given).__name__):
                    found: Any = attnflow.explain(model, tokenizer, given, method="rollout", mixing="attention")
                    report = found[0] if isinstance(given, list) else found
                    np.testing.assert_allclose(report.rollout, program.rollout, atol=2e-5)
                    self.assertEqual(document_of(report)["input"], document_of(program)["input"])
            with attnflow.capture(model) as captured, torch.no_grad():
                output = model(**encoded)
            np.testing.assert_allclose(report.rollout, attnflow.rollout(captured), atol=1e-6)
            if report.predictions and report.predictions[0].kind == "classification":
                probability = output.logits.softmax(-1).max().item()
                self.assertAlmostEqual(report.predictions[0].choices[0][1], probability, places=5)

    def test_what_is_no_text_is_named(self) -> None:
        row = {"text": "the key", "label": 1}
        ids = self.tokenizer(TEXT)["input_ids"]
        frame = pandas.DataFrame([row])
        given: list[tuple[Any, str]] = [
            (b"the key", "found bytes; pass bytes.decode()"),
            (Path("a.txt"), "path.read_text()"),
            (row, "found dict with 'text', 'label', without input_ids; pass row['text']"),
            (frame, 'found DataFrame; pass table["text"].tolist()'),
            (frame["text"], "found Series; pass a column as series.tolist()"),
            (frame.iloc[0], 'a row as row["text"]'),
            (datasets.Dataset.from_list([row]), "attnflow.data.explain()"),
            (datasets.DatasetDict(train=datasets.Dataset.from_list([row])), 'list(dataset["train"]["text"])'),
            (("a", "b", "c"), "found tuple of 3 texts, not two; pass a list of texts"),
            ([["the", "key"], ["a"]], 'text[0]: expected a text, a tuple of two texts, .*join words by " ".join'),
            (["the key", b"a"], "text[1]: expected a text, .* found bytes"),
            ([row], "text[0]: .* pass row['text']"),
            ([{"role": "user", "content": "the key"}], "text of the user's last turn"),
            ({"the key"}, "found set; pass a list"),
            (None, "expected text or inputs, found neither"),
            (torch.rand(1, 4), "torch.float32, [1, 4]; attention goes to attnflow.attribute()"),
            (torch.tensor([ids, [*ids[:-1], self.tokenizer.pad_token_id]]), "with its attention_mask"),
            ({"input_ids": [ids], "attention_mask": [[1, 1, 0, *[1] * (len(ids) - 3)]]}, "found some inside it"),
            ({"input_ids": ids, "attention_mask": [1]}, "attention_mask of the shape of input_ids"),
            ({"input_ids": ids, "position_ids": ids}, "found position_ids, which the model reads as well"),
            ({"input_ids": TEXT}, "expected input_ids as whole numbers"),
            ({"input_ids": []}, "expected text with at least one token, found none"),
            ([10**6], "the tokenizer belongs to another model"),
            ([-100, 5], "expected token ids from 0, found -100"),
        ]
        import re

        for value, words in given:
            with self.subTest(words), self.assertRaises(attnflow.Error) as caught:
                self.explain(value)
            pattern = ".*".join(re.escape(part) for part in words.split(".*"))
            self.assertRegex(str(caught.exception), pattern)

    def test_numbers_as_targets(self) -> None:
        model = loaded("bert_classification")[0]
        for number in (0, 1):
            by_number: dict[str, Any] = {"target": number}
            report = attnflow.explain(model, self.tokenizer, "the key", mixing="relevance", **by_number)
            assert report.target is not None
            self.assertEqual(report.target.label, model.config.id2label[number])
        decoder, reader = loaded("llama_grouped")
        by_number = {"target": np.int64(7), "output_token": -1}
        report = attnflow.explain(decoder, reader, "the key", mixing="relevance", **by_number)
        by_id = attnflow.explain(decoder, reader, "the key", mixing="relevance", target="id:7")
        self.assertEqual(report.target, by_id.target)

    def test_prompts(self) -> None:
        model, tokenizer = loaded("llama_grouped")
        expected = attnflow.generate(model, tokenizer, "the key to", tokens=3)
        for given in (tokenizer("the key to"), tokenizer("the key to", return_tensors="pt")["input_ids"]):
            found = attnflow.generate(model, tokenizer, given, tokens=3)
            self.assertEqual(found.generated_tokens, expected.generated_tokens)
            self.assertEqual(document_of(found)["input"], document_of(expected)["input"])
            self.assert_same_bits(found.rollout, expected.rollout)
        refused: list[tuple[Any, dict[str, Any], str]] = [
            (["a", "b"], {}, "expected one prompt, found a list of 2"),
            (("a", "b"), {}, "found a pair"),
            (b"a", {}, "found bytes"),
            (tokenizer("a"), {"chat": True}, "expected a text with chat=True"),
        ]
        for given, options, words in refused:
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.generate(model, tokenizer, given, **options)
        ids = tokenizer("the key to", return_tensors="pt")["input_ids"]
        eager = transformers.AutoModelForCausalLM.from_pretrained(
            DECODERS / "llama_grouped", attn_implementation="eager"
        )
        output = eager.eval().generate(
            ids,
            max_new_tokens=4,
            do_sample=False,
            output_attentions=True,
            return_dict_in_generate=True,
            eos_token_id=None,
        )
        with torch.no_grad():
            once = eager(output.sequences[:, :-1], output_attentions=True)
        self.assertEqual(len(output.attentions), 4)
        np.testing.assert_allclose(attnflow.rollout(output), attnflow.rollout(once), atol=1e-6)
        self.assert_same_bits(attnflow.rollout(output), attnflow.rollout(output.attentions))


class Wrapped(PackageTest):
    def test_the_model_inside_is_explained(self) -> None:
        model, tokenizer = loaded()
        expected = attnflow.explain(model, tokenizer, TEXT, method="rollout")

        class Lora:
            is_prompt_learning = False

        adapted = like("peft", "PeftModel", peft_config={"default": Lora()}, get_base_model=lambda _: model)
        parts = [like("sentence_transformers", "Transformer", auto_model=model)]
        embedding = like("sentence_transformers", "SentenceTransformer", __iter__=lambda _: iter(parts))
        compiled: Any = torch.__dict__["compile"]  # later than the PyTorch of type checks
        wrappers: list[Any] = [
            compiled(model),
            torch.nn.DataParallel(model),
            compiled(torch.nn.DataParallel(model)),
            transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer),
            adapted,
            embedding,
        ]
        for wrapper in wrappers:
            with self.subTest(type(wrapper).__name__):
                found = attnflow.explain(wrapper, tokenizer, TEXT, method="rollout")
                self.assert_same_bits(found.rollout, expected.rollout)
        Lora.is_prompt_learning = True
        with self.assertRaisesRegex(attnflow.Error, "virtual tokens before the text"):
            attnflow.explain(adapted, tokenizer, TEXT)
        with self.assertRaisesRegex(attnflow.Error, "compile.*model._orig_mod"), attnflow.capture(wrappers[0]):
            pass

    def test_a_model_of_images_and_texts_reads_a_text(self) -> None:
        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
        tokenizer = loaded("llama_grouped")[1]
        text = {**sizes, "num_key_value_heads": 1, "head_dim": 16, "vocab_size": 300, "max_position_embeddings": 64}
        config = transformers.Gemma3Config(
            text_config=text, vision_config={**sizes, "image_size": 28, "patch_size": 14}, mm_tokens_per_image=1
        )
        torch.manual_seed(1)
        model = transformers.Gemma3ForConditionalGeneration(config).eval()
        ids = tokenizer("the key to the cabinets", return_tensors="pt")["input_ids"]
        with attnflow.capture(model) as captured, torch.no_grad():
            model(input_ids=ids)
        self.assertEqual(
            repr(captured),
            "<attnflow.Captured: Gemma3ForConditionalGeneration, 2 calls of attention "
            f"[1, 2, {ids.shape[1]}, {ids.shape[1]}]>",
        )
        report = attnflow.explain(model, tokenizer, "the key to the cabinets", method="rollout", mixing="attention")
        np.testing.assert_allclose(report.rollout, attnflow.rollout(captured), atol=1e-6)
        self.assertEqual(report.predictions[0].kind, "next")

    def test_heads_that_score_something_else(self) -> None:
        tokenizer = loaded()[1]
        config = transformers.AutoConfig.from_pretrained(BERT)
        for kind, words in (
            (
                transformers.BertForQuestionAnswering,
                "expected a question and that text, found no second text",
            ),
            (
                transformers.BertForMultipleChoice,
                "which has no head that scores anything",
            ),
        ):
            with self.subTest(kind.__name__), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.explain(kind(config).eval(), tokenizer, "the key", mixing="relevance")


if __name__ == "__main__":
    unittest.main()
