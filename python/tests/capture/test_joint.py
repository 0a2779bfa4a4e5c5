"""Encoder-decoders: source and target as one graph."""

from __future__ import annotations

import json
import unittest
import warnings
from typing import Any

import numpy as np
import torch
import transformers
from loading import ROOT, PackageTest, loaded

import attnflow
from reference.attention_graph import AttentionGraph, joint_attention
from reference.max_flow import Network

SMALL: dict[str, Any] = {"d_model": 32, "max_position_embeddings": 64}
OF_BART: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
}


def model_of(name: str, tokenizer: Any, **given: Any) -> Any:
    special = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "decoder_start_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "bos_token_id": tokenizer.cls_token_id,
    }
    torch.manual_seed(0)
    model: Any
    if name == "t5":
        config = transformers.T5Config(
            **special, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_decoder_layers=1, num_heads=4
        )
        model = transformers.T5ForConditionalGeneration(config)
    elif name == "bart":
        model = transformers.BartForConditionalGeneration(
            transformers.BartConfig(**special, **SMALL, **OF_BART, **{"decoder_attention_heads": 4} | given)
        )
    else:
        model = transformers.MarianMTModel(
            transformers.MarianConfig(**special, **SMALL, **OF_BART, decoder_attention_heads=4)
        )
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


