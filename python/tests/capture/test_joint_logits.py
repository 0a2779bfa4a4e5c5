"""What tokens of both texts write into an encoder-decoder's prediction: logit and alti-logit, from the model's own modules."""

from __future__ import annotations

import json
import unittest
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from loading import PackageTest, loaded
from numpy.typing import NDArray

import attnflow

SOURCE, TARGET = "the key to", "they are"
TOKEN, AGAINST = 5, 6
BEFORE = ("t5_tied", "t5_untied", "mbart")  # norms come before their blocks
AFTER = ("bart", "marian")

Maps = list[tuple[Any, Any]]


def maps_of(model: Any) -> tuple[Any, Maps]:
    """The norm before the head; the maps to values and from heads of the decoder's blocks, to the target and to the source."""
    decoder = model.get_decoder()
    if hasattr(decoder, "block"):  # T5
        attends = [
            part for layer in decoder.block for part in (layer.layer[0].SelfAttention, layer.layer[1].EncDecAttention)
        ]
        return decoder.final_layer_norm, [(part.v, part.o) for part in attends]
    attends = [part for layer in decoder.layers for part in (layer.self_attn, layer.encoder_attn)]
    return decoder.layer_norm, [(part.v_proj, part.out_proj) for part in attends]


@dataclass
class Written:
    """Parts of the difference of two logits behind the last token, whose stream is times `slope`."""

    streams: list[float]  # below each layer of the decoder, and above the last
    writes: list[NDArray[np.float64]]  # of each block, by the token that it reads
    biases: list[float]  # of each block
    value: float

    def feed_forward(self, layer: int) -> float:
        """What is left of a layer."""
        blocks = slice(2 * layer, 2 * layer + 2)
        attended = sum(float(write.sum()) for write in self.writes[blocks]) + sum(self.biases[blocks])
        return self.streams[layer + 1] - self.streams[layer] - attended


def keep(kept: dict[Any, Any], module: Any, given: Any, output: Any = None) -> None:
    kept[module] = given[0][0] if output is None else output[0]


def slope_of(model: Any, norm: Any, stream: Any) -> Any:
    """The gradient at the stream before the head's norm, whose scale is a constant."""
    slope = (model.lm_head.weight[TOKEN] - model.lm_head.weight[AGAINST]).double() * norm.weight.double()
    if getattr(model.config, "scale_decoder_outputs", False):
        slope = slope * model.config.d_model**-0.5
    if isinstance(norm, torch.nn.LayerNorm):
        return (slope - slope.mean()) / (stream.var(correction=0) + norm.eps).sqrt()
    return slope / (stream.square().mean() + norm.variance_epsilon).sqrt()


def written(model: Any, ids: list[int], source: int) -> Written:
    norm, maps = maps_of(model)
    kept: dict[Any, Any] = {}
    hooks = [norm.register_forward_pre_hook(partial(keep, kept))]
    hooks += [values.register_forward_hook(partial(keep, kept)) for values, _ in maps]
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(
            input_ids=torch.tensor([ids[:source]]),
            decoder_input_ids=torch.tensor([ids[source:]]),
            output_attentions=True,
            output_hidden_states=True,
        )
        for hook in hooks:
            hook.remove()
        top = kept[norm][-1].double()
        slope = slope_of(model, norm, top)
        streams = [*(states[0, -1].double() for states in output.decoder_hidden_states[:-1]), top]
        found = Written([float(stream @ slope) for stream in streams], [], [], 0.0)
        found.value = float(output.logits[0, -1, TOKEN] - output.logits[0, -1, AGAINST])
        layers = zip(output.decoder_attentions, output.cross_attentions, strict=True)
        for (values, projection), weights in zip(maps, (one for layer in layers for one in layer), strict=True):
            heads = weights.shape[1]
            by_head = kept[values].double().unflatten(-1, (heads, -1))  # [token, head, width]
            read = (slope @ projection.weight.double()).unflatten(0, (heads, -1))  # [head, width]
            found.writes.append(torch.einsum("hj,jhw,hw->j", weights[0, :, -1].double(), by_head, read).numpy())
            found.biases.append(0.0 if projection.bias is None else float(projection.bias.double() @ slope))
    return found


