"""Edges of loaded models equal those of the program on the same weights, family by family, and obey their laws.

Tiny random models from tests/families. The float32 computations differ in order, so differences are relative to the
largest value of a row of contributions, or of a layer of relevance, whose rows may cancel to no accurate digits.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers
from attnflow.capture import _at_work
from attnflow.hooks import given_tensor
from loading import ROOT, PackageTest, loaded

import attnflow
from attnflow import anatomy, attnlrp, edges

sys.path.insert(0, str(ROOT / "tests" / "families"))
import families  # noqa: E402

transformers.utils.logging.disable_progress_bar()

TOLERANCE = 1e-5
GRADIENTS = 5e-5  # of relevance: float32 gradients of two builds of torch differ by up to 1.5e-5, by machine
ZEROING = 5e-5  # of value zeroing: 1 - cos of vectors that are nearly the same
RELEVANCE = ("relevance", "relevance-by-head")
# As named in tests/families; the first word is the family's.
AFTER = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert")
DECODERS = (
    *("gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma", "opt", "gpt_neox", "gpt_neox serial"),
    *("gemma2", "cohere", "cohere2", "phi", "gptj"),
)
CLASSES = ("gpt2 classes", "llama classes")
# Others have the parts of BERT or Llama, with all mixings compared. (GPT-NeoX's result depends on more than y.)
OF_THEIR_OWN = ("gpt2", "opt", "gpt_neox serial", "distilbert")
ALL = {
    "bert": ("norm", "globenc", "alti", "ifr", "value-zeroing", *RELEVANCE),
    "llama": ("norm", "alti", "ifr", "value-zeroing", *RELEVANCE),
}


def layers_in(model: Any) -> list[Any]:
    lists = [list(module) for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    return max(lists, key=len)


class Saved:
    """A family's model for the program and transformers."""

    def __init__(self, name: str, folder: Path) -> None:
        family = families.FAMILIES[name]
        self.folder = folder
        families.save(family.build(), family, folder)
        kinds = {"classes": transformers.AutoModelForSequenceClassification}
        usual = transformers.AutoModelForCausalLM if family.is_decoder else transformers.AutoModelForMaskedLM
        self.model = kinds.get(family.head, usual).from_pretrained(folder).eval()
        named = {"mask_token": "[MASK]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
        self.tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"), **({} if family.is_decoder else named)
        )
        self.text = families.TEXT if family.is_decoder or family.head else families.TEXT.replace("old", "[MASK]")

    def explain(self, **options: Any) -> attnflow.Report:
        report: attnflow.Report = attnflow.explain(self.model, self.tokenizer, self.text, **options)
        return report


