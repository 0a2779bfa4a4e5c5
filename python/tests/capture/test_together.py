"""Several texts run in padded batches, and give what each of them gives alone."""

from __future__ import annotations

import threading
import unittest
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers
from architectures import FAMILIES
from attnflow.backend import Backend, OtherFacts
from loading import PackageTest, loaded

import attnflow

TEXTS = ("the key", "the keys are on", "a key is here", "the", "keys to the cabinet", "the old key is here")
SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "vocab_size": 200,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "initializer_range": 0.5,
}
GROUPED = SMALL | {"num_key_value_heads": 1}
EXPERTS: dict[str, Any] = {"num_local_experts": 4, "num_experts_per_tok": 2}


class Plain:
    """A tokenizer for ids alone."""

    is_fast = False
    mask_token_id = 42
    unk_token_id = 3
    all_special_ids: tuple[int, ...] = ()

    def __call__(self, text: str) -> Any:
        raise ValueError(f"{text} is no list of ids")

    def convert_ids_to_tokens(self, token: int) -> str:
        return str(token)

    def convert_tokens_to_string(self, pieces: list[str]) -> str:
        return " ".join(pieces)

    def decode(self, ids: Any, **_: Any) -> str:
        return " ".join(map(str, ids if isinstance(ids, list) else [ids]))


def random_ids(vocabulary: int = 200) -> list[list[int]]:
    generator = np.random.default_rng(1)
    return [generator.integers(5, vocabulary, size=size).tolist() for size in (9, 4, 12, 7, 11, 6, 8, 12)]


def tiny(kind: str, **options: Any) -> Any:
    """A random model: "Bert" or "Llama", and what it predicts."""
    family = next(name for name in ("Bert", "Roberta", "Llama", "Mixtral", "GPT2") if kind.startswith(name))
    torch.manual_seed(3)
    return getattr(transformers, kind)(getattr(transformers, f"{family}Config")(**options)).eval()


@contextmanager
def passes(model: Any) -> Iterator[list[int]]:
    """How many texts each run of the model has."""
    found: list[int] = []

    def count(_: Any, arguments: Any, options: Any) -> None:
        found.append(len(options["input_ids"]))

    handle = model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield found
    finally:
        handle.remove()


