"""Attention of Transformers models: right, or refused; and every way in which it could be silently wrong."""

from __future__ import annotations

import copy
import threading
import typing
import unittest
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import architectures
import numpy as np
import torch
import transformers
from loading import BERT, ROOT, PackageTest, loaded

import attnflow


def family(name: str) -> architectures.Family:
    return next(one for one in architectures.FAMILIES if one.name == name)


def model_of(name: str) -> Any:
    return family(name).build()


def captured_of(model: Any, **inputs: Any) -> attnflow.Captured:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with attnflow.capture(model) as captured, torch.no_grad():
            model(**(inputs or architectures.inputs_of(model)))
    return captured


def in_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []

    def run() -> None:
        try:
            with torch.no_grad():
                found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


class Families(PackageTest):
    def test_captured_right_or_refused(self) -> None:
        for one in architectures.FAMILIES:
            with self.subTest(one.name):
                outcome = architectures.outcome_of(one)
                self.assertLessEqual(outcome.error, architectures.TOLERANCE)

    def test_the_table_in_the_documentation(self) -> None:
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        self.assertIn(architectures.table(), text, "python/tests/capture/architectures.py prints it")


class Traps(PackageTest):
    def test_modules_that_do_not_know_their_layer(self) -> None:
        for name in ("vit", "distilbert"):
            model = model_of(name)
            modules = [call.module for call in captured_of(model).calls]
            self.assertEqual(len(set(modules)), 2, modules)

    def test_one_module_for_all_layers(self) -> None:
        calls = captured_of(model_of("albert")).calls
        self.assertEqual(len({call.module for call in calls}), 1)
        self.assertEqual(len(calls), 2)
        self.assertFalse(torch.equal(calls[0].weights, calls[1].weights))

    def test_windows_are_kept(self) -> None:
        for weights in captured_of(model_of("mistral")).attentions:
            outside = torch.ones(12, 12).tril(-4).bool()  # a window of 4
            self.assertEqual(float(weights[0][:, outside].abs().max()), 0.0)
            self.assertEqual(float(weights[0][:, torch.ones(12, 12).triu(1).bool()].abs().max()), 0.0)

    def test_masks_that_only_known_implementations_get(self) -> None:
        model = model_of("deepseek_v32")
        with self.assertWarnsRegex(UserWarning, "masks attention only for"), attnflow.capture(model) as captured:
            model(**architectures.inputs_of(model))
        for weights in captured.attentions:
            self.assertLessEqual(int((weights[0] > 0).sum(dim=-1).max()), 3)  # index_topk
        self.assertEqual(model.config._attn_implementation, "sdpa")

    def test_one_reference_function(self) -> None:
        from attnflow.capture import _reference_function as reference_of
        from transformers.models.llama4 import modeling_llama4 as llama4

        sizes = {"hidden_size": 32, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
        dims = dict.fromkeys(("vision_output_dim", "projector_input_dim", "projector_output_dim"), 32)
        vision = llama4.Llama4VisionConfig(**sizes, **dims, image_size=16, patch_size=4)
        text = llama4.Llama4TextConfig(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=8)
        self.assertIs(reference_of(llama4.Llama4VisionAttention(vision)), llama4.vision_eager_attention_forward)
        self.assertIs(reference_of(llama4.Llama4TextAttention(text, 0)), llama4.eager_attention_forward)
        self.assertIsNone(reference_of(torch.nn.Linear(1, 1)))
        self.assertIsNone(reference_of(llama4.Llama4TextL2Norm()))  # beside two, and names none
        captured = captured_of(llama4.Llama4VisionModel(vision).eval(), pixel_values=torch.randn(1, 3, 16, 16))
        self.assertEqual([tuple(layer.shape) for layer in captured.attentions], [(1, 4, 17, 17)] * 2)

    def test_padding_gets_nothing(self) -> None:
        for name in ("bert", "llama"):
            for weights in captured_of(model_of(name)).attentions:
                self.assertEqual(float(weights[1, :, 4:, :4].abs().max()), 0.0)

    def test_sinks_take_their_share(self) -> None:
        model = model_of("gpt_oss")
        for module in model.modules():
            if hasattr(module, "sinks"):
                torch.nn.init.constant_(module.sinks, 2.0)
        weights = captured_of(model).attentions[0]
        self.assertLess(float(weights[0, 0, 0, 0]), 0.9)
        with self.assertRaisesRegex(attnflow.Error, "sum to 1"):
            attnflow.rollout([layer[:1] for layer in captured_of(model).attentions])

    def test_only_rounding_is_divided_away(self) -> None:
        from attnflow.capture import _reference_function as reference

        model, tokenizer = loaded(dtype=torch.bfloat16)

        def lesser(part: Any) -> Any:
            def attention(*arguments: Any, **options: Any) -> Any:
                output, weights = reference(part)(*arguments, **options)
                return output, weights * (0.9 if "layer.1" in names[id(part)] else 1.0)

            return attention

        names = {id(part): name for name, part in model.named_modules()}
        with mock.patch("attnflow.capture._reference_function", lesser):
            captured = captured_of(model, input_ids=torch.arange(5, 17)[None])
            self.assertFalse(captured.rounded)
            with self.assertRaisesRegex(attnflow.Error, "sum to 1"):
                attnflow.rollout(captured)
            for kept in (False, True):
                with self.assertRaisesRegex(attnflow.Error, "sum to 1"):
                    attnflow.explain(model, tokenizer, "the key", method="rollout", keep_attention=kept)
        self.assertTrue(captured_of(model, input_ids=torch.arange(5, 17)[None]).rounded)

    def test_families_of_their_own_are_asked_and_it_is_said(self) -> None:
        model = model_of("bloom")
        with self.assertWarnsRegex(UserWarning, "output_attentions=True"), attnflow.capture(model) as captured:
            model(**architectures.inputs_of(model))
        self.assertEqual(len(captured.attentions), 2)

    def test_attention_that_asking_would_change(self) -> None:
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 50}
        config = transformers.FalconConfig(**sizes, alibi=True, multi_query=False, parallel_attn=False)
        torch.manual_seed(1)
        model = transformers.FalconForCausalLM(config).eval()
        ids = torch.arange(1, 9)[None]
        with torch.no_grad():
            alone = model(input_ids=ids).logits
            asked = model(input_ids=ids, output_attentions=True).logits
        # When transformers fixes it, nothing needs to be refused.
        self.assertGreater(float((alone - asked).abs().max()), 1e-3)
        with self.assertRaisesRegex(attnflow.Error, "adds its ALiBi bias twice"), attnflow.capture(model):
            model(input_ids=ids)
        with attnflow.capture(transformers.FalconForCausalLM(transformers.FalconConfig(**sizes)).eval()):
            pass

    def test_the_model_is_as_before(self) -> None:
        for name in ("llama", "clip", "bloom"):
            model = model_of(name)
            inputs = architectures.inputs_of(model)
            before = [part.config._attn_implementation for part in model.modules() if hasattr(part, "config")]
            with torch.no_grad():
                expected = model(**inputs)
            captured_of(model, **inputs)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with self.assertRaises(ZeroDivisionError), attnflow.capture(model):
                    raise ZeroDivisionError
            after = [part.config._attn_implementation for part in model.modules() if hasattr(part, "config")]
            self.assertEqual(after, before, name)
            with torch.no_grad():
                again = model(**inputs)
            self.assertTrue(torch.equal(expected[0], again[0]), name)

    def test_the_last_of_several_runs(self) -> None:
        model = model_of("gpt2")
        inputs = architectures.inputs_of(model)
        with attnflow.capture(model) as captured, torch.no_grad():
            model(input_ids=inputs["input_ids"][:, :5])
            first = captured.calls
            model(**inputs)
        self.assertEqual(first[0].weights.shape[-1], 5)
        self.assertEqual(captured.attentions[0].shape[-1], 12)
        self.assertEqual(attnflow.rollout([layer[:1] for layer in captured.attentions]).shape, (2, 12, 12))

    def test_nothing_of_others(self) -> None:
        for name in ("bert", "bloom"):
            with self.subTest(name):
                model = model_of(name)
                other = type(model)(model.config).eval()  # one configuration for both
                inputs = architectures.inputs_of(model)
                expected = captured_of(model, **inputs).attentions
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    with attnflow.capture(model) as captured, torch.no_grad():
                        model(**inputs)
                        other(**inputs)
                        short = {key: value[:, :5] for key, value in inputs.items()}
                        output = in_thread(partial(model, **short))
                        self.assertIsInstance(output, transformers.utils.ModelOutput)
                        self.assertIsNone(getattr(output, "attentions", None))
                for found, weights in zip(captured.attentions, expected, strict=True):
                    self.assertTrue(torch.equal(found, weights))

    def test_one_at_a_time_on_both_paths(self) -> None:
        models = [model_of("bert"), model_of("bloom")]

        def enter(model: Any) -> None:
            with attnflow.capture(model):
                pass

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for first in models:
                for second in models:
                    with attnflow.capture(first) as captured, torch.no_grad():
                        with self.assertRaisesRegex(attnflow.Error, "one capture at a time"):
                            enter(second)
                        self.assertRegex(str(in_thread(partial(enter, second))), "one capture at a time")
                        first(**architectures.inputs_of(first))  # the first one goes on
                    self.assertEqual(len(captured.attentions), 2)
                    enter(second)

    def test_a_copy_made_inside_is_left_as_it_was(self) -> None:
        model = model_of("bert")
        with attnflow.capture(model):
            twin = copy.deepcopy(model)
        self.assertEqual(model.config._attn_implementation, "sdpa")
        before = twin.config._attn_implementation
        self.assertEqual(len(captured_of(twin).attentions), 2)
        self.assertEqual(twin.config._attn_implementation, before)

    def test_what_a_copy_runs_is_not_the_models(self) -> None:
        for name in ("bert", "bloom"):
            with self.subTest(name), warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                model = model_of(name)
                inputs = architectures.inputs_of(model)
                with attnflow.capture(model) as captured:
                    model(**inputs)
                    twin = copy.deepcopy(model)
                    twin(input_ids=inputs["input_ids"][:, :5])
                    self.assertEqual([tuple(layer.shape[2:]) for layer in captured.attentions], [(12, 12)] * 2)
                twin(**inputs)
                self.assertEqual(len(captured.calls), 2)

    def test_half_precision(self) -> None:
        model = loaded()[0]
        ids = {"input_ids": torch.arange(5, 17)[None]}
        exact = attnflow.rollout(captured_of(model, **ids))
        for dtype in (torch.bfloat16, torch.float16):
            half = copy.deepcopy(model).to(dtype)
            for fuse in (None, "mean"):
                with self.subTest(dtype=dtype, fuse=fuse):
                    with attnflow.capture(half, fuse=fuse) as captured, torch.no_grad():
                        half(**ids)
                    report = attnflow.attribute(captured, method="rollout", renormalize=None)  # type: ignore[arg-type]
                    np.testing.assert_allclose(report.rollout.sum(axis=-1), 1.0, atol=1e-9)
                    np.testing.assert_allclose(report.rollout, exact, atol=0.02)
                    divided = attnflow.rollout(captured.attentions, renormalize=True)
                    self.assert_same_bits(report.rollout, divided)
                    raw = attnflow.raw(captured, any_weights=True)
                    self.assert_same_bits(raw, attnflow.raw(captured.attentions, any_weights=True))
        with attnflow.capture(model) as captured, torch.no_grad():
            model(**ids)
        self.assert_same_bits(attnflow.rollout(captured), attnflow.rollout(captured.attentions))

    def test_half_precision_leaves_sinks_to_the_caller(self) -> None:
        model = model_of("gpt_oss").to(torch.bfloat16)
        captured = captured_of(model, input_ids=torch.arange(5, 17)[None])
        with self.assertRaisesRegex(attnflow.Error, "sum to 1"):
            attnflow.rollout(captured)
        self.assertLess(attnflow.raw(captured, any_weights=True)[0].sum(axis=-1).min(), 0.9)
        model = model_of("bert").to(torch.bfloat16)
        self.assertTrue(captured_of(model).rounded)
        model.encoder.layer[1].register_parameter("attn_sink", torch.nn.Parameter(torch.zeros(4)))  # another name
        self.assertFalse(captured_of(model).rounded)

    def test_one_stack(self) -> None:
        model = model_of("bert")
        weights = torch.full((1, 1, 2, 2), 0.5)

        def layers(*names: str) -> int:
            captured = attnflow.Captured(model)
            captured.calls = [type(call)(name, weights) for call, name in zip(calls, names, strict=True)]
            return len(captured.attentions)

        calls = captured_of(model).calls
        for names in (
            ("a.layer.0.self", "a.layer.1.self"),
            ("block.9.layer.0", "block.10.layer.0"),
            ("groups.0.layers.0", "groups.0.layers.0"),
        ):
            self.assertEqual(layers(*names), 2)
        for names in (
            ("text.layer.0", "vision.layer.0"),
            ("tower.layer.1", "tower.layer.0"),
            ("towers.0.layer.0", "towers.1.layer.1"),
            ("tower.layer.0", "tower.layer.0.cross"),
        ):
            with self.assertRaisesRegex(attnflow.Error, "layers of one stack.*calls has each of them"):
                layers(*names)

    def test_two_towers_are_no_stack(self) -> None:
        config = transformers.CLIPConfig(
            text_config={"num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 4, "vocab_size": 99},
            vision_config={
                "num_hidden_layers": 1,
                "hidden_size": 32,
                "num_attention_heads": 4,
                "image_size": 16,
                "patch_size": 4,
            },
        )
        config.num_hidden_layers = 2
        model = transformers.CLIPModel(config).eval()
        with self.assertRaisesRegex(attnflow.Error, "one stack"):
            _ = captured_of(model).attentions

    def test_warnings_are_of_the_caller(self) -> None:
        model = model_of("bloom")
        tokenizer = loaded()[1]

        def enter() -> None:
            with attnflow.capture(model):
                pass

        works: tuple[Callable[[], Any], ...] = (
            enter,
            lambda: attnflow.explain(model, tokenizer, "the key", method="rollout"),
            lambda: attnflow.explain(model, tokenizer, ["the key"], method="rollout"),
        )
        for work in works:
            with self.assertWarnsRegex(UserWarning, "BloomModel has its own attention functions") as caught:
                work()
            self.assertEqual(Path(caught.filename), Path(__file__))

    def test_versions_that_exchange_nothing(self) -> None:
        model = model_of("bert")
        model.set_attn_implementation("eager")
        with mock.patch("attnflow.capture._register", return_value=False):
            with (
                self.assertWarnsRegex(UserWarning, "this version of transformers"),
                attnflow.capture(model) as captured,
            ):
                model(**architectures.inputs_of(model))
        self.assertEqual(len(captured.attentions), 2)

    def test_hints_are_known(self) -> None:
        for function in (attnflow.attribute, attnflow.rollout, attnflow.show, attnflow.explain, attnflow.capture):
            self.assertIn("return", typing.get_type_hints(function))
        (options,) = typing.get_args(typing.get_type_hints(attnflow.rollout)["options"])
        self.assertIn("residual", typing.get_type_hints(options))

    def test_refuses(self) -> None:
        from attnflow.capture import _fused

        model = model_of("bert")
        model.encoder.layer[1].train()  # a part of it
        with self.assertRaisesRegex(attnflow.Error, r"model\.eval\(\)"), attnflow.capture(model):
            pass
        model.eval()
        hollow = transformers.BertModel(model.config).eval().to("meta")
        with self.assertRaisesRegex(attnflow.Error, "device meta"), attnflow.capture(hollow):
            pass
        with self.assertRaisesRegex(attnflow.Error, "expected a model of transformers"), attnflow.capture(3):
            pass
        partly = model_of("bert")
        partly.encoder.layer[1].to("meta")
        with self.assertRaisesRegex(attnflow.Error, "offloads.*device_map=None"), attnflow.capture(partly):
            pass
        with self.assertRaisesRegex(attnflow.Error, "found an empty batch"):
            _fused("mean", torch.zeros(0, 4, 5, 5), 1)
        with attnflow.capture(model) as captured:
            pass
        with self.assertRaisesRegex(attnflow.Error, "found 0 calls"):
            _ = captured.attentions


class Plain:
    """A tokenizer that makes a fixed number of tokens of any text."""

    mask_token_id = None

    def __init__(self, tokens: int) -> None:
        self.ids = [5] * tokens

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": self.ids}

    def get_special_tokens_mask(self, ids: list[int], already_has_special_tokens: bool) -> list[int]:
        return [0] * len(ids)

    def convert_ids_to_tokens(self, token: int) -> str:
        return str(token)

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        return " ".join(tokens)


class Explain(PackageTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.model, cls.tokenizer = loaded()

    tokenizer: Any
    model: Any

    def test_is_what_the_program_says(self) -> None:
        text = "the key to the cabinets"
        report = attnflow.explain(self.model, self.tokenizer, text)
        self.run_program("explain", text, "--model", BERT, "-o", "out.npz")
        with np.load(self.folder / "out.npz") as expected:
            self.assertEqual(report.tokens, list(expected["tokens"]))
            self.assertEqual(report.special, list(expected["special"]))
            for name in ("raw", "rollout", "flow"):  # another build of PyTorch: its matrix products differ by that
                np.testing.assert_allclose(getattr(report, name), expected[name], atol=2e-5)

    def test_half_precision(self) -> None:
        exact = attnflow.explain(self.model, self.tokenizer, "the key to the cabinets", method="rollout")
        for dtype in (torch.bfloat16, torch.float16):
            model = loaded(dtype=dtype)[0]
            report = attnflow.explain(model, self.tokenizer, "the key to the cabinets", method="rollout")
            np.testing.assert_allclose(report.rollout.sum(axis=-1), 1.0, atol=1e-9)
            np.testing.assert_allclose(report.rollout, exact.rollout, atol=0.02)

    def test_refuses(self) -> None:
        explain = attnflow.explain
        with self.assertRaises(attnflow.Error) as caught:
            explain(model_of("bert"), Plain(65), "a")
        self.assertEqual(caught.exception.kind, "input_too_long")
        for name in ("roberta", "xlm-roberta", "data2vec-text", "camembert", "mpnet"):
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = model_of(name)
                most = 64 - model.embeddings.position_embeddings.padding_idx - 1
                report = explain(model, Plain(most), "a", method="rollout")
                self.assertEqual(len(report.tokens), most + 1)  # and their mean
                with self.assertRaisesRegex(attnflow.Error, f"at most {most} tokens") as caught:
                    explain(model, Plain(most + 1), "a")
                self.assertEqual(caught.exception.kind, "input_too_long")
        self.assertEqual(len(explain(model_of("bert"), Plain(64), "a", method="rollout").tokens), 65)
        texts: list[Any] = [3, ["a", None], [True]]
        for text in texts:
            with self.subTest(text=text), self.assertRaisesRegex(attnflow.Error, "expected a text, a tuple of two"):
                explain(self.model, self.tokenizer, text)
        with self.assertRaisesRegex(attnflow.Error, "a list of 2 texts"):
            explain(model_of("bart"), self.tokenizer, ["a", "b"], target_text=["c", None])  # type: ignore[list-item]
        wrapped = torch.nn.Sequential(model_of("bert"))
        wrapped.config = wrapped[0].config
        with self.assertRaisesRegex(attnflow.Error, r"PreTrainedModel.*found Sequential"):
            explain(wrapped.eval(), self.tokenizer, "a")


if __name__ == "__main__":
    unittest.main()
