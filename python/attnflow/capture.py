"""The attention of any Transformers model, while it runs.

SDPA and flash kernels never make the attention weights, and `output_attentions=True` refuses them or reloads the model.
transformers lets a model's attention function be exchanged while it stands: here by one that calls the family's own
reference function, which every modeling file has for attn_implementation="eager", and keeps the weights that it returns.
So soft caps, learned sinks, position biases and windows are what the family says they are; nothing is computed anew.

Calls are told apart by the module that makes them and by their order, not by a number of their layer, which modules may lack
or repeat. They are compared with the layers that the model says it has: what does not agree is an error, never a wrong
picture. Families that never ask for an attention function are asked for `output_attentions` instead.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from attnflow import _core
from attnflow.arrays import as_array, as_layers
from attnflow.errors import Error
from attnflow.progress import Progress
from attnflow.report import Report
from attnflow.text import encode, predictions, require_words

if TYPE_CHECKING:
    from typing import Unpack

    from attnflow._options import Options

# Under which transformers knows the attention function here.
_NAME = "attnflow"


@dataclass
class Call:
    """The attention weights of one call of one module: [batch, head, query, key]; with fuse= there is one head."""

    module: str  # its path in the model, such as "bert.encoder.layer.0.attention.self"
    weights: Any  # of torch, on the CPU


@dataclass
class Captured:
    """What capture() has kept of the model's last run."""

    model: Any
    calls: list[Call] = field(default_factory=list)

    @property
    def attentions(self) -> tuple[Any, ...]:
        """A layer each, in the order in which the model ran them: [batch, head, query, key]."""
        layers = _layers_of(self.model)
        names = [call.module for call in self.calls]
        if layers is None or len(self.calls) != layers:
            expected = "a model of one stack of layers" if layers is None else f"attention of {layers} layers"
            raise Error(
                f"expected {expected}, found {len(self.calls)} calls of attention in {type(self.model).__name__} "
                f"({_listed(names)}); .calls has each of them",
                kind="unsupported_model",
            )
        shapes = {tuple(call.weights.shape) for call in self.calls}
        square = all(len(shape) == 4 and shape[2] == shape[3] for shape in shapes)
        if not square or len({shape[0] for shape in shapes}) != 1 or len({shape[2] for shape in shapes}) != 1:
            raise Error(
                f"expected each layer's attention between the same positions, found shapes {sorted(shapes)} in "
                f"{type(self.model).__name__}; .calls has each of them",
                kind="unsupported_model",
            )
        return tuple(call.weights for call in self.calls)


