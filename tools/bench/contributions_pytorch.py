"""Contributions as they are usually written: PyTorch, all n^2 vectors of a layer at once.

    python3 contributions_pytorch.py [LAYERS HIDDEN HEADS KEY_HEADS WIDTH TOKENS [THREADS]]

Prints the seconds of all layers of a model for norm and ALTI, the median of three runs, on random terms of the same
shapes as graph_benchmark (attnflow/graph/contribution_mixing_benchmark.cc). Needs torch.
"""

import statistics
import sys
import time

import torch


def transformed_vectors(attention, values, projection, residual):
    """T_ij + d_ij x_i, [query, key, hidden]."""
    per_head = torch.einsum("jhw,hwd->hjd", values, projection)
    vectors = torch.einsum("hij,hjd->ijd", attention, per_head)
    index = torch.arange(len(residual))
    vectors[index, index] += residual
    return vectors


def norm(vectors, output):
    rows = vectors.norm(dim=-1)
    return rows / rows.sum(-1, keepdim=True)


def alti(vectors, output):
    distances = (output[:, None, :] - vectors).abs().sum(-1)
    rows = (output.abs().sum(-1, keepdim=True) - distances).clamp(min=0)
    return rows / rows.sum(-1, keepdim=True)


def main():
    shape = [30, 576, 9, 3, 64, 512]
    arguments = [int(a) for a in sys.argv[1:]]
    shape[: len(arguments[:6])] = arguments[:6]
    if len(arguments) > 6:
        torch.set_num_threads(arguments[6])
    layers, hidden, heads, key_heads, width, tokens = shape
    torch.manual_seed(1)
    mask = torch.full((tokens, tokens), float("-inf")).triu(1)
    attention = (2 * torch.randn(heads, tokens, tokens) + mask).softmax(-1)
    values = torch.randn(tokens, key_heads, width).repeat_interleave(heads // key_heads, dim=1)
    projection = 0.05 * torch.randn(heads, width, hidden)
    residual, output = torch.randn(tokens, hidden), torch.randn(tokens, hidden)
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    with torch.inference_mode():
        for method in (norm, alti):
            seconds, processors = [], []
            for _ in range(3):
                start, processor_start = time.perf_counter(), time.process_time()
                for _ in range(layers):
                    method(transformed_vectors(attention, values, projection, residual), output)
                seconds.append(time.perf_counter() - start)
                processors.append(time.process_time() - processor_start)
            wall, cpu = statistics.median(seconds), statistics.median(processors)
            print(f"{method.__name__:<5} {wall:.3f} s, {cpu:.3f} s of processors")


if __name__ == "__main__":
    main()
