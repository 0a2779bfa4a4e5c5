"""The input of the oracles: the .npz written by `attnflow explain --keep-attention -o dump.npz`.

The matrices of the graph are recomputed in float64 from the raw attention (tools/reference), so that only the raw
attention is taken from the program under test.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tools"))
from reference.attention_graph import AttentionGraph
from reference.max_flow import SolverError


class OracleError(Exception):
    """The oracle cannot check: a wrong file or wrong settings. Never counts as a pass."""


@dataclass
class Dump:
    """Arrays by their names in the file, and the graph of the attention among them.

    layers         the l of the first dimension of raw, rollout and flow
    output_tokens  positions of the rows of raw and rollout; flow_output_tokens: of flow
    """

    path: str
    arrays: dict
    layers: list
    output_tokens: list
    flow_output_tokens: list
    graph: AttentionGraph

    @property
    def tokens(self):
        return self.graph.top.shape[-1]


def add_arguments(parser):
    parser.add_argument("dump", help=".npz written with --keep-attention")
    parser.add_argument("--residual", type=float, default=0.5, help="rho that the file was made with (%(default)s)")
    parser.add_argument("--heads", default="mean", help="mean, max, min or a head, as the file was made (%(default)s)")
    parser.add_argument("--start-layer", type=int, default=0, help="m that the file was made with (%(default)s)")


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
    layer_count, heads, n, _ = attention.shape
    if arguments.heads not in ("mean", "max", "min", *map(str, range(heads))):
        raise OracleError(f"--heads {arguments.heads}: expected mean, max, min or a head below {heads}")
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

    graph = AttentionGraph(attention, arguments.heads, arguments.residual, arguments.start_layer)
    return Dump(arguments.dump, arrays, layers, output_tokens, flow_output_tokens, graph)


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
    except (OracleError, SolverError) as error:
        print(f"cannot check: {error}", file=sys.stderr)
        return 2
    for failure in failures[:20]:
        print(f"  {failure}")
    if len(failures) > 20:
        print(f"  ... and {len(failures) - 20} more")
    print(f"{'ok' if not failures else 'FAILED'}: {summary}; {len(failures)} disagreements")
    return 0 if not failures else 1
