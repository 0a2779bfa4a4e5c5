"""Long inputs, whose attention is fused some rows at a time: the same numbers, only where that is certain."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers
from attnflow.by_rows import _is_of_rows, blocks_of, fuse_by_rows
from loading import PackageTest, loaded

import attnflow

SIZES = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
BERT = (transformers.BertConfig, {"pad_token_id": 0})
LLAMA = (transformers.LlamaConfig, {"num_key_value_heads": 2})
MISTRAL = (transformers.MistralConfig, {"num_key_value_heads": 2, "sliding_window": 17})
CAPTURE = sys.modules["attnflow.capture"]  # the module; attnflow.capture is its function


def models(kind: Any, **more: Any) -> tuple[Any, Any]:
    """One model with a kernel, and the same weights in eager."""
    torch.manual_seed(1)
    build, its = kind
    made = []
    for implementation in ("sdpa", "eager"):
        config = build(**(SIZES | its | more))
        made.append(transformers.AutoModel.from_config(config, attn_implementation=implementation).eval())
    made[1].load_state_dict(made[0].state_dict())
    return made[0], made[1]


def inputs(tokens: int, batch: int = 2) -> dict[str, Any]:
    """The second input has padding."""
    ids = torch.randint(5, 50, (batch, tokens), generator=torch.Generator().manual_seed(2))
    mask = torch.ones_like(ids)
    mask[1:, -9:] = 0
    return {"input_ids": ids, "attention_mask": mask}


@contextmanager
def counted() -> Iterator[mock.Mock]:
    with mock.patch.object(CAPTURE, "fuse_by_rows", side_effect=fuse_by_rows) as calls:
        yield calls


def fused(attentions: Any, heads: str) -> list[Any]:
    with_heads: Any = CAPTURE
    return [with_heads._fused(heads, layer, 1) for layer in attentions]


class ByRows(PackageTest):
    def run_fused(self, model: Any, heads: str, given: dict[str, Any]) -> tuple[attnflow.Captured, Any]:
        with attnflow.capture(model, fuse=heads) as captured, torch.no_grad():
            output = model(**given)
        return captured, output

    def test_same_numbers(self) -> None:
        for kind in (BERT, LLAMA, MISTRAL):
            model, eager = models(kind)
            for tokens in (256, 300):
                given = inputs(tokens)
                with torch.no_grad():
                    expected = eager(**given, output_attentions=True)
                for heads in ("mean", "max", "min"):
                    with self.subTest(kind[0].__name__, tokens=tokens, heads=heads), counted() as calls:
                        captured, output = self.run_fused(model, heads, given)
                        self.assertEqual(calls.call_count, 2)
                        for found, layer in zip(captured.attentions, fused(expected.attentions, heads), strict=True):
                            self.assertEqual(found.dtype, torch.float64)
                            np.testing.assert_allclose(found, layer, atol=1e-6)
                        real = given["attention_mask"].bool()
                        np.testing.assert_allclose(
                            output.last_hidden_state[real], expected.last_hidden_state[real], atol=1e-5
                        )

    def test_rows_are_fused_to_the_same_bits(self) -> None:
        """With weights that no product of matrices rounds."""
        torch.manual_seed(3)
        query, key, value = torch.randn(2, 4, 300, 300), torch.randn(2, 4, 300, 8), torch.randn(2, 4, 300, 8)

        def reference(_: Any, query: Any, key: Any, value: Any, mask: Any) -> Any:
            weights = (query + mask).softmax(dim=-1)
            return torch.zeros(2, query.shape[2], 4, 8), weights

        for mask in (torch.randn(2, 1, 300, 300), torch.randn(2, 1, 1, 300)):
            blocks = [slice(0, 60), slice(60, 61), slice(61, 300)]
            output, found = fuse_by_rows("mean", reference, blocks, (None, query, key, value, mask), {})
            self.assertEqual(output.shape, (2, 300, 4, 8))
            (expected,) = fused([reference(None, query, key, value, mask)[1]], "mean")
            self.assert_same_bits(found.numpy(), expected.numpy())

    def test_blocks_are_all_rows(self) -> None:
        from transformers.models.bert.modeling_bert import eager_attention_forward as reference

        for tokens in (256, 257, 300, 512, 1001):
            blocks = blocks_of(reference, torch.zeros(1, 1, tokens, 2), None)
            rows = [row for block in blocks for row in range(block.start, block.stop)]
            self.assertEqual(rows, list(range(tokens)))
            sizes = {block.stop - block.start for block in blocks}
            self.assertLessEqual(max(sizes), 64)
            self.assertGreaterEqual(min(sizes), 32)

    def test_whole_where_rows_may_depend_on_others(self) -> None:
        from transformers.models.bert.modeling_bert import eager_attention_forward as known
        from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward as capped
        from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward as sinks
        from transformers.models.t5.modeling_t5 import eager_attention_forward as biased

        self.assertTrue(_is_of_rows(known))
        for other in (capped, sinks, biased, max):
            self.assertFalse(_is_of_rows(other))

    def test_whole_where_weights_are_asked_for(self) -> None:
        model, eager = models(BERT)
        given = inputs(260)
        with counted() as calls:
            _, output = self.run_fused(model, "mean", given | {"output_attentions": True})
            self.assertEqual(output.attentions[0].shape, (2, 4, 260, 260))
            self.run_fused(eager, "mean", given)  # its layers may use the weights
            self.run_fused(model, "mean", inputs(255))
            self.run_fused(model.to(torch.bfloat16), "mean", given)
            self.assertEqual(calls.call_count, 0)

    def test_reports_are_the_same(self) -> None:
        tokenizer = loaded()[1]
        model, _ = models(BERT, vocab_size=len(tokenizer))
        text = "the key to the cabinets is here " * 40
        for options, count in (({}, 2), ({"heads": "mean"}, 2), ({"heads": "max"}, 0), ({"renormalize": True}, 0)):
            with self.subTest(options), counted() as calls:
                report = attnflow.explain(model, tokenizer, text, method=["raw", "rollout"], **options)
                self.assertEqual(calls.call_count, count)
                with mock.patch.object(CAPTURE, "blocks_of", return_value=[]):
                    whole = attnflow.explain(model, tokenizer, text, method=["raw", "rollout"], **options)
                for name in ("raw", "rollout"):
                    np.testing.assert_allclose(getattr(report, name), getattr(whole, name), atol=1e-6)
                self.assertEqual(report.settings, whole.settings)
                self.assertEqual(report.notes, whole.notes)
                self.assertEqual(str(report).splitlines()[0], str(whole).splitlines()[0])


if __name__ == "__main__":
    unittest.main()
