"""A model's attention some rows at a time, with heads fused at once: memory never holds all heads and rows.

Only for reference functions made of known statements, in which each query's weights and output depend on it alone.
"""

from __future__ import annotations

import ast
import inspect
import math
import mmap
import re
import textwrap
from functools import cache
from typing import Any

from attnflow import _core
from attnflow.arrays import as_array

# The statements of eager_attention_forward in nine of ten files of transformers 5.24.
_OF_ONE_ROW = frozenset(
    """
if scaling is None: scaling = query.size(-1) ** (-0.5)
key_states = key
value_states = value
key_states = repeat_kv(key, module.num_key_value_groups)
value_states = repeat_kv(value, module.num_key_value_groups)
attn_weights = torch.matmul(query, key.transpose(2, 3)) * scaling
attn_weights = torch.matmul(query, key.transpose(-1, -2)) * scaling
attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling
if attention_mask is not None: attn_weights = attn_weights + attention_mask
attn_weights = nn.functional.softmax(attn_weights, dim=-1)
attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
attn_weights = attn_weights.type(value.dtype)
attn_weights = nn.functional.dropout(attn_weights, p=dropout, training=module.training)
attn_output = torch.matmul(attn_weights, value)
attn_output = torch.matmul(attn_weights, value_states)
""".strip().splitlines()
)
# Its last two, after which rows are the second dimension of the output.
_ENDS = (
    ["attn_output = attn_output.transpose(1, 2)", "return (attn_output, attn_weights)"],
    ["attn_output = attn_output.transpose(1, 2).contiguous()", "return (attn_output, attn_weights)"],
)
_ROWS = 64  # at most, of what is computed at once
_WHOLE = 255  # tokens, up to which there is nothing to save


@cache
def _is_of_rows(reference: Any) -> bool:
    """Whether a reference function's rows may be computed separately."""
    try:
        file = ast.parse(textwrap.dedent(inspect.getsource(reference))).body
    except (OSError, TypeError, SyntaxError):
        return False
    if len(file) != 1 or not isinstance(file[0], ast.FunctionDef) or file[0].decorator_list:
        return False
    body = file[0].body[1:] if ast.get_docstring(file[0]) is not None else file[0].body
    statements = [re.sub(r"\s+", " ", ast.unparse(one)) for one in body]
    return statements[-2:] in _ENDS and all(one in _OF_ONE_ROW for one in statements[:-2])


def blocks_of(reference: Any, query: Any, mask: Any) -> list[slice]:
    """The rows to compute at once: empty if all are needed together, or if they are few."""
    import torch

    n = query.shape[2] if query.dim() == 4 else 0
    if n <= _WHOLE or len(query) == 0 or query.dtype not in (torch.float32, torch.float64):
        return []
    if mask is not None and (mask.dim() != 4 or mask.shape[2] not in (1, n)):
        return []
    if not _is_of_rows(reference):
        return []
    # Nearly one size: kernels for matrices of a few rows round differently.
    count = -(-n // _ROWS)
    return [slice(part * n // count, (part + 1) * n // count) for part in range(count)]


def _kept(shape: tuple[int, ...]) -> Any:
    """Zeros, float64, outside the heap, where long-lived arrays would leave gaps too small for a pass's next tensors."""
    import numpy as np

    memory = mmap.mmap(-1, 8 * math.prod(shape), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, dtype=np.float64).reshape(shape)


def fuse_by_rows(heads: str, reference: Any, blocks: list[slice], inputs: Any, options: Any) -> tuple[Any, Any]:
    """A reference function's output and fused weights, float64 [batch, 1, query, key]; inputs: module, q, k, v, mask."""
    import torch

    module, query, key, value, mask = inputs
    outputs = []
    fused = _kept((len(query), 1, query.shape[2], key.shape[2]))
    for rows in blocks:
        its_mask = mask if mask is None or mask.shape[2] == 1 else mask[:, :, rows]
        output, weights = reference(module, query[:, :, rows], key, value, its_mask, **options)
        outputs.append(output)
        for index, one in enumerate(weights):
            fused[index, 0, rows] = _core.fuse_heads([as_array(one)], heads, rows.start)
        del weights
    return torch.cat(outputs, dim=1), torch.from_numpy(fused)
