"""Small valid inputs that the campaigns start from, drawn from a given generator."""

import io
import json
import struct
import zipfile
from random import Random

import numpy as np
from running import GOLDEN, ROOT

ENCODERS = sorted(path.parent for path in (GOLDEN / "models").glob("*/config.json"))
CLASSIFIER = GOLDEN / "models" / "bert_classification"
MASKED = GOLDEN / "models" / "bert_masked_lm"
DECODERS = sorted(path.parent for path in (GOLDEN / "decoders").glob("*/config.json"))
DECODER = GOLDEN / "decoders" / "llama_grouped"
VISION = sorted(path.parent for path in (GOLDEN / "vision").glob("*/config.json"))
GGUF = sorted((GOLDEN / "gguf").glob("*.gguf"))
LLAMA = GOLDEN / "gguf" / "llama.gguf"
AGREEMENT = ROOT / "models" / "agreement"
FASHION = ROOT / "models" / "fashion"
PICTURES = sorted(
    path for path in (GOLDEN / "pictures").iterdir() if path.suffix in (".png", ".jpg", ".webp")
)  # fmt: skip
DRAWN = (".html", ".svg", ".pdf", ".png")
STORED = (".json", ".csv", ".npz", ".safetensors", ".md", ".txt")
ENDINGS = DRAWN + STORED


def numbers_of(random: Random) -> np.random.Generator:
    return np.random.default_rng(random.randrange(2**63))


def stack(random: Random, layers: int = 0, heads: int = 0, tokens: int = 0) -> np.ndarray:
    """Attention [layer, head, query, key] of some kind: soft, sharp, causal, with ties and with zeros."""
    numbers = numbers_of(random)
    shape = (layers or random.randint(1, 4), heads or random.randint(1, 3), tokens or random.randint(1, 7))
    shape = (*shape, shape[-1])
    kind = random.choice(("soft", "sharp", "causal", "ties", "one-hot", "sparse", "uniform"))
    scores = numbers.normal(0.0, {"sharp": 12.0, "uniform": 0.0}.get(kind, 2.0), shape)
    if kind == "causal":
        scores = np.where(np.tri(shape[2], dtype=bool), scores, -np.inf)
    elif kind == "ties":
        scores = np.round(scores)
    elif kind == "sparse":
        keep = numbers.random(shape) < 0.5
        keep[..., 0] = True
        scores = np.where(keep, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if kind == "one-hot":
        weights = np.eye(shape[2])[numbers.integers(0, shape[2], shape[:3])]
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights.astype(random.choice((np.float32, np.float32, np.float64)))


def npy_bytes(array: np.ndarray) -> bytes:
    target = io.BytesIO()
    np.save(target, array, allow_pickle=False)
    return target.getvalue()


def npz_bytes(entries: dict[str, bytes], compressed: bool) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return target.getvalue()


def safetensors_bytes(header: dict | bytes, data: bytes, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", (len(text) if length is None else length) % 2**64) + text + data


def split_safetensors(content: bytes) -> tuple[dict, bytes]:
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]
