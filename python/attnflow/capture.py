"""The attention of any Transformers model, while it runs.

SDPA and flash kernels never make the attention weights, and `output_attentions=True` refuses them or reloads the model.
transformers lets a loaded model's attention function be replaced: here by one that calls the family's own reference
function, which every modeling file has for attn_implementation="eager", and keeps the weights. So soft caps, learned
sinks, position biases and windows are the family's own; nothing is recomputed.

Calls are identified by module and order; layer numbers may be missing or repeated. A mismatch with the declared layers
is an error, never a wrong picture. Families that never ask for an attention function, or mask only for transformers'
own functions, are asked for `output_attentions` instead.
"""

from __future__ import annotations

import inspect
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from attnflow import _core
from attnflow.arrays import as_array
from attnflow.by_rows import blocks_of, fuse_by_rows
from attnflow.errors import Error, bad_input, unsupported
from attnflow.hooks import before, behind
from attnflow.joint import is_encoder_decoder, joint_of, whole_number
from attnflow.walk import modules, named_modules, named_parameters, parameters
from attnflow.wrapped import kinds_of, unwrapped

_NAME = "attnflow"


@dataclass
class Call:
    """The attention weights from one call of one module: [batch, head, query, key]; with fuse=, one fused head."""

    module: str  # its path in the model, such as "bert.encoder.layer.0.attention.self"
    weights: Any  # of torch, on the CPU


@dataclass
class Captured:
    """The attention that capture() kept from the model's last run."""

    model: Any
    calls: list[Call] = field(default_factory=list)
    rounded: bool = False  # whether rows miss a sum of 1 because the model computes in half precision, and by no more
    # To be entered around runs whose attention is to be seen, after what changes PyTorch's functions.
    seeing: Callable[[], AbstractContextManager[None]] = nullcontext

    def __repr__(self) -> str:
        shapes = dict.fromkeys(str(list(call.weights.shape)) for call in self.calls)
        said = f" {', '.join(list(shapes)[:3])}{', ...' if len(shapes) > 3 else ''}" if shapes else ""
        return f"<attnflow.Captured: {type(self.model).__name__}, {len(self.calls)} calls of attention{said}>"

    @property
    def attentions(self) -> tuple[Any, ...]:
        """The weights of each layer, in the order in which the model ran them: [batch, head, query, key].

        For an encoder-decoder, layers cover source and target tokens together: first the encoder's layers, then two for
        each decoder layer, its attention to the target and to the source.
        """
        if is_encoder_decoder(self.model):
            return joint_of(self.model, self.calls).layers()
        kind, layers = type(self.model).__name__, _layers_of(self.model)
        names = [call.module for call in self.calls]
        shapes = {tuple(call.weights.shape) for call in self.calls}
        square = all(len(shape) == 4 and shape[2] == shape[3] for shape in shapes)
        if layers is None or len(self.calls) != layers:
            expected = "a model of one stack of layers" if layers is None else f"attention of {layers} layers"
            found = f"{len(self.calls)} calls of attention in {kind} ({_listed(names)})"
        elif not _one_stack(names):
            expected = "the layers of one stack, whose names differ only in a number"
            found = f"calls of attention in {kind} by {_listed(names)}"
        elif not square or len({(batch, *positions) for batch, _, *positions in shapes}) != 1:
            expected = "each layer's attention between the same positions"
            found = f"shapes {sorted(shapes)} in {kind}"
        else:
            return tuple(call.weights for call in self.calls)
        raise unsupported(f"expected {expected}, found {found}; .calls has each of them")


