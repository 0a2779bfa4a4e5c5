"""Rollout and flow compared with the forward pass of a ViT-B/16: 12 layers, 12 heads, 197 tokens, random weights.

Goals: rollout of all pairs under 3% of the forward pass, flow from the class token to all patches under a second on two
cores. Attention of random weights is nearly uniform, which makes flow easy, so the query and key weights are scaled up
until a row's largest weight is about as large as in trained models; the program checks the answers (rows of rollout sum
to 1, rollout <= flow <= 1) each time.
"""

import json
import os
import struct
import tempfile
from pathlib import Path

import numpy as np
from measured import PROGRAM, machine, run_json, store

BENCHMARK = PROGRAM.parent / "attnflow_vision_benchmark"
RUNS = int(os.environ.get("ATTNFLOW_BENCH_RUNS", "5"))
HIDDEN, INSIDE, LAYERS = 768, 3072, 12
CONFIG = {
    "architectures": ["ViTForImageClassification"],
    "model_type": "vit",
    "hidden_size": HIDDEN,
    "intermediate_size": INSIDE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 12,
    "image_size": 224,
    "patch_size": 16,
    "num_channels": 3,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "qkv_bias": True,
    "id2label": {str(c): f"class {c}" for c in range(10)},
    "label2id": {f"class {c}": c for c in range(10)},
}


def tensors():
    """Names and values, one at a time."""
    random = np.random.default_rng(1)

    def normal(*shape, scale=0.02):
        return (random.standard_normal(shape) * scale).astype(np.float32)

    yield "vit.embeddings.cls_token", normal(1, 1, HIDDEN)
    yield "vit.embeddings.position_embeddings", normal(1, 197, HIDDEN)
    yield "vit.embeddings.patch_embeddings.projection.weight", normal(HIDDEN, 3, 16, 16)
    yield "vit.embeddings.patch_embeddings.projection.bias", np.zeros(HIDDEN, np.float32)
    for layer in range(LAYERS):
        name = f"vit.encoder.layer.{layer}."
        for part, scale in (("query", 0.08), ("key", 0.08), ("value", 0.02)):
            yield f"{name}attention.attention.{part}.weight", normal(HIDDEN, HIDDEN, scale=scale)
            yield f"{name}attention.attention.{part}.bias", np.zeros(HIDDEN, np.float32)
        for part, shape in (
            ("attention.output.dense", (HIDDEN, HIDDEN)),
            ("intermediate.dense", (INSIDE, HIDDEN)),
            ("output.dense", (HIDDEN, INSIDE)),
        ):
            yield f"{name}{part}.weight", normal(*shape)
            yield f"{name}{part}.bias", np.zeros(shape[0], np.float32)
        for part in ("layernorm_before", "layernorm_after"):
            yield f"{name}{part}.weight", np.ones(HIDDEN, np.float32)
            yield f"{name}{part}.bias", np.zeros(HIDDEN, np.float32)
    yield "vit.layernorm.weight", np.ones(HIDDEN, np.float32)
    yield "vit.layernorm.bias", np.zeros(HIDDEN, np.float32)
    yield "classifier.weight", normal(10, HIDDEN)
    yield "classifier.bias", np.zeros(10, np.float32)


def write_model(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(CONFIG))
    values = dict(tensors())
    header, offset = {}, 0
    for name, value in values.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in values.values():
            file.write(value.tobytes())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_model(Path(folder))
        found = {threads: run_json([str(BENCHMARK), folder, str(RUNS), str(threads)]) for threads in (1, 2)}
    print(f"ViT-B/16, random weights, {found[1]['layers']} layers, {found[1]['tokens']} tokens, {machine()}")
    print("| threads | forward | with attention kept | rollout, all pairs | of forward | flow, class token |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for threads, times in found.items():
        share = 100 * times["rollout"] / times["forward"]
        print(
            f"| {threads} | {1000 * times['forward']:.0f} ms | {1000 * times['forward_with_graph']:.0f} ms | "
            f"{1000 * times['rollout']:.1f} ms | {share:.1f}% | {1000 * times['flow']:.0f} ms |"
        )
    store("vision", {str(threads): times for threads, times in found.items()})


main()