class JointLogits(PackageTest):
    def explained(self, name: str) -> tuple[Any, Written, int]:
        """A report over ALTI, the parts of its target, and the number of source tokens."""
        model, tokenizer = loaded(name)
        asked: dict[str, Any] = {
            "target": TOKEN,
            "against": AGAINST,
            "mixing": "alti",
            "method": "raw,logit,alti-logit",
        }
        report = attnflow.explain(model, tokenizer, SOURCE, target_text=TARGET, check=False, **asked)
        tokens = json.loads(report.to_json())["input"]["tokens"]
        ids = tokenizer.convert_tokens_to_ids([token["text"] for token in tokens])
        source = sum(token.get("segment", 0) == 0 for token in tokens)
        return report, written(model, ids, source), source

    def test_logit_is_what_the_decoder_s_blocks_write(self) -> None:
        for name in BEFORE:
            with self.subTest(name):
                report, parts, _ = self.explained(name)
                expected = np.concatenate([np.sum(parts.writes[1::2], axis=0), np.sum(parts.writes[0::2], axis=0)])
                np.testing.assert_allclose(report.scores["logit"][0], expected, atol=1e-5)
                self.assertGreater(np.abs(expected).max(), 1e-2)
                said = {part["name"]: part["value"] for part in self.scores_of(report, "logit", parts.value)}
                self.assertAlmostEqual(said["embedding"], parts.streams[0], places=5)
                self.assertAlmostEqual(said["attention biases"], sum(parts.biases), places=5)
                layers = len(parts.streams) - 1
                self.assertAlmostEqual(
                    said["feed-forward layers"], sum(parts.feed_forward(layer) for layer in range(layers)), places=5
                )
                self.assertAlmostEqual(said["last norm and head"], parts.value - parts.streams[-1], places=5)

    def test_alti_logit_goes_down_the_graph(self) -> None:
        for name in BEFORE:
            with self.subTest(name):
                report, parts, source = self.explained(name)
                n = len(report.tokens)
                of_decoder = report.raw[-len(parts.writes) :]
                down = np.eye(n)
                for matrix in report.raw[: -len(parts.writes)]:  # the encoder's layers
                    down = matrix @ down
                expected = parts.streams[0] * down[-1]
                for block, (write, matrix) in enumerate(zip(parts.writes, of_decoder, strict=True)):
                    reads_source = block % 2 == 1
                    expected += write @ (down[:source] if reads_source else down[source:])
                    down = matrix @ down
                    if reads_source:  # the layer's last block
                        expected += parts.feed_forward(block // 2) * down[-1]
                np.testing.assert_allclose(report.scores["alti-logit"][0], expected, atol=1e-5)
                names = [part["name"] for part in self.scores_of(report, "alti-logit", parts.value)]
                self.assertEqual(names, ["attention biases", "last norm and head"])

    def scores_of(self, report: Any, method: str, value: float) -> Any:
        """The parts beside the scores, with which they add up to the value."""
        (said,) = [one for one in json.loads(report.to_json())["scores"] if one["method"] == method]
        self.assertAlmostEqual(said["total"], value, places=5)
        self.assertAlmostEqual(said["error"], 0.0, places=9)
        self.assertAlmostEqual(
            float(report.scores[method].sum()) + sum(part["value"] for part in said["parts"]), value, places=5
        )
        return said["parts"]

    def test_norms_after_the_blocks_are_refused(self) -> None:
        for name in AFTER:
            model, tokenizer = loaded(name)
            expected = 'method="logit": expected a model whose norms come before its blocks'
            with self.subTest(name), self.assertRaisesRegex(attnflow.Error, expected):
                attnflow.explain(model, tokenizer, SOURCE, target_text=TARGET, method="logit")
            with self.subTest(name), self.assertRaisesRegex(attnflow.Error, expected):
                attnflow.generate(model, tokenizer, SOURCE, tokens=2, method="logit")


if __name__ == "__main__":
    unittest.main()
