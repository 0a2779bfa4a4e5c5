"""A generation is that of `attnflow generate` on the same weights."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import unittest
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers
from loading import DECODERS, PackageTest, folder_of, loaded

import attnflow

PROMPT = "the key to"
PREDICTIONS = ("relevance", "relevance-by-head", "gradient")


class SameAsProgram(PackageTest):
    def check(
        self, name: str, tokens: int = 5, mixing: str = "attention", folder: Path | None = None, **options: Any
    ) -> Any:
        arguments: list[str] = []
        for option, value in options.items():
            arguments.append("--" + option.replace("_", "-"))
            if value is not True:
                arguments.append(",".join(value) if isinstance(value, list) else str(value))
        self.run_program(
            *(
                "generate",
                PROMPT,
                "--model",
                folder or folder_of(name),
                "-n",
                tokens,
                "--mixing",
                mixing,
                "--ignore-end",
            ),
            *(*arguments, "-o", "program.json"),
        )
        program = attnflow.Report.from_json((self.folder / "program.json").read_text(encoding="utf-8"))
        model, tokenizer = loaded(name, folder)
        report = attnflow.generate(model, tokenizer, PROMPT, tokens=tokens, ignore_end=True, mixing=mixing, **options)
        self.assertEqual(report.methods, program.methods)
        for method in report.methods:
            np.testing.assert_allclose(getattr(report, method), getattr(program, method), atol=1e-5)
        self.assertEqual(report.scores.keys(), program.scores.keys())
        for method, values in program.scores.items():
            np.testing.assert_allclose(report.scores[method], values, atol=2e-5, err_msg=method)
        found, expected = json.loads(report.to_json()), json.loads(program.to_json())
        self.assertEqual(found["settings"], expected["settings"])
        self.assertEqual(found["output_tokens"], expected["output_tokens"])
        self.assertEqual(found["input"], expected["input"])
        # The command says where the rules of the model's files changed a choice.
        said = [note["code"] for note in expected["notes"] if note["code"] != "generation-rules"]
        self.assertEqual([note["code"] for note in found["notes"]], said)
        for key in ("text", "stopped", "sampling", "chat", "excluded"):
            self.assertEqual(found["generation"].get(key), expected["generation"].get(key), key)
        for one, other in zip(found["generation"]["tokens"], expected["generation"]["tokens"], strict=True):
            self.assertEqual([one[key] for key in ("id", "text")], [other[key] for key in ("id", "text")])
            self.assertEqual([one.get(key) for key in ("begin", "end")], [other.get(key) for key in ("begin", "end")])
            self.assertAlmostEqual(one["probability"], other["probability"], places=5)
            self.assertEqual([c["label"] for c in one["choices"]], [c["label"] for c in other["choices"]])
            self.same_target(one.get("target"), other.get("target"))
            self.same_check(one.get("check"), other.get("check"))
        found, expected = (self.arrays_of(one) for one in (report, program))
        self.assertEqual(found.keys(), expected.keys())
        self.assertEqual("sink_share" in found, folder_of(name).parent == DECODERS)
        for key, values in expected.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(found[key], values, rtol=1e-5, atol=1e-5, err_msg=key)
        return report

    def arrays_of(self, report: Any) -> dict[str, Any]:
        report.to_npz(self.folder / "arrays.npz")
        with np.load(self.folder / "arrays.npz") as arrays:
            return dict(arrays)

    def same_target(self, found: Any, expected: Any) -> None:
        if expected is None:
            self.assertIsNone(found)
            return
        for one, other in ((found, expected), (found.get("against", {}), expected.get("against", {}))):
            self.assertEqual(one.keys(), other.keys())
            for key, value in other.items():
                if isinstance(value, float):
                    self.assertAlmostEqual(one[key], value, places=4)
                elif key == "others":
                    self.assertEqual([o["index"] for o in one[key]], [o["index"] for o in value])
                    found_logits, logits = ([o["logit"] for o in others] for others in (one[key], value))
                    np.testing.assert_allclose(found_logits, logits, atol=1e-4)
                elif key != "against":
                    self.assertEqual(one[key], value)

    def same_check(self, found: Any, expected: Any) -> None:
        self.assertEqual(found is None, expected is None)
        if expected is None:
            return
        for one, other in zip(found["tokens"], expected["tokens"], strict=True):
            self.assertEqual(one["token"], other["token"])
            texts = [[tried["text"] for tried in token["replacements"]] for token in (one, other)]
            self.assertEqual(*texts)
            self.assertAlmostEqual(one["drop"], other["drop"], delta=1e-4)

    def set_in(self, file: Path, **settings: Any) -> None:
        file.write_text(json.dumps(json.loads(file.read_text()) | settings))

    def test_llama(self) -> None:
        report = self.check("llama_grouped")
        self.assertEqual(report.rollout.shape[1:], (5, len(report.tokens)))
        self.assertEqual(pickle.loads(pickle.dumps(report)).to_json(), report.to_json())

    def test_methods_and_columns(self) -> None:
        self.check("llama_grouped", method=["raw", "rollout", "flow"])
        self.check("llama_grouped", heads="max", residual=0.3)
        self.check("gpt2_tied", normalize="receptive-field", mask_columns="first")
        self.check("llama_grouped", method="raw", heads=1)
        self.check("llama_grouped", generated_columns=True, method=["rollout", "flow"])

    def test_windows(self) -> None:
        self.check("mistral_window", tokens=8)

    def test_contributions(self) -> None:
        for mixing in ("norm", "alti", "ifr", "value-zeroing"):
            self.check("llama_grouped", mixing=mixing, method=["raw", "rollout", "flow"])
        self.check("gpt2_tied", mixing="alti", generated_columns=True, words=True, mask_columns="first")
        self.check("gpt2_tied", mixing="value-zeroing", residual=0.3, normalize="receptive-field")
        self.check("mistral_window", tokens=8, mixing="alti", layers="1-2", method=["rollout", "flow"])
        self.check("llama_grouped", tokens=1, mixing="ifr")

    def test_words(self) -> None:
        self.check("llama_grouped", words=True, method=["rollout", "flow"])

    def test_relevance(self) -> None:
        for mixing in ("relevance", "gradient"):
            self.check("llama_grouped", tokens=3, mixing=mixing, method=["rollout", "flow"])
        self.check("gpt2_tied", tokens=3, mixing="relevance", words=True)

    def test_methods_without_layers(self) -> None:
        self.check("llama_grouped", tokens=3, method=["rollout", "attnlrp", "blank-out", "integrated-gradients"])

    def test_encoder_decoders(self) -> None:
        """With a rule that keeps the small models from repeating one token."""
        cases: list[dict[str, Any]] = [
            {},
            {"method": ["raw", "rollout", "flow"], "layers": "1-7", "heads": "max", "residual": 0.3},
            {"method": ["raw", "rollout", "flow"], "layers": "1-7", "normalize": "receptive-field"},
            {"mixing": "relevance", "normalize": "receptive-field"},
            {"method": "raw", "heads": 1},
            {"words": True, "mask_columns": "special", "method": ["rollout", "flow"]},
            *(
                {"mixing": mixing, "method": ["raw", "rollout", "flow"]}
                for mixing in ("norm", "alti", "ifr", "value-zeroing")
            ),
            {"mixing": "globenc"},
            *({"mixing": mixing} for mixing in ("relevance", "gradient")),
            {"mixing": "relevance-by-head", "words": True, "method": ["raw", "rollout", "flow"]},
            {"mixing": "relevance", "method": ["attnlrp", "gradient-x-input", "integrated-gradients", "blank-out"]},
            {"mixing": "relevance", "method": ["logit", "alti-logit"]},
            {"mixing": "auto", "tokens": 2},
        ]
        for name in ("t5_tied", "bart", "marian", "mbart"):
            folder = self.folder / name
            shutil.copytree(folder_of(name), folder)
            self.set_in(folder / "generation_config.json", repetition_penalty=3.0)
            self.set_in(folder / "tokenizer_config.json", unk_token="<unk>")  # which blank-out needs
            for options in cases:
                needs_after, needs_before = options.get("mixing") == "globenc", "logit" in options.get("method", [])
                if needs_before if name in ("bart", "marian") else needs_after:
                    continue  # by where the norms of its blocks are
                with self.subTest(name, **options):
                    report = self.check(name, folder=folder, **options)
                    made = json.loads(report.to_json())["generation"]["tokens"]
                    self.assertGreater(len({token["id"] for token in made}), 1)
                    self.assertEqual("check" in made[0], options.get("mixing", "attention") in (*PREDICTIONS, "auto"))


class GenerateTarget(PackageTest):
    """What is an encoder-decoder's alone."""

    model: Any
    tokenizer: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.model, cls.tokenizer = loaded("mbart")

    def made(self, model: Any = None, **options: Any) -> tuple[list[int], list[int], str]:
        """The tokens that the target begins with, those that are generated, and why they end."""
        report = attnflow.generate(model or self.model, self.tokenizer, PROMPT, mixing="attention", **options)
        document = json.loads(report.to_json())
        source = len(self.tokenizer(PROMPT)["input_ids"])
        names = [token["text"] for token in document["input"]["tokens"][source:]]
        self.assertEqual([token.get("segment") for token in document["input"]["tokens"][source:]], [1] * len(names))
        made = [token["id"] for token in document["generation"]["tokens"]]
        return self.tokenizer.convert_tokens_to_ids(names), made, document["generation"]["stopped"]

    def test_is_the_models_own_text(self) -> None:
        inputs = self.tokenizer(PROMPT, return_tensors="pt")
        for given in (
            {"num_beams": 3, "repetition_penalty": 1.3},
            {"forced_bos_token_id": 7},
            {"decoder_start_token_id": 5},
            {"generation_config": transformers.GenerationConfig(forced_bos_token_id=9)},
        ):
            with self.subTest(**given), torch.no_grad():
                begin, made, stopped = self.made(tokens=6, ignore_end=True, generation=given)
                expected = self.model.generate(**inputs, max_new_tokens=7, eos_token_id=2**31 - 1, **given)
                self.assertEqual(begin + made, expected[0].tolist())
                forced = 9 if "generation_config" in given else given.get("forced_bos_token_id", 3)
                start, language = given.get("decoder_start_token_id", 0), forced
                self.assertEqual((begin, stopped), ([start, language], "length"))

    def test_where_it_ends(self) -> None:
        _, whole, _ = self.made(tokens=8, ignore_end=True, generation={"repetition_penalty": 3.0})
        model, _ = loaded("mbart")
        model.generation_config.eos_token_id = whole[4]
        cut = (whole[: whole.index(whole[4]) + 1], "end")
        for writer, given in (
            (model, {}),
            (model, {"bad_words_ids": [[whole[4]]]}),  # which transformers does not apply to the end of a text
            (self.model, {"generation_config": transformers.GenerationConfig(eos_token_id=whole[4])}),
        ):
            with self.subTest(**given):
                _, made, stopped = self.made(writer, tokens=8, generation={"repetition_penalty": 3.0, **given})
                self.assertEqual((made, stopped), cut)
        begin, made, stopped = self.made(tokens=64, ignore_end=True)  # of 40 positions; the last token takes none
        self.assertEqual((len(begin) + len(made), stopped), (41, "context"))

    def test_refusals(self) -> None:
        target = r"expected no decoder_input_ids, because generate\(\) writes the target"
        inputs = dict(self.tokenizer(PROMPT, return_tensors="pt"))
        refused: list[tuple[str, dict[str, Any]]] = [
            (f"generation: {target}", {"prompt": PROMPT, "generation": {"decoder_input_ids": torch.tensor([[0]])}}),
            (f"prompt: {target}", {"inputs": inputs | {"decoder_input_ids": torch.tensor([[0]])}}),
            ("use the parameter tokens", {"prompt": PROMPT, "generation": {"max_new_tokens": 3}}),
            ("chat: expected a tokenizer with a chat template, found none", {"prompt": PROMPT, "chat": True}),
            ("normalize: expected none or receptive-field", {"prompt": PROMPT, "normalize": "row"}),
            (
                "globenc: expected layers with a norm after attention .* layer 1",
                {"prompt": PROMPT, "mixing": "globenc"},
            ),
            ("at most 40 tokens", {"prompt": "the key " * 30}),
        ]
        for words, options in refused:
            with self.subTest(words), self.assertRaisesRegex(attnflow.Error, words):
                attnflow.generate(self.model, self.tokenizer, tokens=2, **options)
        with self.assertRaisesRegex(attnflow.Error, "expected a model that generates text, found MBartModel"):
            attnflow.generate(self.model.model, self.tokenizer, PROMPT)


