"""Refusals in whole sentences, so that a missing word is noticed."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from attnflow.model_inputs import check_ids
from support import random_attention

import attnflow


class _Model:
    """The part of a model that check_ids reads: a vocabulary of 7."""

    config = None

    def get_input_embeddings(self) -> Any:
        return type("Embeddings", (), {"weight": np.zeros((7, 2))})


class WholeMessages(unittest.TestCase):
    def test_of_all(self) -> None:
        good = random_attention()
        layers = list(good)
        report = attnflow.attribute(good, method=["raw"])
        mixed = np.empty(2, dtype=object)
        mixed[:] = [good[0], good[0][:, :4, :4]]
        rows: list[tuple[Callable[[], Any], str]] = [
            (
                lambda: attnflow.attribute(mixed),
                "attention: expected arrays of one shape and of floats, found objects; pass a list of layers, and each as "
                "an array",
            ),
            (
                lambda: attnflow.attribute([layers[0], layers[1][0]]),
                "attention: expected each layer as [head, query, key] or [1, head, query, key], found [6, 6] in layer 2",
            ),
            (
                lambda: attnflow.attribute({"a": layers[0], "b": layers[1]}),
                "attention: expected layers in order, found a mapping with 'a', 'b'; pass list(mapping.values()) if its "
                "first layer stands first",
            ),
            (
                lambda: attnflow.attribute({"encoder_attentions": layers}),
                "attention: expected one stack of layers, found an encoder-decoder's output (encoder_attentions); pass one "
                "of its encoder_attentions, decoder_attentions, or have all of it as one graph by explain() with "
                "target_text",
            ),
            (
                lambda: attnflow.attribute(good, layers=[-4]),
                "layers: expected at least -3, which is the first of 3, found -4",
            ),
            (
                lambda: attnflow.attribute(good, layers=[4]),
                "layers: expected layers from 1 to 3 (above start_layer=0), found 4",
            ),
            (
                lambda: report.attention,
                "expected attention that was kept, found none; pass keep_attention=True",
            ),
            (
                lambda: report.flow,
                "expected values of flow, found only raw; pass method=['raw', 'flow']",
            ),
            (
                lambda: check_ids(_Model(), []),
                "expected text with at least one token, found none",
            ),
            (
                lambda: check_ids(_Model(), [0, -100]),
                "expected token ids from 0, found -100; labels mark what is ignored by negative ids: pass input_ids",
            ),
            (
                lambda: check_ids(_Model(), [7]),
                "expected tokens of the model, whose vocabulary has 7, found 7; the tokenizer belongs to another model",
            ),
        ]
        for action, message in rows:
            with self.subTest(message), self.assertRaises(attnflow.Error) as caught:
                action()
            self.assertEqual(str(caught.exception), message)


if __name__ == "__main__":
    unittest.main()