def _listed(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(names[:most]) or "none"
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _one_stack(names: Sequence[str]) -> bool:
    """Whether paths of modules differ in at most one number, which never falls: it stays where layers share a module."""
    if len({re.sub(r"\d+", "0", name) for name in names}) != 1:
        return False
    columns = list(zip(*([int(number) for number in re.findall(r"\d+", name)] for name in names), strict=True))
    differing = [list(column) for column in columns if len(set(column)) > 1]
    return len(differing) <= 1 and all(column == sorted(column) for column in differing)


def _layers_of(model: Any) -> int | None:
    """The declared number of attention layers; None if undeclared, or if they are no stack: randomly ordered patches."""
    return None if model.config.model_type == "vit_mae" else stack_layers(model)


def stack_layers(model: Any) -> int | None:
    """The declared number of layers."""
    return whole_number([text_config(model)], "num_hidden_layers", "n_layer", "n_layers", "num_layers")


def text_config(model: Any) -> Any:
    """The configuration of its layers: for a model of images and texts, that of the text."""
    config = model.config
    if hasattr(config, "num_hidden_layers") or not hasattr(config, "get_text_config"):
        return config
    return config.get_text_config()


# The default attention function of a family.
_REFERENCE = re.compile(r"\b\w*eager_attention_forward\b")


def _reference_function(module: Any) -> Any:
    """The family's own attention in plain PyTorch, which returns its weights; None if it is not identifiable."""
    kind: Any = type(module)
    file, name = _reference_of(kind)
    return file.get(name)


@cache
def _reference_of(kind: type) -> tuple[dict[str, Any], str]:
    """The names in a file, and that of its function."""
    # A file may have several; each module names its own.
    forward = inspect.unwrap(kind.forward)  # type: ignore[attr-defined]
    named = set(_REFERENCE.findall(_source(forward)))
    if named:
        return (forward.__globals__ if len(named) == 1 else {}), named.pop()
    usual = "eager_attention_forward"
    for one in kind.__mro__:
        file = vars(sys.modules[one.__module__]) if one.__module__ in sys.modules else {}
        if usual in file:
            return (file if sum(map(bool, map(_REFERENCE.fullmatch, file))) == 1 else {}), usual
    return {}, usual


def _source(what: Any) -> str:
    """The source of a module, a class or a function; "" without a file."""
    try:
        return inspect.getsource(what)
    except (OSError, TypeError):
        return ""


@dataclass
class _Recorder:
    """A capture's handling of the model's attention calls."""

    owns: Callable[[Any], bool]  # whether a module is the model's, and this thread runs it
    keep: Callable[..., None]  # (module, weights), and of how many heads they are, if these are fused already
    fusion: Callable[[], str | None]  # how heads may be fused by rows; None: they may not
    see: Callable[..., None] | None  # (module, arguments (query, key, value, ...), weights, output)


# transformers knows attention functions by one name for the whole process. The lock is held during a capture, so that
# no other one takes its function for the model's own.
_recorder: _Recorder | None = None
_at_work = threading.Lock()


def _attention(module: Any, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """Called by transformers instead of a kernel."""
    reference = _reference_function(module)
    if reference is None:
        raise unsupported(
            f"expected one reference function of attention that {type(module).__name__} names (eager_attention_forward), "
            'found none; reload the model with attn_implementation="eager" and pass output_attentions=True'
        )
    recorder = _recorder  # another thread may end the capture meanwhile
    if recorder is None or not recorder.owns(module):
        return reference(module, *arguments, **options)  # type: ignore[no-any-return]
    if (heads := recorder.fusion()) and len(arguments) == 4:
        query, mask = arguments[0], arguments[3]
        if blocks := blocks_of(reference, query, mask):
            output, fused = fuse_by_rows(heads, reference, blocks, (module, *arguments), options)
            recorder.keep(module, fused, query.shape[1])
            return output, None  # as of a kernel
    output, weights = reference(module, *arguments, **options)
    recorder.keep(module, weights)
    if recorder.see is not None:
        recorder.see(module, arguments, weights, output)
    return output, weights


def _register() -> bool:
    """Registers the function with transformers; returns whether this version supports it."""
    try:
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface, eager_mask
    except ImportError:
        return False
    AttentionInterface.register(_NAME, _attention)
    # Without it a custom function gets no mask at all: windows and padding would be silently lost.
    AttentionMaskInterface.register(_NAME, eager_mask)
    return True


def _calls_interface(within: Sequence[Any]) -> bool:
    """Whether every part of a model, given by its modules, asks transformers for its attention function."""
    import transformers

    parts = [part for part in within if isinstance(part, transformers.PreTrainedModel)]
    return all(getattr(part, "_can_set_attn_implementation", lambda: False)() for part in parts)


def _configs(within: Sequence[Any]) -> list[Any]:
    """Each configuration in a model's modules once, outer ones first."""
    found = {id(part.config): part.config for part in within if hasattr(part, "config")}
    for config in list(found.values()):
        for name in getattr(config, "sub_configs", {}):
            if (inner := getattr(config, name, None)) is not None:
                found.setdefault(id(inner), inner)
    return list(found.values())


# `if self.config._attn_implementation in ("eager", "sdpa"):` before a mask: other attention functions would get none,
# as in the families whose indexer chooses the keys of each query (DeepSeek-V3.2).
_OWN_MASK = re.compile(
    r"_attn_implementation\s*(?:==|(?:not\s+)?in)\s*[(\[{]?[^)\]}:\n]*[\"']eager[\"'][^:\n]*:[^\n]*\n"
    r"(?:[^\n]*\n){0,8}?[^\n=]*(?:mask|indices)\w*\s*="
)


def masks_beside_interface(within: Sequence[Any]) -> bool:
    """Whether one of a model's modules masks its attention only for attention functions that it knows by name."""
    files = {kind.__module__ for own in set(map(type, within)) for kind in own.__mro__}
    return any(_has_own_mask(file) for file in files if not file.startswith(("torch.", "builtins")))


@cache
def _has_own_mask(file: str) -> bool:
    return _OWN_MASK.search(_source(sys.modules.get(file))) is not None


def _implement(stack: ExitStack, configs: list[Any], name: str) -> None:
    """Switches to another attention function until `stack` ends."""
    for config in reversed(configs):  # put back are outer ones first, which change those within them
        stack.callback(setattr, config, "_attn_implementation", config._attn_implementation)
    for config in configs:
        config._attn_implementation = name


def check_model(model: Any) -> None:
    """Refuses models that cannot be explained with any text."""
    if not hasattr(model, "config") or not hasattr(model, "modules"):
        raise Error(f"expected a model of transformers, found {type(model).__name__}")
    if "torch.OptimizedModule" in kinds_of(model):
        raise Error(
            "expected the model itself, found one that torch.compile() made, whose kernels no longer ask for attention; pass "
            "and run model._orig_mod"
        )
    within = modules(model)
    if any(module.training for module in within):
        raise Error("expected a model in evaluation mode, found all or part of it in training mode; call model.eval()")
    if any(parameter.device.type == "meta" for parameter in parameters(within)):
        raise Error(
            "expected a model with its weights in memory, found all or part of it on the device meta, where accelerate leaves "
            "the weights that it offloads to the CPU or the disk; load the whole model, such as with device_map=None"
        )


def explained(model: Any) -> Any:
    """The transformers model inside any wrapper; refuses others."""
    model = unwrapped(model)
    check_model(model)
    # A transformers model has loaded transformers; others may lack it.
    transformers = sys.modules.get("transformers")
    if transformers is None or not isinstance(model, transformers.PreTrainedModel):
        raise Error(
            f"expected a model of transformers (PreTrainedModel), found {type(model).__name__}; pass the model that it wraps"
        )
    return model


def divide_rows(asked: dict[str, Any], rounded: bool) -> dict[str, Any]:
    """Divides rows rounded to two or three digits, which miss 1 by up to 0.01, unless the options say otherwise."""
    if rounded and asked.get("renormalize") is None and not asked.get("any_weights"):
        return asked | {"renormalize": True}
    return asked


def as_given(weights: Any, _: int) -> Any:
    # Moved to the CPU at once: the model's device holds one layer at a time.
    return weights.detach().cpu()


def shape_alone(weights: Any, *_: Any) -> Any:
    """What is kept of attention where only its shape is wanted."""
    return weights.detach().new_empty(1).cpu().expand(weights.shape)


def _fused(fusion: str, weights: Any, _: int, heads: int = 0) -> Any:
    import numpy as np
    import torch

    if heads:
        return weights
    if len(weights) == 0:
        raise bad_input("expected a batch of at least one input, found an empty batch")
    fused = [_core.fuse_heads([as_array(one)], fusion) for one in weights]
    return torch.from_numpy(np.stack(fused)[:, None])


@contextmanager
def capture(model: Any, *, fuse: str | None = None) -> Iterator[Captured]:
    """Keeps the attention of the model's runs inside the `with` block, whatever its kernel; only the last run is kept.

        with attnflow.capture(model) as captured:
            model(**inputs)
        attnflow.show(captured, tokens)

    fuse: "mean", "max" or "min" fuses each layer's heads as it arrives, so that a layer takes n^2 numbers instead of
        n^2 for each head. The weights are then float64 with a single head.
    """
    if "torch.OptimizedModule" not in kinds_of(model):
        model = unwrapped(model)
    if fuse not in (None, "mean", "max", "min"):
        raise Error(f"fuse: expected mean, max or min, found {fuse!r}")
    with capture_with(model, as_given if fuse is None else partial(_fused, fuse), fuse) as captured:
        yield captured


@contextmanager
def capture_with(
    model: Any, keep_as: Callable[..., Any], fuse: str | None = None, see: Callable[..., None] | None = None
) -> Iterator[Captured]:
    """keep_as(weights, layer) returns what to keep of a call; the first call is layer 1.

    fuse: keep_as(weights, layer, heads) may get weights already fused. see: sees what attention is given and gives.
    """
    global _recorder
    check_model(model)
    if not _at_work.acquire(blocking=False):
        raise Error("expected one capture at a time, found another one in progress")
    with ExitStack() as stack:
        stack.callback(_at_work.release)
        captured = Captured(model)
        named = named_modules(model)
        names = {id(module): name for name, module in named}
        within = [module for _, module in named]
        sinks = has_sinks(within)
        thread = threading.get_ident()

        # Kernels run without weights; if weights are requested, too, they are complete.
        configs = _configs(within)
        kernel = all(config._attn_implementation not in (None, "eager") for config in configs)
        by_rows = False

        def keep(name: str, weights: Any, *heads: int) -> None:
            rounded = not sinks and _is_rounded(weights)
            captured.rounded = rounded and (captured.rounded or not captured.calls)
            captured.calls.append(Call(name, keep_as(weights, len(captured.calls) + 1, *heads)))

        def begin(module: Any, _: Any, options: dict[str, Any]) -> None:
            nonlocal by_rows
            if module is model:  # copies made meanwhile have this hook, too
                captured.calls = []  # a list of its own, so that whoever has kept the last run's still has it
                captured.rounded = False
                by_rows = fuse is not None and kernel and not _asks_for_attention(configs, options)

        stack.callback(before(model, begin))
        exchangeable = _register()
        own_masks = exchangeable and masks_beside_interface(within)
        if exchangeable and not own_masks and _calls_interface(within):
            _recorder = _Recorder(
                # Models with the same configuration call this function, too, possibly in other threads.
                owns=lambda module: id(module) in names and threading.get_ident() == thread,
                keep=lambda module, weights, *heads: keep(names[id(module)], weights, *heads),
                fusion=lambda: fuse if by_rows else None,
                see=see,
            )
            stack.callback(_stop_recording)
            _implement(stack, configs, _NAME)
        else:
            _refuse_other_attention(model)
            stack.enter_context(_output_attentions(model, keep, exchangeable, own_masks, quiet=see is not None))
            if see is not None:
                from attnflow.attention_calls import attention_calls

                captured.seeing = partial(attention_calls, model, see)
        yield captured


def has_sinks(within: Sequence[Any]) -> bool:
    """Whether learned sinks of these modules take a share of attention: rows miss 1 by more than rounding."""
    return any("sink" in name for name, _ in named_parameters(within))


def _stop_recording() -> None:
    global _recorder
    _recorder = None


def _asks_for_attention(configs: list[Any], options: dict[str, Any]) -> bool:
    """Whether a run is to return attention, by its arguments or the model's configuration."""
    asked = options.get("output_attentions")
    if asked is None:
        return any(getattr(config, "output_attentions", False) for config in configs)
    return bool(asked)


def _is_rounded(weights: Any) -> bool:
    """Whether rows miss a sum of 1 by no more than half precision rounds."""
    import torch

    if weights.dtype not in (torch.float16, torch.bfloat16):
        return False
    return bool(((weights.float().sum(dim=-1) - 1.0).abs() <= 0.02).all())


def _level_of_caller() -> int:
    """The stacklevel, for a warning of the calling function, of the first frame outside this package and contextlib."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("attnflow", "contextlib"):
        level, frame = level + 1, frame.f_back
    return level


def _refuse_other_attention(model: Any) -> None:
    """Refuses models whose attention changes when it is asked for."""
    for config in _configs(modules(model)):
        if config.model_type == "falcon" and getattr(config, "alibi", False):
            raise unsupported(
                f"expected a model whose eager attention equals that of its kernel, found {type(model).__name__} with alibi: "
                "transformers adds its ALiBi bias twice when attention is requested; use the command `attnflow explain "
                "--model FOLDER`, which adds it once"
            )


@contextmanager
def _output_attentions(
    model: Any, keep: Callable[[str, Any], None], exchangeable: bool, own_masks: bool, quiet: bool
) -> Iterator[None]:
    """Asks for attention in the output, if it cannot be replaced; `own_masks`: runs as if loaded with "eager"."""
    if own_masks:
        reason = f"{type(model).__name__} masks attention only for transformers' own attention functions"
    elif exchangeable:
        reason = f"{type(model).__name__} has its own attention functions"
    else:
        reason = "this version of transformers does not let attention functions be exchanged (AttentionInterface)"
    if not quiet:
        warnings.warn(
            f"{reason}, so attnflow uses output_attentions=True, which keeps all layers on the model's device",
            stacklevel=_level_of_caller(),
        )

    def ask(module: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return (arguments, options | {"output_attentions": True, "return_dict": True}) if module is model else None

    def take(module: Any, _: tuple[Any, ...], __: dict[str, Any], output: Any) -> None:
        if module is not model:
            return

        def stack_of(name: str) -> list[tuple[str, Any]]:
            return [(f"{name}[{layer}]", one) for layer, one in enumerate(getattr(output, name, None) or ())]

        calls = stack_of("attentions")
        if is_encoder_decoder(model):
            layers = zip(stack_of("decoder_attentions"), stack_of("cross_attentions"), strict=False)
            calls = [*stack_of("encoder_attentions"), *(call for layer in layers for call in layer)]
        for name, weights in calls:
            if weights is not None:
                keep(name, weights)

    with ExitStack() as stack:
        stack.callback(before(model, ask))
        stack.callback(behind(model, take))
        if own_masks:
            _implement(stack, _configs(modules(model)), "eager")
        yield