def _listed(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(names[:most]) or "none"
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _layers_of(model: Any) -> int | None:
    """How many layers of attention the model says it has; None where it does not, or where they are no one stack: an encoder
    and a decoder, patches in an order drawn by chance.
    """
    config = model.config
    if getattr(config, "is_encoder_decoder", False) or config.model_type == "vit_mae":
        return None
    for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
        found = getattr(config, name, None)
        if isinstance(found, int):
            return found
    return None


def _reference_function(module: Any) -> Any:
    """The family's own attention in plain PyTorch, which returns its weights; None where there is none."""
    for kind in type(module).__mro__:
        found = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if found is not None:
            return found
    return None


# The capture at work, if any: transformers knows attention functions by one name for the whole process.
_recorder: Any = None


def _attention(module: Any, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """What transformers calls in place of a kernel."""
    reference = _reference_function(module)
    if reference is None:
        raise Error(
            f"expected a reference function of attention beside {type(module).__name__}, found none; reload the model with "
            'attn_implementation="eager" and pass output_attentions=True',
            kind="unsupported_model",
        )
    output, weights = reference(module, *arguments, **options)
    if _recorder is not None:
        _recorder(module, weights)
    return output, weights


def _register() -> bool:
    """Makes the function here known to transformers; whether this version can."""
    try:
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface, eager_mask
    except ImportError:
        return False
    AttentionInterface.register(_NAME, _attention)
    # Without it a function of one's own gets no mask at all: windows and padding would be lost without a word.
    AttentionMaskInterface.register(_NAME, eager_mask)
    return True


def _calls_interface(model: Any) -> bool:
    """Whether every part of the model asks transformers for its attention function."""
    import transformers

    parts = [part for part in model.modules() if isinstance(part, transformers.PreTrainedModel)]
    return all(getattr(part, "_can_set_attn_implementation", lambda: False)() for part in parts)


def _configs(model: Any) -> list[Any]:
    """Each configuration in the model once, outer ones first."""
    found = {id(part.config): part.config for part in model.modules() if hasattr(part, "config")}
    for config in list(found.values()):
        for name in getattr(config, "sub_configs", {}):
            if (inner := getattr(config, name, None)) is not None:
                found.setdefault(id(inner), inner)
    return list(found.values())


@contextmanager
def _implementation(model: Any, name: str) -> Iterator[None]:
    """Runs with another attention function, and puts the old ones back."""
    before = [(config, config._attn_implementation) for config in _configs(model)]
    try:
        for config, _ in before:
            config._attn_implementation = name
        yield
    finally:
        for config, old in before:
            config._attn_implementation = old


def _check(model: Any) -> None:
    if not hasattr(model, "config") or not hasattr(model, "modules"):
        raise Error(f"expected a model of transformers, found {type(model).__name__}", kind="usage")
    if model.training:
        raise Error("expected a model in evaluation mode, found one in training mode; call model.eval()", kind="usage")
    if any(parameter.device.type == "meta" for parameter in model.parameters()):
        raise Error("expected a model with weights, found one on the device meta", kind="usage")


def _as_given(weights: Any, _: int) -> Any:
    # On its way to the CPU at once: the model's device keeps one layer at a time.
    return weights.detach().cpu()


def _fused(heads: str, weights: Any, _: int) -> Any:
    import numpy as np
    import torch

    fused = [_core.fuse_heads([as_array(one)], heads) for one in weights]
    return torch.from_numpy(np.stack(fused)[:, None])


@contextmanager
def capture(model: Any, *, fuse: str | None = None) -> Iterator[Captured]:
    """Keeps the attention of what the model runs inside, whatever its kernel; of several runs that of the last.

    with attnflow.capture(model) as captured:
        model(**inputs)
    attnflow.show(captured, tokens)

    fuse: "mean", "max" or "min" fuses the heads of each layer as it comes, so that a layer takes n^2 numbers rather than
        one for each head. Weights are then float64, of one head.
    """
    if fuse not in (None, "mean", "max", "min"):
        raise Error(f"fuse: expected mean, max or min, found {fuse!r}", kind="usage")
    with _capture(model, _as_given if fuse is None else partial(_fused, fuse)) as captured:
        yield captured


@contextmanager
def _capture(model: Any, keep_as: Callable[[Any, int], Any]) -> Iterator[Captured]:
    """keep_as(weights, layer) says what is kept of a call, the first of which is layer 1."""
    global _recorder
    _check(model)
    if _recorder is not None:
        raise Error("expected one capture at a time, found another one at work", kind="usage")
    captured = Captured(model)
    names = {id(module): name for name, module in model.named_modules()}

    def keep(module: Any, weights: Any) -> None:
        kept = keep_as(weights, len(captured.calls) + 1)
        captured.calls.append(Call(names.get(id(module), type(module).__name__), kept))

    def begin(*_: Any) -> None:
        captured.calls.clear()

    begins = model.register_forward_pre_hook(begin)
    try:
        if _register() and _calls_interface(model):
            _recorder = keep
            with _implementation(model, _NAME):
                yield captured
        else:
            with _output_attentions(model, captured, keep_as):
                yield captured
    finally:
        _recorder = None
        begins.remove()


@contextmanager
def _output_attentions(model: Any, captured: Captured, keep_as: Callable[[Any, int], Any]) -> Iterator[None]:
    """Asks for attention in the model's output, for families that do not ask for their attention function."""
    warnings.warn(
        f"{type(model).__name__} has attention functions of its own, so its attention is that of output_attentions=True, "
        "which keeps all layers on the model's device",
        stacklevel=7,
    )

    def ask(_: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return arguments, options | {"output_attentions": True, "return_dict": True}

    def take(_: Any, __: tuple[Any, ...], output: Any) -> None:
        found = getattr(output, "attentions", None)
        captured.calls.extend(
            Call(f"attentions[{layer}]", keep_as(weights, layer + 1))
            for layer, weights in enumerate(found or ())
            if weights is not None
        )

    hooks = [model.register_forward_pre_hook(ask, with_kwargs=True), model.register_forward_hook(take)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@overload
def explain(model: Any, tokenizer: Any, text: str, **options: Unpack[Options]) -> Report: ...
@overload
def explain(model: Any, tokenizer: Any, text: Sequence[str], **options: Unpack[Options]) -> list[Report]: ...
def explain(model: Any, tokenizer: Any, text: str | Sequence[str], **options: Unpack[Options]) -> Report | list[Report]:
    """Attention of a loaded Transformers model on a text, as a report; of several texts, a report each.

    The model may use any kernel (SDPA, flash); it is not reloaded. Texts are run one at a time, without padding. Options as
    of attribute(). Encoders and decoders; of others capture() keeps the attention of each module.
    """
    _check(model)
    if isinstance(text, str):
        return _explain_text(model, tokenizer, text, options)
    return [_explain_text(model, tokenizer, one, options) for one in text]


def _explain_text(model: Any, tokenizer: Any, text: str, options: Options) -> Report:
    import torch

    asked: dict[str, Any] = dict(options)
    fuses = _core.can_fuse(asked)  # and options that are wrong are told before the model runs
    if asked.get("words"):
        require_words(tokenizer)
    encoded = encode(tokenizer, text, partial(_check_ids, model))
    ids = encoded.ids
    device = next(model.parameters()).device
    inputs = {"input_ids": torch.tensor([ids], device=device)}
    if not getattr(model.config, "is_encoder_decoder", False):
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])

    def keep(weights: Any, layer: int) -> Any:
        if weights.dtype in (torch.float16, torch.bfloat16) and "any_weights" not in options:
            asked.setdefault("renormalize", True)  # rounded to two or three digits, rows miss 1 by up to a hundredth
        kept = _as_given(weights, layer)
        if not fuses or kept.dim() != 4 or kept.shape[0] != 1 or kept.shape[2] != kept.shape[3]:
            return kept  # what is no layer is refused below
        return _core.fuse_layer([as_array(kept[0])], layer, asked)

    with _capture(model, keep) as captured, torch.no_grad():
        output = model(**inputs)
    attentions = captured.attentions
    fused = [layer for layer in attentions if isinstance(layer, _core.FusedLayer)]
    with Progress("flow") as progress:
        core = _core.explain(
            [] if fused else as_layers(attentions)[0],
            [],
            encoded.tokens,
            encoded.special,
            str(getattr(model.config, "name_or_path", "") or type(model).__name__),
            asked,
            progress,
            fused,
            encoded.text,
            str(model.config.model_type),
            predictions(model, tokenizer, ids, output),
        )
    return Report(core)


def _check_ids(model: Any, ids: Sequence[int]) -> None:
    if not ids:
        raise Error("expected text with at least one token, found none", kind="usage")
    vocabulary = model.get_input_embeddings().weight.shape[0]
    if max(ids) >= vocabulary:
        raise Error(
            f"expected tokens of the model, whose vocabulary has {vocabulary}, found {max(ids)}; the tokenizer belongs to "
            "another model",
            kind="bad_input",
        )
    most = getattr(model.config, "max_position_embeddings", None)
    if isinstance(most, int) and len(ids) > most > 0:
        raise Error(
            f"expected at most {most} tokens (the positions of the model), found {len(ids)}; shorten the text",
            kind="input_too_long",
        )
