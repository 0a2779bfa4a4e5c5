"""The attention graph and rollout, as docs/method.md defines them: the reference that Python tests compare with.

This module is written from that page alone. It shares no code with the program, and is short rather than fast: NumPy, in
float64. max_flow.py is the reference of flow.

Definition. Attention is [layer, head, query, key]. Layers count from 1, heads and positions from 0. Every layer l becomes
one matrix over positions, [query, key], in five steps; W_l is the result of steps 1 to 4, A_l that of all:

    1. fuse       W = mean, max or min over heads, or one head; after max or min, rows are normalized
    2. mask       the given columns of W become 0
    3. discard    the floor(q n^2) smallest weights of W become 0
    4. normalize  rows in which step 2 or 3 set a nonzero weight to 0 are divided by their sums
    5. residual   convex             A = (1 - rho) W + rho I         attention
                  added              A = I + W                       gradients; rollout as published
                  added-normalized   A = I + W, rows normalized      gradients; flow, and renormalized rollout

Normalizing divides a row by its sum. A row of zeros becomes the identity's: the position keeps only itself.

Rollout from layer l down to layer m is the product A_l A_(l-1) ... A_(m+1), the layer nearer the output on the left. If
one head is fused, A_l is that head's matrix, and the layers below l use the mean over heads.

References:
  S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020
  H. Chefer, S. Gur and L. Wolf, Generic Attention-model Explainability, ICCV 2021, equations 5 and 6 (rule "added")
"""

from fractions import Fraction
from math import floor

import numpy as np


class Ambiguous(Exception):
    """Rounding decides which weight is discarded; the definition does not."""


def divide_rows(matrix):
    """Rows divided by their sums; rows of zeros stay."""
    sums = matrix.sum(axis=-1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)


def normalize_rows(matrix):
    """Rows divided by their sums; a row of zeros becomes the identity's."""
    is_empty = matrix.sum(axis=-1, keepdims=True) == 0
    return np.where(is_empty, np.eye(matrix.shape[-1]), divide_rows(matrix))


def fuse_heads(attention, heads="mean"):
    """Step 1: [..., head, query, key] to float64 [..., query, key]. `heads` is mean, max, min or a head."""
    weights = attention.astype(np.float64)
    if heads == "mean":
        return weights.mean(axis=-3)
    if heads in ("max", "min"):
        return normalize_rows(getattr(weights, heads)(axis=-3))
    return weights[..., int(heads), :, :]


def discard_smallest(weights, share, keeps=(), exact=True):
    """Step 3, on [query, key]: among equal weights, later rows go first, then later columns. Columns in `keeps` are left
    alone, but `share` counts them. Unless `exact`, equal weights may differ by rounding.

    Raises Ambiguous if the last weight that goes and the first that stays are as close as rounding.
    """
    n = len(weights)
    count = floor(Fraction(share) * n * n)
    order = sorted((weights[i, j], -i, -j) for i in range(n) for j in range(n) if j not in keeps)
    if 0 < count < len(order):
        last, following = order[count - 1][0], order[count][0]
        if following > 0 and following - last <= 1e-12 * following and not (exact and following == last):
            raise Ambiguous
    result = weights.copy()
    for _, i, j in order[:count]:
        result[-i, -j] = 0.0
    return result


def layer_weights(attention, heads="mean", mask_columns=(), discard=0.0, discard_keeps=(), renormalize=False):
    """W of one layer, [head, query, key] to [query, key]: steps 1 to 4, after normalizing all rows if `renormalize`."""
    exact = attention.dtype == np.float32 and heads not in ("max", "min") and not renormalize
    attention = attention.astype(np.float64)
    fused = fuse_heads(normalize_rows(attention) if renormalize else attention, heads)
    kept = fused.copy()
    kept[:, list(mask_columns)] = 0.0
    if discard > 0:
        kept = discard_smallest(kept, discard, discard_keeps, exact)
    changed = ((fused != 0) & (kept == 0)).any(axis=-1, keepdims=True)
    return np.where(changed, normalize_rows(kept), kept)


def add_residual(weights, residual=0.5, rule="convex"):
    """Step 5, on [..., query, key]; rho = `residual` belongs to the convex rule."""
    identity = np.eye(weights.shape[-1])
    if rule == "convex":
        return (1.0 - residual) * weights + residual * identity
    return {"added": lambda matrix: matrix, "added-normalized": normalize_rows}[rule](identity + weights)


def rollout(matrices, top=None):
    """A_l ... A_(m+1) for l = m+1 ... L, from [layer, query, key]; `top` replaces A_l itself, not those below it."""
    below = np.eye(matrices.shape[-1])
    result = []
    for matrix, highest in zip(matrices, matrices if top is None else top, strict=True):
        result.append(highest @ below)
        below = matrix @ below
    return np.stack(result)


class AttentionGraph:
    """The matrices of every layer of `attention`, [layer, head, query, key], above layer m = `start_layer`.

    weights  W_l, at index l - 1
    top      A_l, for the layer l that values are asked for
    below    A_l, for a layer below that one: differs from `top` if one head is fused

    `steps`: the arguments of layer_weights() for steps 2 to 4.
    """

    def __init__(self, attention, heads="mean", residual=0.5, start_layer=0, **steps):
        def fused(heads):
            return np.stack([layer_weights(layer, heads, **steps) for layer in attention])

        self.start_layer = start_layer
        self.weights = fused(heads)
        self.top = add_residual(self.weights, residual)
        self.below = self.top if heads in ("mean", "max", "min") else add_residual(fused("mean"), residual)

    def matrices(self, layer):
        """A_(m+1) ... A_l, [l - m, query, key]."""
        return np.concatenate([self.below[self.start_layer : layer - 1], self.top[layer - 1 : layer]])

    def rollout(self):
        """[L - m, query, key], for l = m+1 ... L."""
        return rollout(self.below[self.start_layer :], self.top[self.start_layer :])


def joint_attention(output):
    """The attention of an encoder-decoder over its m source and k target tokens, n = m + k: for each layer, [batch, head,
    n, n]. `output` is that of transformers.

    The encoder's layers come first. Each decoder layer gives two, in the order in which it computes them: the target's
    attention to itself, then to the source. A token that a layer does not change attends to itself.
    """
    m, k = (attentions[0].shape[-1] for attentions in (output.encoder_attentions, output.decoder_attentions))
    source, target = slice(0, m), slice(m, m + k)
    blocks = [(weights, source, source) for weights in output.encoder_attentions]
    for own, cross in zip(output.decoder_attentions, output.cross_attentions, strict=True):
        blocks += [(own, target, target), (cross, target, source)]
    layers = []
    for weights, queries, keys in blocks:
        layer = np.tile(np.eye(m + k, dtype=np.float32), (*weights.shape[:2], 1, 1))
        layer[..., queries, :] = 0.0
        layer[..., queries, keys] = weights.numpy()
        layers.append(layer)
    return layers
