"""The parts of a layer that contributions and relevance are made of.

A position writes its value, weighted by attention, through the output projection into others. Capture sees values and
weights; this is the rest: the projection, the residual stream around it, and the norms. attnflow.anatomy finds them in
most models. A class of layers in which it does not can be described:

    attnflow.register_layer(
        MyDecoderLayer,
        attnflow.LayerParts(projection="self_attn.o_proj", behind="post_attention_layernorm"),
    )

Either is compared with what the layer computes; a mismatch is an error, never a wrong picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attnflow.errors import Error


@dataclass(frozen=True)
class LayerParts:
    """The parts of a layer, as paths of modules in it. The layer's first argument is the residual stream x.

    projection: the attention's output projection; its output is added to x, which gives y.
    written_norm: an RMS norm between the projection and the addition, if any (Gemma 2).
    behind: the module that receives y: the norm before the feed-forward network or, in layers whose norms come after
        their blocks (BERT), the norm after attention. Empty if the feed-forward network is parallel to attention
        (GPT-NeoX).
    last_norm: the norm after the feed-forward network, in layers whose norms come after their blocks.
    attention: the attention module, if parallel to the feed-forward network; its input is x after a norm (in Cohere,
        the network's).
    scale: a number that what attention writes is multiplied by before it is added (Granite).
    attends: the module that calls the attention function; it says where value zeroing can leave attention out.
    rest: a function; rest(layer, y) is the layer's output for y, each position separately. Only value zeroing needs it.
    """

    projection: str
    behind: str = ""
    last_norm: str = ""
    attention: str = ""
    written_norm: str = ""
    scale: float = 1.0
    attends: str = ""
    rest: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        if not self.projection or bool(self.behind) == bool(self.attention):
            raise Error(
                "expected the path of a projection, and the path of either the module after attention (behind) or, if the "
                f"feed-forward network runs in parallel, the attention itself (attention), found {self}"
            )


# A layer's parts, fixed or dependent on its configuration.
Parts = LayerParts | Callable[[Any], LayerParts]

_registered: dict[type, Parts] = {}


def register_layer(kind: type, parts: Parts) -> None:
    """Tells attnflow where layers of a class keep their parts, for the contribution and relevance mixings.

    kind: the class of the module that forms one layer, with attention and feed-forward network.
    parts: LayerParts, or a function that returns them for a layer.
    """
    if not isinstance(kind, type):
        raise Error(f"expected the class of a layer, found {kind!r}")
    if not isinstance(parts, LayerParts) and not callable(parts):
        raise Error(f"expected LayerParts or a function that returns them, found {type(parts).__name__}")
    _registered[kind] = parts


def registrations() -> list[Parts]:
    """What has been registered, for caches of what was found without it."""
    return list(_registered.values())


def parts_of(module: Any) -> LayerParts | None:
    """The parts of a module whose class was registered."""
    parts = _registered.get(type(module))
    return parts(module) if parts is not None and not isinstance(parts, LayerParts) else parts
