"""Blocks of ggml's quantized types and the numbers that they represent, by the package `gguf`, which uses only NumPy.

Run by tools/golden/make, or on its own in its environment:

    .cache/golden/venv/bin/python tools/golden/quantised.py tests/golden/quantised
"""

import sys
from pathlib import Path

import gguf
import numpy as np
from golden_io import write_npz

NUMBERS = 512  # for each type: two of the largest blocks, sixteen of the smallest
LARGEST = 1e4
TYPES = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]
TYPES += ["TQ1_0", "TQ2_0", "MXFP4", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M"]
TYPES += ["IQ4_NL", "IQ4_XS"]


def block(random, kind, elements, size):
    """Random bytes; redrawn until the scales, some of which are floats, are not extreme."""
    while True:
        data = random.randint(0, 256, size, dtype=np.uint8)
        with np.errstate(over="ignore", invalid="ignore"):
            values = gguf.quants.dequantize(data.reshape(1, size), kind).astype(np.float32).reshape(elements)
        if np.all(np.isfinite(values)) and 1e-3 < np.abs(values).max() < LARGEST:
            return data, values


def generate(folder):
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.RandomState(6)
    arrays = {}
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = [block(random, kind, elements, size) for _ in range(NUMBERS // elements)]
        arrays[f"{int(kind)}_blocks"] = np.concatenate([data for data, _ in blocks])
        arrays[f"{int(kind)}_values"] = np.concatenate([values for _, values in blocks])
    write_npz(folder / "blocks.npz", arrays)


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
