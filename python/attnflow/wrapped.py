"""The transformers model inside other packages' wrappers."""

from __future__ import annotations

from typing import Any

from attnflow.errors import unsupported

# By package and class: the attribute that holds the wrapped model.
_HELD_AS = {
    "torch.OptimizedModule": "_orig_mod",  # torch.compile()
    "torch.DataParallel": "module",
    "torch.DistributedDataParallel": "module",
    "torch.FullyShardedDataParallel": "module",
    "sentence_transformers.CrossEncoder": "model",
    "transformers.Pipeline": "model",
}


def kinds_of(value: Any) -> set[str]:
    """Package and name of its class and its base classes: "torch.Module"."""
    return {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(value).__mro__}


def unwrapped(model: Any) -> Any:
    """The model that a wrapper runs, including adapters; the model itself without a wrapper."""
    while True:
        kinds = kinds_of(model)
        if "peft.PeftModel" in kinds:
            inner = _adapted(model)
        elif "sentence_transformers.SentenceTransformer" in kinds:
            inner = next((part.auto_model for part in model if hasattr(part, "auto_model")), model)
        else:
            name = next((held for kind, held in _HELD_AS.items() if kind in kinds), None)
            inner = model if name is None else getattr(model, name, model)
        if inner is model:
            return model
        model = inner


def pooling_of(model: Any) -> str:
    """How a sentence encoder makes one vector of a text: "mean" (also of other models), "cls", or what else it does."""
    kinds = kinds_of(model)
    if "sentence_transformers.SentenceTransformer" not in kinds:
        name = next((held for kind, held in _HELD_AS.items() if kind in kinds), None)
        return "mean" if name is None else pooling_of(getattr(model, name, None))
    found = "mean"
    for part in model:
        kind = type(part).__name__
        if kind == "Pooling":
            mode = part.get_pooling_mode_str()
            found = {"mean_sqrt_len_tokens": "mean", "mean_sqrt_len": "mean"}.get(mode, mode)
        elif kind != "Normalize" and not hasattr(part, "auto_model"):
            return f"a module of type {kind}"
    return found if found in ("mean", "cls") else f"{found} pooling"


def _adapted(model: Any) -> Any:
    """PEFT puts LoRA and its relatives into the model's own layers, which then run as part of them."""
    prompt = next((one for one in model.peft_config.values() if getattr(one, "is_prompt_learning", False)), None)
    if prompt is not None:
        raise unsupported(
            f"expected an adapter inside the model's layers, such as LoRA, found {type(prompt).__name__}, which puts virtual "
            "tokens before the text; pass the model without it, or one it was merged into"
        )
    return model.get_base_model()