class SameAsAlone(PackageTest):
    def check(self, model: Any, tokenizer: Any, texts: Any, most: float = 1e-5, **options: Any) -> list[int]:
        """Compares a list's reports with those of its texts; returns how many texts each run had."""
        attnflow.explain(model, tokenizer, texts[:2], **options)  # whether the model can have batches is found once
        with passes(model) as found:
            together = attnflow.explain(model, tokenizer, texts, **options)
        self.assertEqual(len(together), len(texts))
        for text, report in zip(texts, together, strict=True):
            alone = attnflow.explain(model, tokenizer, text, **options)
            self.assertEqual(report.tokens, alone.tokens)
            self.assertEqual(report.methods, alone.methods)
            self.assertEqual(report.notes, alone.notes)
            self.assertEqual(report.output_token, alone.output_token)
            for method in alone.methods:
                if method in alone.scores:
                    np.testing.assert_allclose(report.scores[method], alone.scores[method], atol=most)
                else:
                    np.testing.assert_allclose(getattr(report, method), getattr(alone, method), atol=most)
            self.assertEqual(report.target is None, alone.target is None)
            if report.target is not None and alone.target is not None:
                self.assertEqual(report.target.label, alone.target.label)
                self.assertAlmostEqual(report.target.value, alone.target.value, places=4)
            for one, other in zip(report.predictions, alone.predictions, strict=True):
                self.assertEqual(one.position, other.position)
                self.assertEqual([label for label, _ in one.choices], [label for label, _ in other.choices])
                np.testing.assert_allclose([p for _, p in one.choices], [p for _, p in other.choices], atol=1e-5)
            self.assertEqual(report.check is None, alone.check is None)
            if report.check is not None and alone.check is not None:
                self.assertEqual(report.check.quantity, alone.check.quantity)
                self.assertAlmostEqual(report.check.value, alone.check.value, places=4)
        return found

    def families(self) -> Iterator[tuple[Any, Any, Any]]:
        for name in ("bert_masked_lm", "bert_classification", "roberta_classification", "gpt2_tied", "mistral_window"):
            with self.subTest(name):
                model, tokenizer = loaded(name)
                yield model, tokenizer, [f"{text} [MASK]" if "masked" in name else text for text in TEXTS]
        with self.subTest("answers"):
            answers = tiny("BertForQuestionAnswering", **SMALL)
            yield answers, loaded("bert_masked_lm")[1], [("the keys", text) for text in TEXTS]
        for name, model in (
            ("Llama", tiny("LlamaForCausalLM", **GROUPED)),
            ("Mixtral", tiny("MixtralForCausalLM", **GROUPED, **EXPERTS)),
            ("a decoder that classifies", tiny("LlamaForSequenceClassification", **GROUPED, num_labels=3)),
            ("classes of tokens", tiny("RobertaForTokenClassification", **SMALL | {"pad_token_id": 1})),
        ):
            with self.subTest(name):
                yield model, Plain(), random_ids()

    def test_attention(self) -> None:
        for model, tokenizer, texts in self.families():
            for options in ({}, {"heads": "max"}, {"keep_attention": True}, {"only_output_token": True}):
                asked: dict[str, Any] = {"mixing": "attention", "method": "raw,rollout", "check": False} | options
                found = self.check(model, tokenizer, texts, 1e-6, **asked)
                self.assertLess(len(found), len(texts))
                self.assertGreater(max(found), 1)

    def test_everything_by_default(self) -> None:
        for model, tokenizer, texts in self.families():
            self.check(model, tokenizer, texts, 1e-4)

    def test_contributions_and_relevance(self) -> None:
        for model, tokenizer, texts in self.families():
            for mixing in ("norm", "alti", "relevance", "gradient"):
                most = 1e-5 if mixing in ("norm", "alti") else 1e-4
                found = self.check(model, tokenizer, texts, most, mixing=mixing, method="raw,rollout", check=False)
                self.assertLess(len(found), len(texts), mixing)

    def test_other_methods(self) -> None:
        model, tokenizer = loaded("bert_classification")
        self.check(model, tokenizer, list(TEXTS), 1e-4, method="rollout,attnlrp,gradient-x-input,blank-out")
        model, tokenizer = loaded("llama_grouped")
        self.check(model, tokenizer, list(TEXTS), 1e-4, method="rollout,logit")
        self.check(model, tokenizer, list(TEXTS), 5e-5, mixing="value-zeroing", method="rollout", check=True)

    def test_tokenizers_that_pad_in_front(self) -> None:
        model, tokenizer = loaded("llama_grouped")
        tokenizer.padding_side = "left"
        found = self.check(model, tokenizer, list(TEXTS), 1e-6, mixing="attention", method="rollout", check=False)
        self.assertLess(len(found), len(TEXTS))

    def test_a_head_of_ones_own(self) -> None:
        model, tokenizer = loaded("bert_base")
        for head in (lambda output: output.last_hidden_state.mean(1), lambda output: output.last_hidden_state[:, 0]):
            self.check(model, tokenizer, list(TEXTS), 1e-4, head=head, method="rollout", check=True)


class Alone(SameAsAlone):
    """What cannot have batches, or not the same ones, is explained text by text."""

    test_attention = test_everything_by_default = test_contributions_and_relevance = None  # type: ignore[assignment]
    test_other_methods = test_tokenizers_that_pad_in_front = test_a_head_of_ones_own = None  # type: ignore[assignment]

    def alone(self, model: Any, tokenizer: Any, texts: Any, **options: Any) -> None:
        asked: dict[str, Any] = {"mixing": "attention", "method": "rollout", "check": False} | options
        self.assertEqual(set(self.check(model, tokenizer, texts, **asked)), {1})

    def test_outputs_that_depend_on_padding(self) -> None:
        class Mean(transformers.BertForSequenceClassification):  # type: ignore[misc]
            def forward(self, *arguments: Any, **options: Any) -> Any:
                states = self.bert(*arguments, **options).last_hidden_state
                return transformers.modeling_outputs.SequenceClassifierOutput(logits=self.classifier(states.mean(1)))

        torch.manual_seed(3)
        self.alone(Mean(transformers.BertConfig(**SMALL)).eval(), Plain(), random_ids())

    def test_attention_to_padding(self) -> None:
        class NoMask(transformers.BertModel):  # type: ignore[misc]
            def forward(self, input_ids: Any, attention_mask: Any = None, **options: Any) -> Any:
                return super().forward(input_ids, **options)

        torch.manual_seed(3)
        self.alone(NoMask(transformers.BertConfig(**SMALL)).eval(), Plain(), random_ids())

    def test_experts_of_a_capacity(self) -> None:
        model = tiny("MixtralForCausalLM", **GROUPED, **EXPERTS)
        model.config.expert_capacity = 4
        self.alone(model, Plain(), random_ids())

    def test_indexers(self) -> None:
        family = next(one for one in FAMILIES if one.name == "deepseek_v32")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.alone(family.build(), Plain(), random_ids(50))

    def test_decoders_that_classify_without_padding(self) -> None:
        model = tiny("LlamaForSequenceClassification", **GROUPED | {"pad_token_id": None}, num_labels=3)
        self.alone(model, Plain(), random_ids())

    def test_half_precision(self) -> None:
        self.alone(tiny("LlamaForCausalLM", **GROUPED).to(torch.bfloat16), Plain(), random_ids())

    def test_outputs_without_names(self) -> None:
        model, tokenizer = loaded("bert_base", return_dict=False)
        self.alone(model, tokenizer, list(TEXTS))

    def test_what_fails_in_a_batch(self) -> None:
        """A batch that the model has no room for is explained text by text, and never by another mixing."""
        model, tokenizer = loaded("bert_classification")
        expected = [attnflow.explain(model, tokenizer, text, method="rollout", check=False) for text in TEXTS]
        usual = Backend.run_each

        def no_room(backend: Any, texts: Any) -> Any:
            if len(texts) > 1:
                raise RuntimeError("can't allocate memory")
            return usual(backend, texts)

        with mock.patch.object(Backend, "run_each", no_room):
            found = attnflow.explain(model, tokenizer, list(TEXTS), method="rollout", check=False)
        for report, other in zip(found, expected, strict=True):
            self.assertEqual(report.settings["mixing"], other.settings["mixing"])
            np.testing.assert_array_equal(report.rollout, other.rollout)

    def test_models_that_are_not_what_they_say(self) -> None:
        """Other facts, found in the first layer, hold for each text."""
        model = tiny("LlamaForCausalLM", **GROUPED)
        model.config.num_attention_heads = 4
        usual = Backend._confirm
        found: list[OtherFacts] = []

        def seen(*given: Any) -> None:
            try:
                usual(*given)
            except OtherFacts as facts:
                found.append(facts)
                raise

        with mock.patch.object(Backend, "_confirm", seen):
            self.check(model, Plain(), random_ids(), 1e-6, mixing="attention", method="rollout", check=False)
        self.assertTrue(found)


