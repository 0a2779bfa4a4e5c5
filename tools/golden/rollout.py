"""Rollout in float64 NumPy, written like the definition."""

import numpy as np


def fuse(attention, heads="mean"):
    """[L, H, n, n] float32 -> [L, n, n] float64."""
    weights = attention.astype(np.float64)
    if heads == "mean":
        return weights.mean(axis=1)
    if heads in ("max", "min"):
        fused = weights.max(axis=1) if heads == "max" else weights.min(axis=1)
        return fused / fused.sum(axis=-1, keepdims=True)
    return weights[:, int(heads)]


def add_residual(fused, residual):
    return (1.0 - residual) * fused + residual * np.eye(fused.shape[-1])


def rollout(fused, residual=0.5, to_layer=0, top=None):
    """A_l ... A_(m+1) for l = m+1..L, [L - m, n, n]; `top` replaces the matrix of layer l itself (one head)."""
    matrices = add_residual(fused, residual)
    tops = matrices if top is None else add_residual(top, residual)
    product = np.eye(fused.shape[-1])
    result = []
    for layer in range(to_layer, len(matrices)):
        result.append(tops[layer] @ product)
        product = matrices[layer] @ product
    return np.stack(result)
