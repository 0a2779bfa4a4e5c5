"""Encoder-decoders: the attention of the encoder, of the decoder, and from one to the other, as one graph.

Source and target tokens are one set. A decoder layer becomes two: its attention to the target, then to the source.
Source tokens keep to themselves in both, as target tokens do in the encoder's layers. So a target token's rollout and
flow reach the words of the source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attnflow.errors import unsupported
from attnflow.walk import named_modules

_CROSS = re.compile(r"cross|enc_?dec|encoder_(decoder_)?att", re.IGNORECASE)


def is_encoder_decoder(model: Any) -> bool:
    """Whether it has both; encoders alone may be configured like the whole."""
    if not getattr(model.config, "is_encoder_decoder", False):
        return False
    return any("decoder" in name.split(".") for name, _ in named_modules(model))


def _kind(module: str) -> str | None:
    """A call's attention: encoder, self (of the decoder) or cross; None if the path does not say."""
    if module.startswith(("encoder_attentions[", "decoder_attentions[", "cross_attentions[")):
        return {"e": "encoder", "d": "self", "c": "cross"}[module[0]]
    parts = module.split(".")
    first = next((at for at, part in enumerate(parts) if part in ("encoder", "decoder")), None)
    if first is None:
        return None
    if parts[first] == "encoder":
        return "encoder"
    return "cross" if any(_CROSS.search(part) for part in parts[first + 1 :]) else "self"


def whole_number(configs: Sequence[Any], *names: str) -> int | None:
    """The first of the names that is a whole number in the first configuration that has one."""
    found = (getattr(config, name, None) for config in configs for name in names)
    return next((value for value in found if isinstance(value, int)), None)


@dataclass
class Joint:
    """The calls of one run as the layers of one graph over `source` + `target` tokens."""

    source: int
    target: int
    shape: tuple[int, int, int]  # source tokens, layers of the encoder, layers of the decoder
    steps: list[tuple[str, Any]]  # encoder, self or cross, and the weights [batch, head, query, key]

    @property
    def heads(self) -> int:
        """The largest number of heads of a layer."""
        return max(int(weights.shape[1]) for _, weights in self.steps)

    def layer(self, index: int) -> Any:
        """[batch, head, source + target, source + target], as a tensor of the weights' type."""
        import torch

        kind, weights = self.steps[index]
        n, s = self.source + self.target, self.source
        whole = torch.eye(n, dtype=weights.dtype).repeat(weights.shape[0], weights.shape[1], 1, 1)
        rows = slice(0, s) if kind == "encoder" else slice(s, n)
        columns = slice(s, n) if kind == "self" else slice(0, s)
        whole[:, :, rows] = 0
        whole[:, :, rows, columns] = weights
        return whole

    def layers(self) -> tuple[Any, ...]:
        heads = {int(weights.shape[1]) for _, weights in self.steps}
        if len(heads) != 1:
            raise unsupported(
                f"expected encoder and decoder to have the same number of heads, found {sorted(heads)}; pass fuse to "
                "capture(), or call explain() without keep_attention and single heads; .calls has each call"
            )
        return tuple(self.layer(index) for index in range(len(self.steps)))


def declared_layers(model: Any) -> tuple[int | None, int | None]:
    """The numbers of layers of the encoder and of the decoder, as the configuration has them."""
    config = model.config
    usual = ("num_layers", "num_hidden_layers")
    encoder = whole_number([config, getattr(config, "encoder", None)], "encoder_layers", *usual)
    of_decoder = [config, getattr(config, "decoder", None)]
    return encoder, whole_number(of_decoder, "decoder_layers", "num_decoder_layers", *usual)


def joint_of(model: Any, calls: Sequence[Any]) -> Joint:
    """Compares the calls with the layers that the model declares, and with each other."""
    encoder, decoder = declared_layers(model)
    kinds = [_kind(call.module) for call in calls]
    if encoder is None or decoder is None or kinds != ["encoder"] * encoder + ["self", "cross"] * decoder:
        raise unsupported(
            f"expected attention from {encoder} encoder layers, then two calls from each of {decoder} decoder layers, "
            f"to itself and to the encoder, found {len(calls)} calls of attention in {type(model).__name__} "
            f"({', '.join(call.module for call in calls[:3]) or 'none'}); .calls has each of them"
        )
    steps = [(kind, call.weights) for kind, call in zip(kinds, calls, strict=True) if kind is not None]
    source, target = int(calls[0].weights.shape[-1]), int(calls[-1].weights.shape[-2])
    sizes = {"encoder": (source, source), "self": (target, target), "cross": (target, source)}
    for (kind, weights), call in zip(steps, calls, strict=True):
        if (
            weights.dim() != 4
            or tuple(weights.shape[2:]) != sizes[kind]
            or weights.shape[0] != calls[0].weights.shape[0]
        ):
            raise unsupported(
                f"expected attention [batch, head, {sizes[kind][0]}, {sizes[kind][1]}] of {call.module}, found "
                f"{list(weights.shape)}; .calls has each of them"
            )
    return Joint(source, target, (source, encoder, decoder), steps)
