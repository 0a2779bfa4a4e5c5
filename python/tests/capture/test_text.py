"""explain() and the program agree on the text and on the prediction."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from loading import MODELS, PackageTest, like, loaded

import attnflow
from attnflow.text import readable, spelled

TEXTS = (
    "the key to the cabinets",
    "The  keys , [MASK]!  ",
    "cafe\u0301 na\u00efve \u65e5\u672c",  # an accent of its own, an i with one, two Han characters
    "a \U0001f469\u200d\U0001f680 b \U0001f1eb\U0001f1f7\u2764\ufe0f",  # joined emoji, a flag, a variation selector
    "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd the \u0645\u064e\u0631\u062d\u0628\u0627",  # points and vowel signs, right to left
    "tab\tnew\nline\u3000wide",
)
# For tokenizers with a token for each byte: the tests' models have 20 positions.
SHORT_TEXTS = (
    "the keys",
    "The  keys , !",
    "ne\u0301 na\u00ef",
    "a \U0001f469\u200d\U0001f680",
    "\u05e9\u05b8\u05dc the",
    "tab\tnew\n",
)


class Slow:
    """A tokenizer that gives no places."""

    def __init__(self, tokenizer: Any) -> None:
        self.get_special_tokens_mask = tokenizer.get_special_tokens_mask
        self.convert_ids_to_tokens = tokenizer.convert_ids_to_tokens
        self.convert_tokens_to_string = tokenizer.convert_tokens_to_string
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> Any:
        return self._tokenizer(text)


class SameAsProgram(PackageTest):
    def check(self, name: str, texts: tuple[str, ...] = TEXTS, **options: Any) -> None:
        model, tokenizer = loaded(name)
        for text in texts:
            with self.subTest(name, text=text):
                given = [f"--{option}" for option in options]
                self.run_program(
                    "explain", text, "--model", MODELS / name, "-o", "out.json", "--method", "rollout", *given
                )
                expected = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))
                report = attnflow.explain(model, tokenizer, text, method="rollout", **options)
                found = json.loads(report.to_json())
                self.assertEqual(found["input"], expected["input"])
                self.assertEqual(found["output_token"], expected["output_token"])
                self.assertEqual(found["model"]["heads"], expected["model"]["heads"])
                self.assertEqual(found["model"]["architecture"], expected["model"]["architecture"])
                self.assertEqual(
                    [note["code"] for note in found["notes"]], [note["code"] for note in expected["notes"]]
                )
                self.same_check(found.get("check"), expected.get("check"))
                self.assertEqual(len(found["predictions"]), len(expected["predictions"]))
                for one, other in zip(found["predictions"], expected["predictions"], strict=True):
                    choices, others = one.pop("choices"), other.pop("choices")
                    self.assertEqual(one, other)
                    self.assertEqual([c["label"] for c in choices], [c["label"] for c in others])
                    np.testing.assert_allclose(
                        [c["probability"] for c in choices], [c["probability"] for c in others], atol=2e-5
                    )

    def same_check(self, found: Any, expected: Any) -> None:
        if expected is None:
            self.assertIsNone(found)
            return
        self.assertEqual(found["quantity"], expected["quantity"])
        for one, other in zip(found["tokens"], expected["tokens"], strict=True):
            self.assertEqual(one["token"], other["token"])
            replacements = [[said["text"] for said in token["replacements"]] for token in (one, other)]
            self.assertEqual(*replacements)
            np.testing.assert_allclose(one["drop"], other["drop"], atol=1e-4)
        np.testing.assert_allclose(found["value"], expected["value"], atol=2e-5)
        self.assertEqual(len(found["maps"]), len(expected["maps"]))
        for one, other in zip(found["maps"], expected["maps"], strict=True):
            for name in ("method", "layer", "compared", "first_token", "decisive_token", "level"):
                self.assertEqual(one.get(name), other.get(name))

    def test_masked(self) -> None:
        self.check("bert_masked_lm")

    def test_words(self) -> None:
        self.check("bert_masked_lm", words=True)
        self.check("roberta_masked_lm", SHORT_TEXTS, words=True)

    def test_byte_level(self) -> None:
        self.check("roberta_masked_lm", SHORT_TEXTS)

    def test_classes(self) -> None:
        self.check("bert_classification")
        self.check("roberta_classification", SHORT_TEXTS)


class Readable(PackageTest):
    """Bytes that are no whole character have one form, the program's, however a tokenizer spells them."""

    def test_parts_of_characters(self) -> None:
        byte_level = loaded("roberta_masked_lm")[1]
        for piece, shown in (("\u00c3", "\\xC3"), ("\u0120", " "), ("a", "a")):
            self.assertEqual(readable(byte_level, byte_level.convert_tokens_to_ids(piece)), shown)

        class Fallback:
            added_tokens_decoder: ClassVar[dict[int, str]] = {}

            def convert_ids_to_tokens(self, token: int) -> str:
                return f"<0x{token:02X}>"

            def convert_tokens_to_string(self, pieces: list[str]) -> str:
                return bytes(int(piece[3:5], 16) for piece in pieces).decode(errors="replace")

        self.assertEqual(readable(Fallback(), 0xC3), "\\xC3")
        self.assertEqual(readable(Fallback(), 0x41), "A")
        # A report joins bytes itself.
        self.assertEqual([spelled(Fallback(), byte) for byte in (0xC3, 0xA9, 0x41)], ["<0xC3>", "<0xA9>", "A"])