class Generate(PackageTest):
    model: Any
    tokenizer: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.model, cls.tokenizer = loaded("llama_grouped")

    def test_is_the_models_own_text(self) -> None:
        given = {"num_beams": 3, "repetition_penalty": 1.3}
        report = attnflow.generate(self.model, self.tokenizer, PROMPT, tokens=4, ignore_end=True, generation=given)
        inputs = self.tokenizer(PROMPT, return_tensors="pt")
        with torch.no_grad():
            expected = self.model.generate(
                inputs["input_ids"],
                attention_mask=torch.ones_like(inputs["input_ids"]),
                max_new_tokens=4,
                eos_token_id=2**31 - 1,  # none
                do_sample=False,
                pad_token_id=0,
                **given,
            )
        document = json.loads(report.to_json())
        made = [token["id"] for token in document["generation"]["tokens"]]
        self.assertEqual(made, expected[0, inputs["input_ids"].shape[1] :].tolist())

    def test_a_token_that_ends_the_text_may_be_chosen(self) -> None:
        def made(model: Any, **options: Any) -> tuple[list[int], str]:
            found = json.loads(attnflow.generate(model, self.tokenizer, PROMPT, tokens=5, **options).to_json())
            return [token["id"] for token in found["generation"]["tokens"]], found["generation"]["stopped"]

        ids, stopped = made(self.model, ignore_end=True)
        self.assertEqual((len(ids), stopped), (5, "length"))
        model, _ = loaded("llama_grouped")
        model.generation_config.eos_token_id = [ids[1]]
        self.assertEqual(made(model, ignore_end=True), (ids, "length"))
        end = ids.index(ids[1]) + 1
        self.assertEqual(made(model), (ids[:end], "end"))

    def test_positions_without_end(self) -> None:
        config = transformers.XLNetConfig(vocab_size=len(self.tokenizer), d_model=32, n_layer=2, n_head=4, d_inner=48)
        model = transformers.XLNetLMHeadModel(config).eval()
        self.assertEqual(config.max_position_embeddings, -1)
        with warnings.catch_warnings(), self.assertRaisesRegex(attnflow.Error, "expected a decoder, whose tokens see"):
            warnings.simplefilter("ignore")
            attnflow.generate(model, self.tokenizer, PROMPT, tokens=3)  # after it has made a text

    def test_seeds(self) -> None:
        texts = [
            json.loads(
                attnflow.generate(self.model, self.tokenizer, PROMPT, tokens=6, temperature=1.5, seed=seed).to_json()
            )["generation"]["text"]
            for seed in (1, 1, 2)
        ]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_shows_itself(self) -> None:
        report = attnflow.generate(self.model, self.tokenizer, PROMPT, tokens=3, ignore_end=True)
        self.assertIn("<details", report._repr_html_())
        self.assertIn("depends most on", str(report))
        frame = report.columns()
        self.assertEqual(len(frame["rollout"]), report.rollout.size)
        self.assertEqual(list(frame["output_text"][:: len(report.tokens)][:3]), report.generated_tokens)
        # A byte that is no character is shown differently as a token.
        joined = re.sub(r"\\x[0-9A-F]{2}", "\ufffd", "".join(report.generated_tokens or []))
        self.assertEqual(joined, report.generated_text)
        flow = attnflow.generate(self.model, self.tokenizer, PROMPT, tokens=3, ignore_end=True, method=["raw", "flow"])
        table = flow.to_pandas()
        last = table[table.layer == flow.flow_layers[0]]
        np.testing.assert_array_equal(last.flow, flow.flow.ravel())
        self.assertTrue(table[table.layer != flow.flow_layers[0]].flow.isna().all())
        self.assertIn("<svg", report.to_svg())

    def test_what_tokens_add_to_a_text(self) -> None:
        from attnflow.text import bytes_of

        text = "the key to a\u00e9 \U0001f600b"
        for name in ("llama_grouped", "gpt2_tied"):
            tokenizer = loaded(name)[1]
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            self.assertEqual(b"".join(bytes_of(tokenizer, token) for token in ids).decode().strip(), text, name)

    def test_refusals(self) -> None:
        """Before the model runs."""
        refused = [
            ("tokens: expected at least 1", {"tokens": 0}),
            ("system requires chat", {"system": "be short"}),
            ("discard", {"discard": 0.5}),
            ("normalize: expected none or receptive-field", {"normalize": "row"}),
            ('expected method="raw"', {"heads": 1, "method": "rollout"}),
            ("globenc: expected layers with a norm after .* found layer 1 without", {"mixing": "globenc"}),
            (
                'normalize="receptive-field": expected mixing="attention", value-zeroing',
                {"mixing": "alti", "normalize": "receptive-field"},
            ),
            ("temperature: expected a number of at least 0, found -1", {"temperature": -1.0}),
            ("temperature: expected a finite number, found nan", {"temperature": float("nan")}),
            ("temperature: expected a finite number, found inf", {"temperature": float("inf")}),
            ("top_p: expected a probability above 0 and at most 1, found 0", {"top_p": 0}),
            ("top_p: expected a probability above 0 and at most 1, found 1.5", {"top_p": 1.5}),
            ("seed: expected a whole number of at least 0, found -1", {"seed": -1}),
            ("seed: expected a whole number of at most 9007199254740992", {"seed": 2**64}),
            ("seed: expected a whole number of at least 0, found 1.5", {"seed": 1.5}),
            ("chat: expected a tokenizer with a chat template", {"chat": True}),
        ]
        for words, options in refused:
            runs = mock.patch.object(self.model, "generate", side_effect=AssertionError("the model has run"))
            with self.subTest(words), runs, self.assertRaisesRegex(attnflow.Error, words):
                attnflow.generate(self.model, self.tokenizer, PROMPT, **options)  # type: ignore[arg-type]
        with self.assertRaisesRegex(attnflow.Error, "prompt: expected a text, .* found int"):
            attnflow.generate(self.model, self.tokenizer, 3)
        with self.assertRaises(attnflow.Error):
            attnflow.generate(*loaded(), "the key", tokens=2)


if __name__ == "__main__":
    unittest.main()