class Several(unittest.TestCase):
    def test_errors_name_the_text(self) -> None:
        model, tokenizer = loaded("bert_masked_lm")
        cases: tuple[tuple[list[str], dict[str, Any], str], ...] = (
            (["the key", "the " * 40, ""], {}, r"text\[1\]: expected at most"),
            (["the key", "", "the " * 40], {}, r"text\[1\]: expected text with at least one token"),
            (["the key is here", "the", "keys"], {"output_token": 4}, r"text\[1\]: output_token"),
        )
        for texts, options, words in cases:
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.explain(model, tokenizer, texts, mixing="attention", **options)

    def test_rows_of_attention_that_miss_1(self) -> None:
        model, tokenizer = loaded("bert_masked_lm")
        attnflow.explain(model, tokenizer, list(TEXTS), mixing="attention")
        usual = torch.nn.functional.softmax
        with (
            mock.patch.object(torch.nn.functional, "softmax", lambda *given, **named: 2 * usual(*given, **named)),
            self.assertRaisesRegex(attnflow.Error, r"text\[0\]: .*rows that sum to 1"),
        ):
            attnflow.explain(model, tokenizer, list(TEXTS), mixing="attention")

    def test_interrupts(self) -> None:
        model, tokenizer = loaded("bert_masked_lm")
        attnflow.explain(model, tokenizer, list(TEXTS), mixing="attention")
        threads = threading.active_count()
        for problem in (KeyboardInterrupt(), RuntimeError("device-side assert triggered")):

            def fails(*_: Any, problem: BaseException = problem, **__: Any) -> Any:
                raise problem

            with self.subTest(problem), mock.patch.object(model, "forward", fails):
                with self.assertRaises(type(problem)):
                    attnflow.explain(model, tokenizer, list(TEXTS), mixing="attention")
                self.assertEqual(threading.active_count(), threads)

    def test_the_model_runs_on_the_callers_thread(self) -> None:
        model, tokenizer = loaded("bert_classification")
        seen = set()
        model.register_forward_hook(lambda *_: seen.add(threading.get_ident()))
        attnflow.explain(model, tokenizer, list(TEXTS))
        self.assertEqual(seen, {threading.get_ident()})

    def test_batches_are_of_similar_length(self) -> None:
        from attnflow.together import batches

        model = tiny("BertModel", **SMALL)
        sizes = [3, 30, 4, 29, 28, 3, 16]
        made = [Backend(model, Plain(), [self.tokens(size)], {}, {}) for size in sizes]
        self.assertEqual(
            [sorted(sizes[place] for place in batch) for batch in batches(made)], [[28, 29, 30], [16], [3, 3, 4]]
        )
        with mock.patch("attnflow.backend._TOKENS", 64):
            self.assertEqual([len(batch) for batch in batches(made)], [2, 1, 1, 3])

    def tokens(self, count: int) -> Any:
        from attnflow.text import Encoded

        return Encoded([7] * count, ["7"] * count, [False] * count)


if __name__ == "__main__":
    unittest.main()