class Text(PackageTest):
    tokenizer: Any
    model: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.model, cls.tokenizer = loaded()

    def test_without_places_there_are_tokens_but_no_words(self) -> None:
        slow = Slow(self.tokenizer)
        report = attnflow.explain(self.model, slow, "the keys", method="rollout")
        document = json.loads(report.to_json())
        self.assertEqual(document["input"]["kind"], "attention")
        self.assertNotIn("begin", document["input"]["tokens"][1])
        with self.assertRaisesRegex(attnflow.Error, r"is_fast.*found Slow; load it with AutoTokenizer"):
            attnflow.explain(self.model, slow, "the keys", words=True)

    def test_the_next_token(self) -> None:
        config = transformers.GPT2Config(vocab_size=len(self.tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=64)
        torch.manual_seed(1)
        model = transformers.GPT2LMHeadModel(config).eval()
        report = attnflow.explain(model, self.tokenizer, "the key", method="rollout", top_k=3)
        (said,) = json.loads(report.to_json())["predictions"]
        self.assertEqual((said["kind"], said["position"], len(said["choices"])), ("next", len(report.tokens) - 1, 3))
        with torch.no_grad():
            logits = model(**{"input_ids": self.tokenizer("the key", return_tensors="pt")["input_ids"]}).logits[0, -1]
        expected = torch.softmax(logits.double(), 0).sort(descending=True).values[:3]
        np.testing.assert_allclose([c["probability"] for c in said["choices"]], expected.numpy(), atol=1e-6)

    def test_the_check_without_replacements_is_what_the_model_says_with_tokens_blanked(self) -> None:
        ask: dict[str, Any] = {"method": "raw,rollout", "words": True, "check_replacements": 0}
        report = attnflow.explain(self.model, self.tokenizer, "the keys [MASK] here", **ask)
        check = report.check
        assert check is not None
        self.assertEqual((check.blank, list(check.maps)), ("[UNK]", ["raw", "rollout"]))
        ids = self.tokenizer("the keys [MASK] here", return_tensors="pt")["input_ids"]
        mask = ids[0].tolist().index(self.tokenizer.mask_token_id)

        def logits(positions: list[int]) -> Any:
            blanked = ids.clone()
            blanked[0, positions] = self.tokenizer.unk_token_id
            with torch.no_grad():
                return self.model(input_ids=blanked).logits[0, mask].double()

        best, *others = logits([]).topk(11).indices.tolist()
        words = self.tokenizer("the keys [MASK] here").word_ids()
        of_word = [
            [t for t, word in enumerate(words) if word == number]
            for number in sorted({w for w in words if w is not None})
        ]
        groups = [[0], *of_word, [len(words) - 1]]
        self.assertEqual(len(groups), len(report.tokens))
        values = [float(row[best] - row[others].mean()) for row in map(logits, groups)]
        self.assertAlmostEqual(check.value, float(logits([])[best] - logits([])[others].mean()), places=4)
        compared = [j for j, group in enumerate(groups) if 0 < j < len(groups) - 1 and mask not in group]
        self.assertEqual((list(check.tokens), check.left_out, check.irreplaceable), (compared, 0, []))
        for token, found in check.tokens.items():
            self.assertAlmostEqual(found.drop, check.value - values[token], places=4)
        for one in check.maps.values():
            self.assertEqual(one.decisive_token, min(compared, key=lambda j: values[j]))
        self.assertEqual(attnflow.Report.from_json(report.to_json()).check, check)

    def test_the_check_is_what_the_model_says_with_its_own_words_in_place_of_each_token(self) -> None:
        text = "the keys [MASK] here"
        report = attnflow.explain(self.model, self.tokenizer, text, method="raw,rollout", check_replacements=4)
        assert report.check is not None
        ids = self.tokenizer(text, return_tensors="pt")["input_ids"]
        mask = ids[0].tolist().index(self.tokenizer.mask_token_id)
        specials = set(self.tokenizer.all_special_ids)

        def logits(given: Any) -> Any:
            with torch.no_grad():
                return self.model(input_ids=given).logits[0].double()

        best, *others = logits(ids)[mask].topk(11).indices.tolist()

        def value(row: Any) -> float:
            return float(row[best] - row[others].mean())

        for token, checked in report.check.tokens.items():
            masked = ids.clone()
            masked[0, token] = self.tokenizer.mask_token_id
            said = logits(masked)[token].argsort(descending=True).tolist()
            self.assertIn(len(checked.replacements), (2, 4))  # half where the token cannot decide
            usable = [one for one in said if one not in specials and one != int(ids[0, token])]
            chosen = usable[: len(checked.replacements)]
            rows = []
            for one in chosen:
                replaced = ids.clone()
                replaced[0, token] = one
                rows.append(logits(replaced)[mask])
            share = float(logits(ids)[mask].softmax(-1)[[best, *others]].sum())
            fits = [min(1.0, float(row.softmax(-1)[[best, *others]].sum()) / share) for row in rows]
            np.testing.assert_allclose([one.fit for one in checked.replacements], fits, atol=1e-5)
            np.testing.assert_allclose([one.value for one in checked.replacements], list(map(value, rows)), atol=1e-4)
            drops = value(logits(ids)[mask]) - np.array(list(map(value, rows)))
            # The token itself stands among its replacements, with a small weight.
            expected = np.dot(fits, drops) / (sum(fits) + 0.06 * share * len(fits))
            np.testing.assert_allclose(checked.drop, expected, atol=1e-4)

    def test_checks_are_asked_for_or_left_out(self) -> None:
        text = "the key [MASK]"
        self.assertIsNone(attnflow.explain(self.model, self.tokenizer, text, check=False).check)
        self.assertIsNotNone(attnflow.explain(self.model, self.tokenizer, text, check=True).check)
        pairs = transformers.BertForNextSentencePrediction(loaded("bert_base")[0].config).eval()
        with self.assertRaisesRegex(attnflow.Error, "check=True: expected a model that predicts .* found bert_base"):
            attnflow.explain(pairs, self.tokenizer, text, check=True)
        with self.assertRaisesRegex(attnflow.Error, "check=True: expected a mask token in the text, .* found none"):
            attnflow.explain(self.model, self.tokenizer, "the key", check=True)
        with self.assertRaisesRegex(attnflow.Error, "check=True: expected output_token 3, .* found 1; omit output_tok"):
            attnflow.explain(self.model, self.tokenizer, text, check=True, output_token=1)
        classes, tokenizer = loaded("bert_classification")
        with self.assertRaisesRegex(
            attnflow.Error, "check=True: expected output_token 0, where .* found 3; omit output"
        ):
            attnflow.explain(classes, tokenizer, "the key", check=True, output_token="last")
        with self.assertRaisesRegex(attnflow.Error, "check: expected True, False or None, found 1"):
            attnflow.explain(self.model, self.tokenizer, text, check=1)  # type: ignore[call-overload]

    def test_decoders_are_checked_at_the_last_token(self) -> None:
        config = transformers.GPT2Config(vocab_size=len(self.tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=64)
        torch.manual_seed(1)
        model = transformers.GPT2LMHeadModel(config).eval()
        report = attnflow.explain(model, self.tokenizer, "the key to the cabinets", method="rollout")
        assert report.check is not None
        self.assertNotEqual(report.check.maps["rollout"].first_token, 0)  # [CLS], special
        report = attnflow.explain(model, self.tokenizer, "the key", method="rollout", output_token=1)
        self.assertIsNone(report.check)  # nothing was said there

    def test_decoders_that_classify(self) -> None:
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "num_labels": 3}
        torch.manual_seed(1)
        # Without padding transformers takes one text at a time.
        config = transformers.GPT2Config(vocab_size=len(self.tokenizer), pad_token_id=None, **sizes)
        model = transformers.GPT2ForSequenceClassification(config).eval()
        ask: dict[str, Any] = {"method": "rollout", "check": True, "check_replacements": 0}
        report = attnflow.explain(model, self.tokenizer, "the key to the cabinets", **ask)
        assert report.check is not None
        ids = self.tokenizer("the key to the cabinets", return_tensors="pt")["input_ids"]
        found = report.check.maps["rollout"]
        ids[0, found.first_token] = self.tokenizer.unk_token_id
        with torch.no_grad():
            logits = model(input_ids=ids).logits[0].double()
        label = [name for name, _ in report.predictions[0].choices][0]
        best = int(label.removeprefix("LABEL_"))
        value = logits[best] - (logits.sum() - logits[best]) / 2
        self.assertAlmostEqual(report.check.value - report.check.tokens[found.first_token].drop, float(value), places=4)
        # Blanking with the padding token would move the place where the class is read.
        model.config.pad_token_id = self.tokenizer.unk_token_id
        moved = attnflow.explain(model, self.tokenizer, "the key", **ask).check
        self.assertEqual(moved.blank if moved else None, "[MASK]")

    def test_models_that_say_nothing_of_the_kind(self) -> None:
        model = transformers.BertForNextSentencePrediction(loaded("bert_base")[0].config).eval()
        report = attnflow.explain(model, self.tokenizer, "the key", method="rollout")
        self.assertEqual(json.loads(report.to_json())["predictions"], [])


class Embeddings(PackageTest):
    """An encoder without a head: its embedding is explained."""

    TEXT = "the author and her book"

    def setUp(self) -> None:
        super().setUp()
        self.model, self.tokenizer = loaded("bert_base")

    def embedding(self, ids: Any, pooling: str) -> Any:
        with torch.no_grad():
            states = self.model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        return states[0] if pooling == "cls" else states.mean(0)

    def check_drops(self, report: Any, pooling: str) -> None:
        ids = self.tokenizer(self.TEXT)["input_ids"]
        index = self.tokenizer.get_vocab()
        whole = self.embedding(ids, pooling)
        self.assertEqual(report.check.quantity, "cosine similarity")
        self.assertAlmostEqual(report.check.value, 1.0, places=5)
        for position, checked in report.check.tokens.items():
            for one in checked.replacements:
                spelled = [index[name] for name in (one.text, f"##{one.text}") if name in index]
                values = [
                    torch.cosine_similarity(
                        self.embedding([*ids[:position], other, *ids[position + 1 :]], pooling), whole, dim=0
                    )
                    for other in spelled
                ]
                self.assertLess(min(abs(float(value) - one.value) for value in values), 1e-5)

    def test_the_mean_is_one_more_token(self) -> None:
        report = attnflow.explain(self.model, self.tokenizer, self.TEXT)
        self.assertEqual(report.tokens[-1], "[mean]")
        self.assertEqual(report.output_token, len(report.tokens) - 1)
        self.assertEqual(report.settings["mixing"], "alti")
        self.assertEqual([one.kind for one in report.predictions], ["embedding"])
        self.check_drops(report, "mean")

    def test_is_the_same_as_of_the_program(self) -> None:
        for mixing in ("attention", "alti", "relevance"):
            report = attnflow.explain(self.model, self.tokenizer, self.TEXT, mixing=mixing)
            self.run_program("explain", self.TEXT, "--model", MODELS / "bert_base", "--mixing", mixing, "-o", "out.npz")
            with np.load(self.folder / "out.npz") as expected:
                for name in ("raw", "rollout", "flow"):
                    np.testing.assert_allclose(getattr(report, name), expected[name], atol=1e-5)
        assert report.target is not None
        self.assertEqual(report.target.kind, "embedding")

    def test_a_sentence_transformer_says_how_it_pools(self) -> None:
        for mode in ("mean", "cls", "max"):
            parts = [like("a", "Transformer", auto_model=self.model), like("a", "Pooling"), like("a", "Normalize")]
            parts[1].get_pooling_mode_str = lambda mode=mode: mode
            encoder = like("sentence_transformers", "SentenceTransformer", __iter__=lambda _, parts=parts: iter(parts))
            if mode == "max":
                with self.assertRaisesRegex(attnflow.Error, "pooling mean, mean_sqrt_len or cls.*found max pooling"):
                    attnflow.explain(encoder, self.tokenizer, self.TEXT, mixing="relevance")
                continue
            report = attnflow.explain(encoder, self.tokenizer, self.TEXT)
            self.assertEqual(report.output_token, 0 if mode == "cls" else len(report.tokens) - 1)
            self.check_drops(report, mode)

    def test_the_similarity_to_other_texts(self) -> None:
        own, near, far = (
            self.embedding(self.tokenizer(text)["input_ids"], "mean") for text in (self.TEXT, "the table", "sara")
        )
        report = attnflow.explain(self.model, self.tokenizer, self.TEXT, target="the table", against="sara")
        value = torch.cosine_similarity(own, near, dim=0) - torch.cosine_similarity(own, far, dim=0)
        assert report.target is not None and report.check is not None
        self.assertEqual(report.target.kind, "similarity")
        self.assertAlmostEqual(report.target.value, float(value), places=5)
        self.assertAlmostEqual(report.check.value, float(value), places=5)

    def test_other_outputs_are_states(self) -> None:
        report = attnflow.explain(self.model, self.tokenizer, self.TEXT, output_token="cls", method="rollout")
        self.assertEqual(report.predictions, [])
        self.assertNotIn("[mean]", report.tokens)

    def test_decoders_have_none(self) -> None:
        config = transformers.GPT2Config(vocab_size=len(self.tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=64)
        report = attnflow.explain(transformers.GPT2Model(config).eval(), self.tokenizer, self.TEXT, method="rollout")
        self.assertEqual(report.predictions, [])

    def test_scores(self) -> None:
        report = attnflow.explain(
            self.model, self.tokenizer, self.TEXT, method="attnlrp,integrated-gradients,blank-out", check=False
        )
        integrated = report.scores["integrated-gradients"][0]
        self.assertEqual(integrated[-1], 0.0)
        special = self.tokenizer.all_special_ids
        ids = self.tokenizer(self.TEXT)["input_ids"]
        blank = [token if token in special else self.tokenizer.unk_token_id for token in ids]
        end = torch.cosine_similarity(self.embedding(blank, "mean"), self.embedding(ids, "mean"), dim=0)
        self.assertAlmostEqual(float(integrated.sum()), 1.0 - float(end), places=3)
        with self.assertRaisesRegex(
            attnflow.Error, 'method="gradient-x-input": expected a prediction whose gradient is not 0'
        ):
            attnflow.explain(self.model, self.tokenizer, self.TEXT, method="gradient-x-input")


class OwnHeads(PackageTest):
    """A classifier of the caller's own over a model without a head."""

    def test_is_the_model_with_that_head(self) -> None:
        whole, tokenizer = loaded("bert_classification")
        body, classify = whole.bert, torch.nn.Sequential(whole.dropout, whole.classifier)

        def head(output: Any) -> Any:
            return classify(output.pooler_output)

        labels = list(whole.config.id2label.values())
        ask: dict[str, Any] = {"method": "rollout,attnlrp,blank-out", "check": True}
        expected = attnflow.explain(whole, tokenizer, "the key to the cabinets", **ask)
        found = attnflow.explain(body, tokenizer, "the key to the cabinets", head=head, labels=labels, **ask)
        self.assertEqual(found.settings, expected.settings)
        self.assertEqual(found.predictions[0].choices[0][0], expected.predictions[0].choices[0][0])
        np.testing.assert_allclose(found.rollout, expected.rollout, atol=1e-6)
        for method, values in expected.scores.items():
            np.testing.assert_allclose(found.scores[method], values, atol=1e-5, err_msg=method)
        assert found.check is not None

        def mean(output: Any) -> Any:
            return classify(output.last_hidden_state.mean(dim=1))

        # A class that is not read from the first token has no relevance there.
        by_mean = attnflow.explain(body, tokenizer, "the key", head=mean)
        self.assertEqual(by_mean.settings["mixing"], "attention")
        self.assertEqual(by_mean.predictions[0].choices[0][0][:6], "LABEL_")
        with self.assertRaisesRegex(attnflow.Error, r"gives logits \[text, class\], found \[1, 4, 32\]|found \["):
            attnflow.explain(body, tokenizer, "the key", head=lambda output: output.last_hidden_state)
        with self.assertRaisesRegex(attnflow.Error, "labels: expected a label for each"):
            attnflow.explain(body, tokenizer, "the key", head=head, labels=["a"])
        with self.assertRaisesRegex(attnflow.Error, "head: expected a function"):
            attnflow.explain(body, tokenizer, "the key", head=3)  # type: ignore[call-overload]


class Surface(PackageTest):
    def test_numbers_from_the_end_and_columns(self) -> None:
        model, tokenizer = loaded()
        ask: dict[str, Any] = {"method": "rollout,attnlrp", "check": False}
        report = attnflow.explain(model, tokenizer, "the key [MASK]", output_token=-2, layers=-1, **ask)
        self.assertEqual((report.output_token, report.layers.tolist()), (len(report.tokens) - 2, [2]))
        self.assertEqual(report.text, "the key [MASK]")
        columns = report.columns()
        known = ~np.isnan(columns["attnlrp"])
        np.testing.assert_array_equal(columns["attnlrp"][known], report.scores["attnlrp"][0])
        self.assertEqual(set(columns["output_token"][known]), {report.output_token})
        self.assertEqual(report.top(2, "attnlrp")[0][2], max(report.scores["attnlrp"][0][1:-1]))
        wrong: list[tuple[Callable[[], object], str]] = [
            (lambda: report.top(3, "flow"), "expected one that the report holds \\(rollout, attnlrp\\), found 'flow'"),
            (lambda: report.top(2.5), "count: expected a whole number"),
            (lambda: report.graph("last"), "expected a layer from 1 to 2"),
            (lambda: report.flow, "found only rollout, attnlrp"),
        ]
        for call, words in wrong:
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                call()

    def test_answers_by_position(self) -> None:
        config = transformers.AutoConfig.from_pretrained(MODELS / "bert_masked_lm", num_labels=2)
        torch.manual_seed(1)
        model = transformers.BertForQuestionAnswering(config).eval()
        report = attnflow.explain(model, loaded()[1], ("the key", "the keys are here"), target=6, check=False)
        self.assertEqual((report.output_token, report.target.label if report.target else ""), (6, "s"))

    def test_which_of_several_is_wrong(self) -> None:
        model, tokenizer = loaded()
        with self.assertRaisesRegex(attnflow.Error, r"^text\[1\]: expected text with at least one token"):
            attnflow.explain(model, tokenizer, ["the key", ""], mixing="attention")
        with self.assertRaisesRegex(attnflow.Error, "tokenizer: expected the model's tokenizer .* found NoneType"):
            attnflow.explain(model, None, "the key")


class Target(PackageTest):
    def test_what_the_tokenizer_adds_behind_a_target_is_left_out(self) -> None:
        from attnflow.text import encode_target

        config = transformers.BartConfig(decoder_start_token_id=2)
        model = type("Model", (), {"config": config})()
        words = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581the", -1.0), ("\u2581key", -1.0)]
        mbart = transformers.MBartTokenizer(vocab=words, src_lang="en_XX", tgt_lang="fr_XX")
        self.assertEqual(len(mbart(text_target="the key")["input_ids"]), 4)  # the end, and the language

        class SlowTarget(Slow):
            def __call__(self, **given: Any) -> Any:  # type: ignore[override]
                return mbart(**given)

        for tokenizer in (mbart, SlowTarget(mbart)):
            for text, tokens in (("the key", 3), ("the key</s>", 4), ("the", 2)):
                with self.subTest(type(tokenizer).__name__, text=text):
                    ids = encode_target(model, tokenizer, text).ids
                    self.assertEqual(ids, [2, 4, 5, 2][:tokens])


class Fusing(PackageTest):
    """Heads fused layer by layer equal those of the whole stack, to the bit: the same C++ sums them in the same order."""

    def test_is_what_all_heads_give(self) -> None:
        model, tokenizer = loaded()
        text = "the key to the cabinets"
        given: list[dict[str, Any]] = [
            {},
            {"heads": "max"},
            {"heads": "min"},
            {"discard": 0.5, "discard_keep_special": True},
            {"mask_columns": "special"},
            {"words": True},
        ]
        with attnflow.capture(model) as captured, torch.no_grad():
            model(**tokenizer(text, return_tensors="pt"))
        for options in given:
            with self.subTest(options=options):
                fused = attnflow.explain(model, tokenizer, text, **options)
                if not options.get("words"):
                    kept = attnflow.explain(model, tokenizer, text, keep_attention=True, **options)
                    for name in ("raw", "rollout", "flow", "flow_gap"):
                        self.assert_same_bits(getattr(fused, name), getattr(kept, name), name)
        for heads in ("mean", "max", "min"):
            with attnflow.capture(model, fuse=heads) as one, torch.no_grad():
                model(**tokenizer(text, return_tensors="pt"))
            self.assertEqual(one.attentions[0].shape[1], 1)
            self.assert_same_bits(attnflow.raw(one), attnflow.raw(captured, heads=heads), heads)

    def test_one_row_is_that_of_all(self) -> None:
        model, tokenizer = loaded()
        given: list[dict[str, Any]] = [{}, {"output_token": "key", "words": True}, {"mixing": "alti", "heads": "mean"}]
        for options in given:
            with self.subTest(options=options):
                asked = {"method": ["raw", "rollout", "flow"], "layers": "1-2"} | options
                every = attnflow.explain(model, tokenizer, "the [MASK] key to the cabinets", **asked)
                one = attnflow.explain(
                    model, tokenizer, "the [MASK] key to the cabinets", only_output_token=True, **asked
                )
                self.assertEqual(one.output_tokens.tolist(), [every.output_token])
                self.assertEqual((one.tokens, one.predictions), (every.tokens, every.predictions))
                self.assertIsNone(one.check)
                row = slice(every.output_token, every.output_token + 1)
                for name in ("raw", "rollout", "flow", "flow_gap"):
                    self.assert_same_bits(getattr(one, name), getattr(every, name)[:, row].copy(), name)
        checked = attnflow.explain(model, tokenizer, "the [MASK]", only_output_token=True, check=True)
        every = attnflow.explain(model, tokenizer, "the [MASK]", method=["raw", "rollout"], layers=2, check=True)
        self.assertEqual(checked.check, every.check)

    def test_one_row_of_layers_multiplied_as_they_come(self) -> None:
        encoder, tokenizer = loaded()
        decoder, decoding = loaded("llama_grouped")
        given: list[dict[str, Any]] = [
            {},
            {"layers": 1},
            {"start_layer": 1, "layers": 2},
            {"words": True, "output_token": "key"},
            {"normalize": "receptive-field"},
            {"heads": "max", "residual": 0.3},
        ]
        for model, reader in ((encoder, tokenizer), (decoder, decoding)):
            for options in given:
                with self.subTest(model=type(model).__name__, options=options):
                    asked: dict[str, Any] = {"method": ["raw", "rollout"], "mixing": "attention", "check": False}
                    asked |= options
                    every = attnflow.explain(model, reader, "the key to the cabinets is", **asked)
                    one = attnflow.explain(model, reader, "the key to the cabinets is", only_output_token=True, **asked)
                    layers = [every.layers.tolist().index(layer) for layer in one.layers.tolist()]
                    for name in ("raw", "rollout"):
                        row = getattr(every, name)[layers, every.output_token : every.output_token + 1].copy()
                        self.assert_same_bits(getattr(one, name), row, name)
                    self.assertEqual((one.tokens, one.notes), (every.tokens, every.notes))
        with self.assertRaisesRegex(attnflow.Error, "layer"):
            attnflow.explain(encoder, tokenizer, "the key", method="rollout", only_output_token=True, layers=99)

    def test_one_row_of_a_decoder_is_of_the_same_mixing(self) -> None:
        model, tokenizer = loaded("llama_grouped")
        every = attnflow.explain(model, tokenizer, "the key to the cabinets is")
        one = attnflow.explain(model, tokenizer, "the key to the cabinets is", only_output_token=True)
        self.assertEqual(one.settings["mixing"], "relevance")
        self.assertEqual(one.settings["mixing"], every.settings["mixing"])
        self.assert_same_bits(one.rollout, every.rollout[-1:, -1:].copy(), "rollout")

    def test_errors_name_the_layer(self) -> None:
        model, tokenizer = loaded()
        torch.nn.init.constant_(model.bert.encoder.layer[1].attention.self.query.weight, float("nan"))
        with self.assertRaisesRegex(attnflow.Error, "found nan at layer 2, head 0"):
            attnflow.explain(model, tokenizer, "the key")
        with self.assertRaisesRegex(attnflow.Error, "fuse: expected mean"), attnflow.capture(model, fuse="median"):
            pass


if __name__ == "__main__":
    unittest.main()