class Golden(Saved):
    """A classifier of tests/golden."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.text = folder, "the keys"
        self.model, self.tokenizer = loaded(folder.name)


class EdgesTest(PackageTest):
    def saved(self, name: str) -> Saved:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Saved(name, Path(folder.name))

    def program(self, saved: Saved, mixing: str | None, **options: Any) -> tuple[dict[str, Any], Any]:
        """The document and the arrays."""
        arguments: list[Any] = [] if mixing is None else ["--mixing", mixing]
        for option, value in options.items():
            arguments += [f"--{option.replace('_', '-')}", value]
        self.run_program(
            *("explain", saved.text, "--force", "--model", saved.folder, *arguments, "-o", "a.json", "-o", "a.npz")
        )
        with np.load(self.folder / "a.npz") as arrays:
            kept = {name: arrays[name] for name in ("raw", "rollout", "flow") if name in arrays}
        return json.loads((self.folder / "a.json").read_text(encoding="utf-8")), kept

    def same(self, saved: Saved, mixing: str | None, **options: Any) -> None:
        expected, arrays = self.program(saved, mixing, **options)
        asked = options if mixing is None else options | {"mixing": mixing}
        report = saved.explain(check=False, **asked)
        found = json.loads(report.to_json())
        of_layer = found["settings"]["mixing"] in RELEVANCE
        tolerance = GRADIENTS if of_layer else ZEROING if mixing == "value-zeroing" else TOLERANCE
        for method, values in arrays.items():
            largest = np.abs(values).max(axis=(1, 2) if of_layer else 2, keepdims=True)
            difference = np.abs(getattr(report, method) - values) / np.where(largest == 0, 1, largest)
            self.assertLess(difference.max(), tolerance, method)
        for key in ("settings", "output_token"):
            self.assertEqual(found[key], expected[key], key)
        self.assertEqual(found["model"] | {"name": ""}, expected["model"] | {"name": ""})
        codes = [note["code"] for note in expected["notes"]]
        self.assertEqual([note["code"] for note in found["notes"]], codes)
        self.same_target(found.get("target"), expected.get("target"))
        self.assertEqual(None if report.target is None else report.target.label, found.get("target", {}).get("label"))

    def same_target(self, found: Any, expected: Any) -> None:
        if expected is None:
            self.assertIsNone(found)
            return
        for one, other in ((found, expected), (found.get("against"), expected.get("against"))):
            self.assertEqual(one is None, other is None)
            if one is not None:
                self.assertAlmostEqual(one.pop("logit"), other.pop("logit"), places=4)
        several = [(one.get("against") or {}).get("others", []) for one in (found, expected)]
        for one, other in zip(*several, strict=True):
            self.assertAlmostEqual(one.pop("logit"), other.pop("logit"), places=4)
        self.assertEqual(found, expected)


class SameAsProgram(EdgesTest):
    def test_families(self) -> None:
        for name in (*AFTER, *DECODERS, *CLASSES):
            saved = self.saved(name)
            mixings = ("norm", *(("value-zeroing",) if name in OF_THEIR_OWN else ()), "relevance")
            # Flow takes longest, and uses the same matrices.
            some = {} if name in ALL else {"method": "raw,rollout"}
            for mixing in ALL.get(name, mixings):
                with self.subTest(name, mixing=mixing):
                    self.same(saved, mixing, **some)

    def test_what_auto_stands_for(self) -> None:
        for name in ("llama", "gpt2 classes", "bert"):
            with self.subTest(name):
                self.same(self.saved(name), None)
        llama = self.saved("llama")
        for options in ({"heads": "max"}, {"residual": 0.3}, {"output_token": 2}):
            with self.subTest(**options):
                self.same(llama, None, **options)

    def test_targets_and_removal(self) -> None:
        bert, gpt2, classes = self.saved("bert"), self.saved("gpt2"), self.saved("gpt2 classes")
        for saved, options in (
            (bert, {"target": "cabinets", "against": "old"}),
            (bert, {"target": "table", "against": "none"}),
            (gpt2, {"target": "id:7", "against": "rest"}),
            (gpt2, {"output_token": 5, "mask_columns": "first"}),
            (gpt2, {"target": "key"}),  # of several tokens: its first
            (classes, {"target": "b-per", "against": "O"}),
            (classes, {"discard": 0.3, "normalize": "row"}),
        ):
            with self.subTest(**options):
                self.same(saved, "relevance", **options)
        with self.subTest("alti without columns"):
            self.same(bert, "alti", mask_columns="special", discard=0.2)
        with self.subTest("a target alone"):
            self.same(bert, None, target="cabinets")

    def test_heads_of_classifiers(self) -> None:
        """Their functions are modules, or missing."""
        golden = ROOT / "tests" / "golden" / "models"
        for name in ("bert_classification", "roberta_classification", "distilbert_classification"):
            with self.subTest(name):
                self.same(Golden(golden / name), "relevance")

    def test_check(self) -> None:
        """Also if the output token is not the prediction's."""
        bert, gpt2, classes = self.saved("bert"), self.saved("gpt2"), self.saved("gpt2 classes")
        llama = self.saved("llama classes")  # reads the class before its last token, which is padding
        for saved in (gpt2, classes, llama):
            saved.tokenizer.unk_token = "<unk>"  # the program finds it by its spelling
        for saved, mixing, options in (
            (bert, "alti", {}),
            (bert, "relevance", {}),
            (bert, "relevance", {"output_token": 1}),
            (gpt2, "relevance", {"output_token": 3}),
            (classes, "relevance", {"output_token": 5}),
            (classes, "attention", {}),
            (llama, "relevance", {}),
            (llama, "attention", {}),
        ):
            with self.subTest(mixing=mixing, **options):
                expected, _ = self.program(saved, mixing, method="raw,rollout", **options)
                ask: dict[str, Any] = {"mixing": mixing, "method": "raw,rollout", **options}
                report = saved.explain(check=True, **ask)
                found = json.loads(report.to_json())["check"]
                self.assertEqual(found["quantity"], expected["check"]["quantity"])
                for one, other in zip(found["tokens"], expected["check"]["tokens"], strict=True):
                    self.assertEqual(one["token"], other["token"])
                    self.assertEqual(
                        [said["text"] for said in one["replacements"]], [said["text"] for said in other["replacements"]]
                    )
                    self.assertAlmostEqual(one["drop"], other["drop"], places=4)
                for one, other in zip(found["maps"], expected["check"]["maps"], strict=True):
                    self.assertEqual(one["first_token"], other["first_token"])
                    self.assertAlmostEqual(one.get("rank_correlation", 9), other.get("rank_correlation", 9), places=9)
        for saved, token in ((bert, 1), (gpt2, 3), (classes, 5), (llama, "last")):
            with self.subTest("no prediction", token=token):
                ask = {"mixing": "attention", "output_token": token}
                self.assertNotIn("check", self.program(saved, **ask)[0])
                self.assertIsNone(saved.explain(**ask).check)
                with self.assertRaisesRegex(attnflow.Error, "check=True: expected .*, found .*; omit .*check"):
                    saved.explain(check=True, **ask)

    def test_words_and_attention(self) -> None:
        bert = self.saved("bert")
        report = bert.explain(mixing="relevance", keep_attention=True)
        plain = bert.explain(mixing="attention", keep_attention=True)
        np.testing.assert_allclose(report.attention, plain.attention, atol=1e-6)