class Joint(PackageTest):
    tokenizer: Any
    source = "the key to the cabinets"
    target = "they are here"

    @classmethod
    def setUpClass(cls) -> None:
        cls.tokenizer = loaded()[1]

    def eager(self, model: Any) -> Any:
        """[layer, head, n, n] of the model's own output."""
        ids = self.tokenizer(self.target)["input_ids"]
        given = [self.tokenizer.cls_token_id, *ids[:-1]]
        model.set_attn_implementation("eager")
        with torch.no_grad():
            output = model(
                **{"input_ids": self.tokenizer(self.source, return_tensors="pt")["input_ids"]},
                decoder_input_ids=torch.tensor([given]),
                output_attentions=True,
            )
        self.logits = output.logits
        return np.stack(joint_attention(output))[:, 0]

    def test_rollout_and_flow(self) -> None:
        for name in ("t5", "bart", "marian"):
            with self.subTest(name):
                model = model_of(name, self.tokenizer)
                ask: dict[str, Any] = {"target_text": self.target, "mixing": "attention"}
                report = attnflow.explain(model, self.tokenizer, self.source, **ask)
                graph = AttentionGraph(self.eager(model))
                n = graph.top.shape[-1]
                self.assertEqual(report.rollout.shape, (4, n, n))
                np.testing.assert_allclose(report.rollout, graph.rollout(), atol=1e-6)
                self.assertEqual(report.output_token, n - 1)
                for layer, output in ((0, 1), (1, n - 1), (2, n - 1), (3, n - 1), (3, n - 2), (3, 0)):
                    network = Network(graph.matrices(layer + 1))
                    for source in range(n):
                        low, high = network.enclosure(output, source)
                        found = float(report.flow[layer, output, source])
                        # Weights of float32 that differ by 1e-7, in a cut of at most 4 n arcs.
                        self.assertLessEqual(found, high + 4 * n * 1e-7)
                        self.assertGreaterEqual(found + report.flow_gap[layer, output, source], low - 4 * n * 1e-7)

    def test_generations_are_the_program_s(self) -> None:
        """Which has its own pass back, and its own terms token by token, in C++."""
        for name in ("t5_tied", "bart", "mbart"):
            folder = ROOT / "tests" / "golden" / "encoder_decoders" / name
            model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
            ids = tokenizer("the key")["input_ids"]
            for mixing in ("relevance", "relevance-by-head", "gradient", "alti", "value-zeroing"):
                with self.subTest(name, mixing=mixing):
                    ask = ["--method", "raw,rollout", "--mixing", mixing, "--layers", "1-7", "-n", 4]
                    files = ["-o", "a.npz", "-o", "a.json"]
                    self.run_program("generate", "the key", "--model", folder, *ask, *files)
                    document = json.loads((self.folder / "a.json").read_text())
                    written = [token["id"] for token in document["generation"]["tokens"]]
                    begin = [model.config.decoder_start_token_id, model.generation_config.forced_bos_token_id]
                    inputs = {
                        "input_ids": [ids],
                        "decoder_input_ids": [[token for token in begin if token is not None] + written[:3]],
                    }
                    options: dict[str, Any] = {"mixing": mixing, "method": "raw,rollout"}
                    if mixing not in ("alti", "value-zeroing"):
                        options["target"] = written[3]
                    report = attnflow.explain(model, tokenizer, inputs=inputs, check=False, **options)
                    n = len(report.tokens)
                    with np.load(self.folder / "a.npz") as made:
                        for method in ("raw", "rollout"):
                            found = np.concatenate([made[method], made[method + "_generated"]], axis=1)[3, :n]
                            np.testing.assert_allclose(found.T, getattr(report, method)[:, n - 1], atol=1e-5)

    def test_the_command_explains_the_same(self) -> None:
        """`attnflow explain --target-text`, which runs the folder's files itself."""
        cases: list[dict[str, Any]] = [
            {},
            {"method": "raw,rollout,attnlrp,gradient-x-input,integrated-gradients,blank-out", "words": True},
            {"mixing": "attention", "layers": "2,5,7", "heads": "max"},
            {"mixing": "gradient-renormalized", "target": "key", "against": "cabinet,her", "output_token": "all"},
            {"mixing": "relevance-by-head", "method": "raw,rollout"},
            *({"mixing": mixing, "method": "raw,rollout", "layers": "1-7"} for mixing in ("norm", "alti", "ifr")),
            {"mixing": "value-zeroing", "method": "raw,rollout", "layers": "1-7", "residual": 0.3},
            {"mixing": "globenc", "method": "raw,rollout", "layers": "1-7"},
            {"method": "raw,logit,alti-logit", "target": "key", "words": True},
            {"mixing": "attention", "normalize": "receptive-field"},
            {"mixing": "alti", "method": "raw,rollout", "normalize": "receptive-field"},
        ]
        for name in ("t5_tied", "bart", "marian", "mbart"):
            folder = ROOT / "tests" / "golden" / "encoder_decoders" / name
            model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, unk_token="<unk>")
            for options, target in [*((one, "they are") for one in cases), ({}, "")]:
                needs_after, needs_before = options.get("mixing") == "globenc", "logit" in options.get("method", "")
                if needs_before if name in ("bart", "marian") else needs_after:
                    continue  # by where the norms of its blocks are
                with self.subTest(name, target_text=target, **options):
                    self.compare_with_the_command(model, tokenizer, folder, target, options)

    def compare_with_the_command(
        self, model: Any, tokenizer: Any, folder: Any, target: str, options: dict[str, Any]
    ) -> None:
        words = [str(word) for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]
        words = [word for word in words if word != "True"]
        files = ["-o", "a.npz", "-o", "a.json", "--target-text", target]
        self.run_program("explain", self.source, "--model", folder, *words, *files)
        theirs = json.loads((self.folder / "a.json").read_text())
        report = attnflow.explain(model, tokenizer, self.source, target_text=target, **options)
        ours = json.loads(report.to_json())
        self.assertEqual(theirs["input"], ours["input"])
        self.assertEqual(theirs["settings"], ours["settings"])
        self.assertEqual(theirs["output_token"], ours["output_token"])
        self.assertEqual([note["code"] for note in theirs["notes"]], [note["code"] for note in ours["notes"]])
        for mine, other in zip(ours["predictions"], theirs["predictions"], strict=True):
            self.assertEqual(mine["position"], other["position"])
            self.assertEqual(mine["choices"][0]["label"], other["choices"][0]["label"])
        with np.load(self.folder / "a.npz") as made:
            for method in report.methods:
                found = report.scores[method] if method in report.scores else getattr(report, method)
                np.testing.assert_allclose(made[method.replace("-", "_")], found, rtol=1e-5, atol=1e-5, err_msg=method)
        self.assertEqual("check" in theirs, "check" in ours)
        if "check" in ours:
            mine, other = ours["check"]["tokens"], theirs["check"]["tokens"]
            self.assertEqual([one["token"] for one in mine], [one["token"] for one in other])
            for one, two in zip(mine, other, strict=True):
                self.assertEqual(
                    [tried["text"] for tried in one["replacements"]], [tried["text"] for tried in two["replacements"]]
                )
                self.assertAlmostEqual(one["drop"], two["drop"], delta=1e-4)

    def test_without_a_head_the_target_s_last_token_is_shown(self) -> None:
        model = model_of("bart", self.tokenizer)
        for part in (model, model.model):
            report = attnflow.explain(part, self.tokenizer, self.source, target_text=self.target, method="raw")
            self.assertEqual(report.output_token, len(report.tokens) - 1, type(part).__name__)

    def test_relevance(self) -> None:
        """The default; of the last layers, source tokens get what the target's tokens have from them."""
        for name in ("t5", "bart"):
            with self.subTest(name):
                model = model_of(name, self.tokenizer)
                report = attnflow.explain(model, self.tokenizer, self.source, target_text=self.target, check=True)
                self.assertEqual(report.settings["mixing"], "relevance")
                source = len(self.tokenizer(self.source)["input_ids"])
                n = len(report.tokens)
                encoder, self_attention, cross = report.raw[1], report.raw[2], report.raw[3]
                self.assertGreater(cross[source:, :source].max(), 0)
                self.assertEqual(np.abs(self_attention[source:, :source]).max(), 0)
                self.assertEqual(np.abs(encoder[source:, :source]).max(), 0)
                self.assertEqual(np.abs(cross[:source, source:]).max(), 0)
                assert report.check is not None
                self.assertGreater(len(report.check.tokens), 0)
                assert report.target is not None
                self.assertEqual(report.target.position, n - 1)
        gradients = attnflow.explain(
            model, self.tokenizer, self.source, target_text=self.target, method="rollout,attnlrp,gradient-x-input"
        )
        self.assertEqual(gradients.scores["attnlrp"].shape, (1, n))

    def test_contributions(self) -> None:
        """Tokens that a block leaves alone keep to themselves, and every target token takes something from the source."""
        for name in ("t5", "bart", "marian"):
            model = model_of(name, self.tokenizer)
            source = len(self.tokenizer(self.source)["input_ids"])
            for mixing in ("norm", "alti", "ifr", "value-zeroing", *(["globenc"] if name != "t5" else [])):
                with self.subTest(name, mixing=mixing):
                    ask: dict[str, Any] = {"target_text": self.target, "mixing": mixing, "method": "raw,rollout"}
                    report = attnflow.explain(model, self.tokenizer, self.source, check=False, **ask)
                    n = len(report.tokens)
                    self.assertEqual(report.raw.shape, (4, n, n))
                    np.testing.assert_allclose(report.raw.sum(-1), 1, atol=1e-9)
                    rest = np.ones((4, n, n), bool)
                    rest[:2, :source, :source] = rest[2, source:, source:] = rest[3, source:, :source] = False
                    rest[:, range(n), range(n)] = False
                    self.assertEqual(report.raw[rest].max(), 0)
                    self.assertGreater(report.raw[3, source:, :source].sum(-1).min(), 0)
                    self.assertGreater(report.rollout[3, n - 1, :source].sum(), 0.1)

    def test_value_zeroing_runs_the_rest_of_the_layer(self) -> None:
        """As by setting a token's values to 0 in one block of a decoder layer, and running the model again."""
        for name in ("t5", "bart"):
            model = model_of(name, self.tokenizer)
            ask: dict[str, Any] = {"target_text": self.target, "mixing": "value-zeroing", "method": "raw"}
            report = attnflow.explain(model, self.tokenizer, self.source, check=False, **ask)
            ids = self.tokenizer(self.source, return_tensors="pt")["input_ids"]
            s = ids.shape[1]
            if name == "t5":
                layer = model.decoder.block[0]
                values, ends = layer.layer[1].EncDecAttention.v, layer
                own_values, own_ends = layer.layer[0].SelfAttention.v, layer.layer[0]
            else:
                layer = model.model.decoder.layers[0]
                values, ends = layer.encoder_attn.v_proj, layer
                own_values, own_ends = layer.self_attn.v_proj, layer.self_attn_layer_norm
            with self.subTest(name, block="to the source"):
                expected = self.changes_without_values(model, ids, values, ends, s)
                np.testing.assert_allclose(report.raw[3, s:, :s], expected, rtol=1e-3, atol=1e-4)
            with self.subTest(name, block="to the target"):
                expected = self.changes_without_values(model, ids, own_values, own_ends, len(report.tokens) - s)
                np.testing.assert_allclose(report.raw[2, s:, s:], expected, rtol=1e-3, atol=1e-4)

    def changes_without_values(self, model: Any, ids: Any, values: Any, ends: Any, tokens: int) -> Any:
        """1 - cos of what the module `ends` gives, by target token and token without value; rows sum to 1."""
        target = self.tokenizer(self.target)["input_ids"][:-1]
        decoder_ids = torch.tensor([[self.tokenizer.cls_token_id, *target]])
        found: list[Any] = []

        def keep(_: Any, __: Any, output: Any) -> None:
            found.append((output[0] if isinstance(output, tuple) else output)[0].double())

        def zero(_: Any, __: Any, output: Any) -> Any:
            silent = len(found) - 1  # the first run is whole
            return torch.cat([output[:, :silent], output[:, silent : silent + 1] * 0, output[:, silent + 1 :]], 1)

        keeping = ends.register_forward_hook(keep)
        with torch.no_grad():
            model(input_ids=ids, decoder_input_ids=decoder_ids)
            zeroing = values.register_forward_hook(zero)
            for _ in range(tokens):
                model(input_ids=ids, decoder_input_ids=decoder_ids)
        zeroing.remove()
        keeping.remove()
        similar: Any = torch.stack([torch.cosine_similarity(found[0], one, dim=-1) for one in found[1:]], dim=-1)
        changes = 1 - similar
        return (changes / changes.sum(-1, keepdim=True)).numpy()

    def test_globenc_needs_norms_after(self) -> None:
        model = model_of("t5", self.tokenizer)
        with self.assertRaisesRegex(attnflow.Error, "globenc: expected layers with a norm after attention .* layer 1"):
            attnflow.explain(model, self.tokenizer, self.source, target_text=self.target, mixing="globenc")

    def test_a_damaged_layer_is_named(self) -> None:
        model = model_of("bart", self.tokenizer)
        with torch.no_grad():
            model.model.encoder.layers[1].self_attn.q_proj.weight.fill_(torch.nan)
        with self.assertRaisesRegex(attnflow.Error, "found nan at layer 2"):
            attnflow.explain(
                model, self.tokenizer, self.source, target_text=self.target, method="rollout", mixing="attention"
            )

    def test_tokens_stand_in_two_texts(self) -> None:
        model = model_of("bart", self.tokenizer)
        report = attnflow.explain(model, self.tokenizer, self.source, target_text=self.target, method="rollout")
        document = json.loads(report.to_json())
        found = document["input"]
        self.assertEqual((found["kind"], found["text"], found["text_pair"]), ("text", self.source, self.target))
        texts = []
        words = []
        for token in found["tokens"]:
            if "begin" in token:
                text = (self.source if token["segment"] == 0 else self.target).encode()
                texts.append(text[token["begin"] : token["end"]].decode())
                words.append(token["word"])
        self.assertEqual("".join(texts), (self.source + self.target).replace(" ", ""))
        self.assertEqual(words, sorted(words))
        self.assertEqual(len(set(words)), len((self.source + " " + self.target).split()))
        (note,) = [note for note in document["notes"] if note["code"] == "joint-layers"]
        source = len(self.tokenizer(self.source)["input_ids"])
        self.assertEqual(note["values"], {"source_tokens": source, "encoder_layers": 2, "decoder_layers": 1})
        self.assertEqual(found["tokens"][source]["text"], "[CLS]")
        (said,) = document["predictions"]
        self.assertEqual((said["kind"], said["position"]), ("next", len(report.tokens) - 1))
        self.eager(model)
        best = int(self.logits[0, -1].argmax())
        probability = float(torch.softmax(self.logits[0, -1].double(), 0)[best])
        self.assertAlmostEqual(said["choices"][0]["probability"], probability, places=5)
        by_words = attnflow.explain(model, self.tokenizer, self.source, target_text=self.target, words=True)
        self.assertEqual(len(by_words.tokens), len((self.source + " " + self.target).split()) + 4)

    def test_fused_is_what_all_heads_give(self) -> None:
        model = model_of("t5", self.tokenizer)
        for heads in ("mean", "max"):
            fused = attnflow.explain(model, self.tokenizer, self.source, target_text=self.target, heads=heads)
            kept = attnflow.explain(
                model, self.tokenizer, self.source, target_text=self.target, heads=heads, keep_attention=True
            )
            for name in ("raw", "rollout", "flow"):
                self.assert_same_bits(getattr(fused, name), getattr(kept, name), name)
            np.testing.assert_allclose(kept.attention, self.eager(model), atol=1e-5)

    def test_heads_that_differ(self) -> None:
        model = model_of("bart", self.tokenizer, decoder_attention_heads=2)
        report = attnflow.explain(model, self.tokenizer, self.source, target_text=self.target)
        self.assertTrue(np.isfinite(report.rollout).all())
        with self.assertRaisesRegex(attnflow.Error, r"the same number of heads, found \[2, 4\]"):
            attnflow.explain(model, self.tokenizer, self.source, target_text=self.target, keep_attention=True)

    def test_batches(self) -> None:
        model = model_of("marian", self.tokenizer)
        both = attnflow.explain(model, self.tokenizer, [self.source, "a"], target_text=["", self.target])
        self.assertEqual(both[0].tokens[-1], "[CLS]")
        alone = attnflow.explain(model, self.tokenizer, "a", target_text=self.target)
        self.assertEqual(alone.to_json(), both[1].to_json())

    def test_refusals(self) -> None:
        model = model_of("bart", self.tokenizer)
        bert = loaded()[0]
        with self.assertRaisesRegex(attnflow.Error, "expected target_text, the text that the decoder is given"):
            attnflow.explain(model, self.tokenizer, self.source)
        with self.assertRaisesRegex(attnflow.Error, "expected no target_text.*BertForMaskedLM"):
            attnflow.explain(bert, self.tokenizer, self.source, target_text="a")
        with self.assertRaisesRegex(attnflow.Error, "a list of 2 texts"):
            attnflow.explain(model, self.tokenizer, ["a", "b"], target_text=["a"])
        with self.assertRaisesRegex(attnflow.Error, "at most 64 tokens"):
            attnflow.explain(model, self.tokenizer, "a", target_text="a " * 80)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with attnflow.capture(model) as captured, torch.no_grad():
                model.model.encoder(input_ids=torch.tensor([[5, 6]]))
        with self.assertRaisesRegex(attnflow.Error, r"attention from 2 encoder layers.*found 2 calls"):
            _ = captured.attentions


if __name__ == "__main__":
    unittest.main()
