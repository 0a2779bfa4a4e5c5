"""Where the layers of a family keep what contributions and relevance are made of.

A position writes its value, weighted by attention, through the output projection into others. Capture sees values and
weights; this is the rest: the projection, the residual stream around it, and the norms. A layer's class determines its
family. Another family is ten lines:

    attnflow.register_layer(
        MyDecoderLayer,
        attnflow.LayerParts(
            projection="self_attn.o_proj",
            behind="post_attention_layernorm",
            rest=lambda layer, y: y + layer.mlp(layer.post_attention_layernorm(y)),
        ),
    )

This is compared with what the layer computes; a mismatch is an error, never a wrong picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attnflow import _core
from attnflow.errors import Error, unsupported


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
    rest: a function; rest(layer, y) is the layer's output for y, each position separately. Only value zeroing needs it.
    """

    projection: str
    behind: str = ""
    last_norm: str = ""
    attention: str = ""
    written_norm: str = ""
    rest: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        if not self.projection or bool(self.behind) == bool(self.attention):
            raise Error(
                "expected the path of a projection, and the path of either the module after attention (behind) or, if the "
                f"feed-forward network runs in parallel, the attention itself (attention), found {self}"
            )


# A layer's parts, fixed or dependent on its configuration.
Parts = LayerParts | Callable[[Any], LayerParts]


def _norm_first(projection: str, norm: str) -> LayerParts:
    """For layers that add mlp(norm(y)) to y."""
    return LayerParts(projection=projection, behind=norm, rest=lambda layer, y: y + layer.mlp(getattr(layer, norm)(y)))


_LLAMA = _norm_first("self_attn.o_proj", "post_attention_layernorm")
_GPT2 = _norm_first("attn.c_proj", "ln_2")
_BERT = LayerParts(
    projection="attention.output.dense",
    behind="attention.output.LayerNorm",
    last_norm="output.LayerNorm",
    rest=lambda layer, y: layer.feed_forward_chunk(layer.attention.output.LayerNorm(y)),
)


def _after_norms(layer: Any, y: Any) -> Any:
    y = layer.sa_layer_norm(y)
    return layer.output_layer_norm(layer.ffn(y) + y)


_DISTILBERT = LayerParts(
    projection="attention.out_lin", behind="sa_layer_norm", last_norm="output_layer_norm", rest=_after_norms
)


def _gpt_neox(layer: Any) -> LayerParts:
    if layer.use_parallel_residual:
        return LayerParts(projection="attention.dense", attention="attention")
    return _norm_first("attention.dense", "post_attention_layernorm")


def _opt(layer: Any) -> LayerParts:
    def net(layer: Any, y: Any) -> Any:
        return layer.fc2(layer.activation_fn(layer.fc1(y)))

    def rest_after(layer: Any, y: Any) -> Any:
        y = layer.self_attn_layer_norm(y)
        return layer.final_layer_norm(y + net(layer, y))

    if layer.do_layer_norm_before:
        return LayerParts(
            projection="self_attn.out_proj",
            behind="final_layer_norm",
            rest=lambda layer, y: y + net(layer, layer.final_layer_norm(y)),
        )
    return LayerParts(
        projection="self_attn.out_proj", behind="self_attn_layer_norm", last_norm="final_layer_norm", rest=rest_after
    )


# The feed-forward network is parallel to attention.
_COHERE = LayerParts(projection="self_attn.o_proj", attention="self_attn")
_PHI = LayerParts(projection="self_attn.dense", attention="self_attn")
_GPTJ = LayerParts(projection="attn.out_proj", attention="attn")
_GEMMA2 = LayerParts(
    projection="self_attn.o_proj", written_norm="post_attention_layernorm", behind="pre_feedforward_layernorm"
)

# Families of transformers, by the names of their file and their layer.
_KNOWN: dict[str, Parts] = {
    **dict.fromkeys(("llama.LlamaDecoderLayer", "mistral.MistralDecoderLayer", "gemma.GemmaDecoderLayer"), _LLAMA),
    **dict.fromkeys(("qwen2.Qwen2DecoderLayer", "qwen3.Qwen3DecoderLayer"), _LLAMA),
    **dict.fromkeys(("cohere.CohereDecoderLayer", "cohere2.Cohere2DecoderLayer"), _COHERE),
    **dict.fromkeys(("bert.BertLayer", "roberta.RobertaLayer", "xlm_roberta.XLMRobertaLayer"), _BERT),
    **dict.fromkeys(("camembert.CamembertLayer", "electra.ElectraLayer"), _BERT),
    "distilbert.TransformerBlock": _DISTILBERT,
    "gemma2.Gemma2DecoderLayer": _GEMMA2,
    "gpt2.GPT2Block": _GPT2,
    "gpt_neox.GPTNeoXLayer": _gpt_neox,
    "gptj.GPTJBlock": _GPTJ,
    "opt.OPTDecoderLayer": _opt,
    "phi.PhiDecoderLayer": _PHI,
}

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


def known_families() -> list[str]:
    """The families of transformers whose layers are known here."""
    return sorted(name.partition(".")[0] for name in _KNOWN)


def parts_of(module: Any) -> LayerParts | None:
    """The parts of a module that is a known layer."""
    kind = type(module)
    parts = _registered.get(kind)
    if parts is None and kind.__module__.startswith("transformers."):
        parts = _KNOWN.get(f"{kind.__module__.rpartition('.modeling_')[2]}.{kind.__qualname__}")
    return parts(module) if parts is not None and not isinstance(parts, LayerParts) else parts


def layers_of(model: Any) -> list[tuple[Any, LayerParts]]:
    """The known layers of a model, in the order in which it holds them."""
    return [(module, parts) for module in model.modules() if (parts := parts_of(module)) is not None]


def require_layers(model: Any, mixing: str) -> list[tuple[Any, LayerParts]]:
    found = layers_of(model)
    if not found:
        raise unsupported(
            f"mixing {mixing}: expected a model whose layers are known ({', '.join(known_families())}), found "
            f"{type(model).__name__}; describe the parts of its layers with attnflow.register_layer(), or choose "
            'mixing="attention"'
        )
    if _core.mixing_info(mixing).norms_after:
        without = [number for number, (_, parts) in enumerate(found, 1) if not parts.last_norm]
        if without:
            raise unsupported(
                f"mixing {mixing}: expected layers with a norm after attention and one after the feed-forward network, as in "
                f"BERT, found layer {without[0]} without; choose mixing norm or alti"
            )
    return found