class Laws(EdgesTest):
    def test_completeness(self) -> None:
        """x_i + sum_j T_ij + b = y_i, in every layer."""
        for name in ("bert", "distilbert", "gpt2", "llama", "gpt_neox", "opt", "cohere", "gemma2"):
            saved = self.saved(name)
            errors: list[float] = []
            terms = edges.Run.terms

            def checked(run: Any, terms: Any = terms, errors: list[float] = errors) -> Any:
                made, bias = terms(run)
                errors.append(made(0, run.x.shape[1]).made().completeness_error(bias))
                return made, bias

            with mock.patch.object(edges.Run, "terms", checked):
                report = saved.explain(mixing="alti", check=False)
            with self.subTest(name):
                self.assertEqual(len(errors), len(report.layers))
                self.assertLess(max(errors), TOLERANCE)
                np.testing.assert_allclose(report.raw.sum(axis=2), 1.0, rtol=1e-12)

    def test_relevance_is_complete(self) -> None:
        """Without biases sum_ij E_ij = sum_i y_i . g_i in every layer, and in the last that is the target's value."""
        saved = self.saved("mistral")
        self.assertFalse([name for name, _ in saved.model.named_parameters() if name.endswith("bias")])
        sums: list[tuple[float, float]] = []
        back = edges.back

        def summed(run: Any, gradient: Any, by_rules: bool) -> Any:
            y: list[Any] = []
            forget = run.forget

            def keep() -> None:
                if run.projected is not None:
                    y[:] = [run.behind().detach()]
                forget()

            with mock.patch.object(run, "forget", keep):
                made = back(run, gradient, by_rules)
            found = (made.weights * made.slope).sum(dtype=torch.float64) + (made.x[0] * made.behind).sum(
                dtype=torch.float64
            )
            sums.append((float(found), float((y[0] * made.behind).sum(dtype=torch.float64))))
            return made

        with mock.patch.object(edges, "back", summed):
            report = saved.explain(mixing="relevance", check=False)
        assert report.target is not None
        value = report.target.value
        self.assertEqual(len(sums), len(report.layers))
        np.testing.assert_allclose([found for found, _ in sums], [expected for _, expected in sums], atol=1e-5)
        self.assertAlmostEqual(sums[0][0], value, places=5)


