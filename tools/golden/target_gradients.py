"""Gradients of targets with respect to a module's output, by PyTorch's autograd, and the effect of rounding."""

import numpy as np
import torch


def with_leaf(module, run):
    """The output of `module` during run(), as a separate leaf, so that gradients stop there; and the result of
    run()."""
    kept = []

    def keep(_module, _inputs, output):
        leaf = output.detach().requires_grad_(True)
        kept.append(leaf)
        return leaf

    handle = module.register_forward_hook(keep)
    output = run()
    handle.remove()
    if len(kept) != 1:
        raise AssertionError(f"the embedding module ran {len(kept)} times")
    return kept[0], output


def differentiate(targets, logits, leaf):
    """For each target, a function of the logits: its value and its gradient [n, width]."""
    arrays = {}
    for name, target in targets.items():
        value = target(logits)
        (gradient,) = torch.autograd.grad(value, leaf, retain_graph=True)
        arrays[f"{name}_value"] = value.detach().numpy()
        arrays[f"{name}_gradient"] = gradient[0].numpy()
    return arrays


def with_rounding(what, double, single):
    """The float64 arrays to store, and how far the gradients of a float32 pass are from theirs."""
    arrays = {}
    for name, array in double.items():
        if not np.isfinite(array).all() or (name.endswith("gradient") and not array.any()):
            raise AssertionError(f"{what}: {name} is zero or not finite")
        arrays[name] = array.astype(np.float64 if array.ndim == 0 else np.float32)
        if name.endswith("gradient"):
            arrays[f"{name}_rounding"] = np.float64(np.abs(single[name] - array).max())
    return arrays
