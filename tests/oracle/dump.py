"""The input of the oracles: the .npz written by `attnflow explain --keep-attention -o dump.npz`.

The mixing matrices are recomputed here, in float64 from the raw attention, so that only the raw attention is taken from
the program under test.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np


class OracleError(Exception):
    """The oracle cannot check: a wrong file or wrong settings. Never counts as a pass."""


@dataclass
class Dump:
    """Arrays by their names in the file, and the mixing matrices.

    attention      float32 [L, H, n, n]
    layers         the l of the first dimension of raw, rollout and flow
    output_tokens  positions of the rows of raw and rollout; flow_output_tokens: of flow
    below          float64 [L, n, n]: A_k of the layers below the one looked at (index k - 1)
    top            float64 [L, n, n]: A_l of the layer looked at; differs from `below` for one head
    weights        float64 [L, n, n]: W_l of the layer looked at, without the residual
    """

    path: str
    arrays: dict
    attention: np.ndarray
    layers: list
    output_tokens: list
    flow_output_tokens: list
    start_layer: int
    weights: np.ndarray
    below: np.ndarray
    top: np.ndarray

    @property
    def tokens(self):
        return self.attention.shape[-1]


def add_arguments(parser):
    parser.add_argument("dump", help=".npz written with --keep-attention")
    parser.add_argument("--residual", type=float, default=0.5, help="rho that the file was made with (%(default)s)")
    parser.add_argument("--heads", default="mean", help="mean, max, min or a head, as the file was made (%(default)s)")
    parser.add_argument("--start-layer", type=int, default=0, help="m that the file was made with (%(default)s)")


def fuse(attention, heads):
    """[L, H, n, n] -> [L, n, n] float64; rows renormalized after max and min."""
    values = attention.astype(np.float64)
    if heads == "mean":
        return values.mean(axis=1)
    if heads in ("max", "min"):
        fused = values.max(axis=1) if heads == "max" else values.min(axis=1)
        return fused / fused.sum(axis=-1, keepdims=True)
    head = int(heads) if heads.isdecimal() else -1
    if not 0 <= head < attention.shape[1]:
        raise OracleError(f"--heads {heads}: expected mean, max, min or a head below {attention.shape[1]}")
    return values[:, head]


def mixing(fused, residual):
    return (1.0 - residual) * fused + residual * np.eye(fused.shape[-1])


def positions(arrays, key, default):
    values = arrays.get(key)
    return default if values is None else [int(value) for value in values]


def load(arguments):
    try:
        with np.load(arguments.dump, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError) as error:
        raise OracleError(f"{arguments.dump}: {error}") from error
    attention = arrays.get("attention")
    if attention is None:
        raise OracleError(f"{arguments.dump} has no array 'attention' (found {sorted(arrays)}): use --keep-attention")
    if attention.ndim != 4 or attention.shape[2] != attention.shape[3] or attention.dtype != np.float32:
        raise OracleError(f"attention: expected float32 [L, H, n, n], found {attention.dtype} {attention.shape}")
    if not np.isfinite(attention).all() or (attention < 0).any():
        raise OracleError("attention: expected finite values of at least 0")
    if not 0.0 <= arguments.residual <= 1.0:
        raise OracleError(f"--residual {arguments.residual}: expected 0 to 1")
    layer_count, _, n, _ = attention.shape
    if not 0 <= arguments.start_layer < layer_count:
        raise OracleError(f"--start-layer {arguments.start_layer}: expected 0 to {layer_count - 1}")
    layers = positions(arrays, "layers", None)
    if layers is None or not layers or not all(arguments.start_layer < layer <= layer_count for layer in layers):
        raise OracleError(f"layers: expected some of {arguments.start_layer + 1} to {layer_count}, found {layers}")
    output_tokens = positions(arrays, "output_tokens", list(range(n)))
    flow_output_tokens = positions(arrays, "flow_output_tokens", output_tokens)
    for token in (*output_tokens, *flow_output_tokens):
        if not 0 <= token < n:
            raise OracleError(f"output token {token}: expected 0 to {n - 1}")

    one_head = arguments.heads.isdecimal()
    weights = fuse(attention, arguments.heads)
    return Dump(
        path=arguments.dump,
        arrays=arrays,
        attention=attention,
        layers=layers,
        output_tokens=output_tokens,
        flow_output_tokens=flow_output_tokens,
        start_layer=arguments.start_layer,
        weights=weights,
        below=mixing(fuse(attention, "mean") if one_head else weights, arguments.residual),
        top=mixing(weights, arguments.residual),
    )


def require(dump, key, rows):
    """One result array, checked for shape [layers, rows, n] and finite values."""
    values = dump.arrays.get(key)
    if values is None:
        raise OracleError(f"{dump.path} has no array '{key}' (found {sorted(dump.arrays)})")
    expected = (len(dump.layers), len(rows), dump.tokens)
    if values.shape != expected:
        raise OracleError(f"{key}: expected shape {expected} [layer, output_token, input_token], found {values.shape}")
    if not np.isfinite(values).all():
        raise OracleError(f"{key}: holds values that are not finite")
    return values


def run(check, description, more_arguments=None):
    """The main program of an oracle. `check(arguments, dump)` returns (summary, failures)."""
    parser = argparse.ArgumentParser(description=description)
    add_arguments(parser)
    if more_arguments is not None:
        more_arguments(parser)
    arguments = parser.parse_args()
    try:
        dump = load(arguments)
        summary, failures = check(arguments, dump)
    except OracleError as error:
        print(f"cannot check: {error}", file=sys.stderr)
        return 2
    for failure in failures[:20]:
        print(f"  {failure}")
    if len(failures) > 20:
        print(f"  ... and {len(failures) - 20} more")
    print(f"{'ok' if not failures else 'FAILED'}: {summary}; {len(failures)} disagreements")
    return 0 if not failures else 1