class Users(EdgesTest):
    """A user's own families, and unsuitable layers."""

    def test_a_registered_layer(self) -> None:
        class Another(transformers.models.llama.modeling_llama.LlamaDecoderLayer):  # type: ignore[misc]
            pass

        llama = self.saved("llama")
        expected = llama.explain(mixing="relevance", check=False)
        for layer in llama.model.model.layers:
            layer.__class__ = Another
        ask: dict[str, Any] = {"mixing": "relevance", "check": False}
        with mock.patch.object(anatomy, "scale_of", return_value=None):
            words = r'^Another: expected the sum of .* found neither; .*register_layer.*mixing="attention"'
            with self.assertRaisesRegex(attnflow.Error, words) as caught:
                llama.explain(**ask)
            self.assertEqual(caught.exception.kind, "unsupported_model")
            usual = llama.explain(check=False)
            self.assertEqual(usual.settings["mixing"], "attention")
            self.assertTrue(any("is not available for this model" in note for note in usual.notes))

        attnflow.register_layer(
            Another,
            attnflow.LayerParts(
                projection="self_attn.o_proj",
                behind="post_attention_layernorm",
                rest=lambda layer, y: y + layer.mlp(layer.post_attention_layernorm(y)),
            ),
        )
        found = llama.explain(**ask)
        self.assert_same_bits(found.rollout, expected.rollout)
        self.assertEqual(llama.explain().settings["mixing"], "relevance")

    def test_modules_called_by_keyword(self) -> None:
        """Layers, norms, projections and activations."""
        ask: dict[str, Any] = {"check": False, "method": "rollout"}
        for name, paths in (
            ("llama", ("self_attn.o_proj", "post_attention_layernorm", "mlp.act_fn")),
            ("gpt_neox", ("attention", "attention.dense", "mlp.act")),
        ):
            saved = self.saved(name)
            mixings = ("alti", "relevance")
            expected = [saved.explain(mixing=mixing, **ask) for mixing in mixings]
            layers = layers_in(saved.model)
            for module in (*layers, *(layer.get_submodule(path) for layer in layers for path in paths)):
                kind = type(module)
                names = tuple(inspect.signature(module.forward).parameters)

                def call(own: Any, *given: Any, names: Any = names, kind: Any = kind, **named: Any) -> Any:
                    return kind.__call__(own, **named, **dict(zip(names, given, strict=False)))

                # Rules and parts are found by type(), so the class keeps its names.
                own = type(kind.__name__, (kind,), {"__call__": call, "__module__": kind.__module__})
                own.__qualname__ = kind.__qualname__
                module.__class__ = own
            for mixing, one in zip(mixings, expected, strict=True):
                with self.subTest(name, mixing=mixing):
                    found = saved.explain(mixing=mixing, **ask)
                    np.testing.assert_allclose(found.rollout, one.rollout, atol=1e-6)
        with self.assertRaisesRegex(
            attnflow.Error, "Linear to be called with a tensor, found 0 arguments and no keywords"
        ):
            given_tensor(torch.nn.Linear(1, 1), (), {})

    def test_projections_that_keep_their_bias_as_a_method(self) -> None:
        """As in quantized layers of PyTorch."""

        class Quantised(torch.nn.Module):
            def __init__(self, linear: torch.nn.Linear) -> None:
                super().__init__()
                self.linear = linear

            def weight(self) -> Any:
                return self.linear.weight

            def bias(self) -> Any:
                return self.linear.bias

            def forward(self, input: Any) -> Any:  # noqa: A002  the name is PyTorch's
                return self.linear(input)

        opt = self.saved("opt")
        expected = opt.explain(mixing="alti", check=False)
        for layer in layers_in(opt.model):
            self.assertGreater(float(layer.self_attn.out_proj.bias.abs().max()), 0)
            layer.self_attn.out_proj = Quantised(layer.self_attn.out_proj).eval()
        found = opt.explain(mixing="alti", check=False)
        np.testing.assert_allclose(found.rollout, expected.rollout, atol=1e-6)

    def test_layers_that_are_made_otherwise_are_refused(self) -> None:
        class Scaled(transformers.models.llama.modeling_llama.LlamaDecoderLayer):  # type: ignore[misc]
            """What attention writes is scaled on its way."""

            def __init__(self) -> None: ...

        right = attnflow.LayerParts(projection="self_attn.o_proj", behind="post_attention_layernorm")
        wrong = (
            (
                attnflow.LayerParts(projection="self_attn.o_proj", behind="input_layernorm"),
                "the sum of x and the output",
            ),
            (attnflow.LayerParts(projection="self_attn.q_proj", behind="post_attention_layernorm"), "expected"),
            (
                attnflow.LayerParts(projection="self_attn.no", behind="post_attention_layernorm"),
                "a module 'self_attn.no'",
            ),
        )
        llama = self.saved("llama")
        for layer in llama.model.model.layers:
            layer.__class__ = Scaled
        for parts, message in wrong:
            attnflow.register_layer(Scaled, parts)
            for mixing in ("alti", "relevance"):
                with self.subTest(message, mixing=mixing), self.assertRaisesRegex(attnflow.Error, message):
                    llama.explain(mixing=mixing)
        attnflow.register_layer(Scaled, right)
        for layer in llama.model.model.layers:
            layer.self_attn.o_proj.register_forward_hook(lambda _, __, output: output * 0.5)
        # Hooks run in order: attnflow's, added later, sees the change.
        with self.assertRaisesRegex(attnflow.Error, "to sum to y"):
            llama.explain(mixing="alti")
        neox = self.saved("gpt_neox")

        class Beside(transformers.models.gpt_neox.modeling_gpt_neox.GPTNeoXLayer):  # type: ignore[misc]
            def __init__(self) -> None: ...

        attnflow.register_layer(Beside, attnflow.LayerParts(projection="attention.dense", attention="mlp"))
        for layer in neox.model.gpt_neox.layers:
            layer.__class__ = Beside
        with self.assertRaisesRegex(attnflow.Error, "layer 1 .* expected mlp to return the output of the projection"):
            neox.explain(mixing="relevance")
        gemma = self.saved("gemma2")
        for layer in gemma.model.model.layers:
            layer.post_attention_layernorm.register_forward_hook(lambda _, __, output: output + 0.1)
        with self.assertRaisesRegex(attnflow.Error, "post_attention_layernorm to be an RMS norm, found Gemma2RMSNorm"):
            gemma.explain(mixing="alti")
        with self.assertRaisesRegex(attnflow.Error, "path of a projection"):
            attnflow.LayerParts(projection="o_proj")
        with self.assertRaisesRegex(attnflow.Error, "the class of a layer"):
            attnflow.register_layer(llama.model, right)

    def test_functions_without_a_rule_are_refused(self) -> None:
        llama = self.saved("llama")
        llama.model.model.layers[1].mlp.act_fn = torch.nn.LogSoftmax(dim=-1).eval()
        with self.assertRaisesRegex(attnflow.Error, 'found log_softmax of 1 activation; .* choose mixing="alti"'):
            llama.explain(mixing="relevance")
        llama.explain(mixing="alti", check=False)
        usual = llama.explain(check=False)
        self.assertEqual(usual.settings["mixing"], "attention")

    def test_other_questions_are_refused(self) -> None:
        bert, gpt2 = self.saved("bert"), self.saved("gpt2")
        for saved, options, message in (
            (bert, {"mixing": "alti", "heads": "max"}, 'requires heads="mean"'),
            (bert, {"mixing": "alti", "target": "key"}, "target: expected a mixing that explains one prediction"),
            (bert, {"mixing": "relevance", "target": "key", "against": "key"}, "a token other than target key"),
            (gpt2, {"mixing": "globenc"}, "norm after attention"),
            (gpt2, {"mixing": "relevance", "target": "id:999"}, "from id:0 to id:259"),
            (gpt2, {"mixing": "relevance", "residual": 0.2}, "does not allow residual"),
        ):
            with self.subTest(**options), self.assertRaisesRegex(attnflow.Error, message):
                saved.explain(**options)
        with self.assertRaisesRegex(attnflow.Error, "a mask token in the text"):
            attnflow.explain(bert.model, bert.tokenizer, "the key", mixing="relevance")
        base = bert.model.bert
        self.assertEqual(attnflow.explain(base, bert.tokenizer, bert.text, mixing="alti").settings["mixing"], "alti")

    def test_the_model_is_left_as_it_was(self) -> None:
        llama = self.saved("llama")
        hooks = ("_forward_hooks", "_forward_pre_hooks")

        def state() -> Any:
            parameters = [(parameter.requires_grad, parameter.grad is None) for parameter in llama.model.parameters()]
            return parameters, [len(getattr(module, name)) for module in llama.model.modules() for name in hooks]

        llama.model.model.norm.weight.requires_grad_(False)
        before = state()
        implementation = llama.model.config._attn_implementation
        ids = torch.tensor([llama.tokenizer(llama.text)["input_ids"]])
        with torch.no_grad():
            logits = llama.model(ids).logits
        for fails in (False, True):
            with mock.patch.object(edges, "back", side_effect=RuntimeError("no") if fails else edges.back):
                try:
                    inference_mode: Any = torch.inference_mode
                    with inference_mode():
                        llama.explain(mixing="relevance")
                except RuntimeError:
                    self.assertTrue(fails)
            self.assertEqual(state(), before)
            self.assertEqual(llama.model.config._attn_implementation, implementation)
            with torch.no_grad():
                self.assertTrue(torch.equal(llama.model(ids).logits, logits))

    def test_what_the_model_raises_in_the_rest_of_a_layer_passes(self) -> None:
        bert = self.saved("bert")
        with (
            mock.patch.object(edges.Run, "_rest", side_effect=KeyError("mine")),
            self.assertRaisesRegex(KeyError, "mine"),
        ):
            bert.explain(mixing="value-zeroing")
        self.assertEqual(bert.explain(mixing="value-zeroing").settings["mixing"], "value-zeroing")

    def test_other_threads_run_the_model_as_it_is(self) -> None:
        llama = self.saved("llama")
        ids = torch.tensor([llama.tokenizer("another text")["input_ids"]])
        expected = llama.explain(mixing="relevance", check=False)
        make = edges.back

        def beside(*given: Any) -> Any:
            def run() -> None:
                with torch.no_grad():
                    llama.model(ids)

            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            return make(*given)

        with mock.patch.object(edges, "back", beside):
            found = llama.explain(mixing="relevance", check=False)
        self.assert_same_bits(found.rollout, expected.rollout)

    def test_the_model_is_changed_only_while_no_other_capture_is_at_work(self) -> None:
        llama = self.saved("llama")
        ask: dict[str, Any] = {"mixing": "relevance", "check": False}
        entered: list[bool] = []
        rules, make = attnlrp.rules, edges.back

        @contextmanager
        def watched(model: Any, by_rules: bool) -> Iterator[None]:
            entered.append(_at_work.locked())
            with rules(model, by_rules):
                yield
            entered.append(_at_work.locked())

        refused: list[str] = []

        def beside(*given: Any) -> Any:
            def explain() -> None:
                try:
                    llama.explain(**ask)
                except attnflow.Error as error:
                    refused.append(str(error))

            thread = threading.Thread(target=explain)
            thread.start()
            thread.join()
            self.assertFalse(any(parameter.requires_grad for parameter in llama.model.parameters()))
            return make(*given)

        with mock.patch.object(attnlrp, "rules", watched), mock.patch.object(edges, "back", beside):
            llama.explain(**ask)
        self.assertEqual(entered, [True] * 4)  # forward and back
        self.assertEqual(len(refused), len(llama.model.model.layers))
        self.assertRegex(refused[0], "one capture at a time")
        self.assertTrue(all(parameter.requires_grad for parameter in llama.model.parameters()))

    def test_half_precision(self) -> None:
        llama = self.saved("llama")
        exact = llama.explain(mixing="relevance", check=False)
        half = attnflow.explain(llama.model.bfloat16(), llama.tokenizer, llama.text, mixing="relevance", check=False)
        correlation = np.corrcoef(half.rollout[-1, -1], exact.rollout[-1, -1])[0, 1]
        self.assertGreater(correlation, 0.9)
        gemma = self.saved("gemma2")  # whose norm behind the projection is held against what it gives
        exact = gemma.explain(mixing="alti", check=False)
        half = attnflow.explain(gemma.model.bfloat16(), gemma.tokenizer, gemma.text, mixing="alti", check=False)
        self.assertLess(np.abs(half.rollout - exact.rollout).max(), 0.05)


if __name__ == "__main__":
    unittest.main()
