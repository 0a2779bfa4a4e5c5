#!/usr/bin/env python3
"""Valid inputs for a libFuzzer program to start from: seeds.py NAME_fuzz FOLDER.

They are made on demand from the project's own golden files and a fixed seed; the folder then holds nothing else. Exits
with status 1 for a fuzzer without seeds: it would start from nothing and get nowhere.
"""

import io
import json
import math
import shutil
import struct
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from random import Random

import numpy as np
from running import ROOT
from samples import npy_bytes, npz_bytes, safetensors_bytes, stack

# Larger inputs are no help: a fuzzer's run takes time proportional to its input.
LARGEST = 100_000


def stacks() -> list[np.ndarray]:
    return [stack(Random(seed), tokens=1 + seed % 4) for seed in range(8)]


def npy():
    yield from (npy_bytes(array) for array in stacks())
    for kind in (">f8", "<f2", "u1", "?", "<U3", "<i8"):
        yield npy_bytes(np.zeros((2, 3), kind))
    yield npy_bytes(np.asfortranarray(np.arange(6.0).reshape(2, 3)))


def npz():
    for compressed in (False, True):
        for array in stacks()[:4]:
            tokens = np.array(["a"] * array.shape[-1])
            yield npz_bytes({"attention.npy": npy_bytes(array)}, compressed)
            yield npz_bytes({"attention.npy": npy_bytes(array), "tokens.npy": npy_bytes(tokens)}, compressed)
    yield npz_bytes({"a.npy": npy_bytes(np.zeros(1, np.float32))}, False)
    yield npz_bytes({}, False)


def safetensors():
    for array in stacks():
        data = array.tobytes()
        kind = "F32" if array.dtype == np.float32 else "F64"
        header: dict = {"attention": {"dtype": kind, "shape": list(array.shape), "data_offsets": [0, len(data)]}}
        yield safetensors_bytes(header, data)
        yield safetensors_bytes({"__metadata__": {"a": "b"}} | header, data)


def pickled(kind: str, shape: tuple[int, ...], legacy: bool) -> bytes:
    """A state_dict of one tensor in storage "0", in the instructions of Python's pickle, protocol 2."""

    def text(word: str) -> bytes:
        return b"X" + struct.pack("<I", len(word)) + word.encode()

    def sizes(numbers: Iterable[int]) -> bytes:
        return b"(" + b"".join(b"J" + struct.pack("<i", one) for one in numbers) + b"t"

    empty = b"ccollections\nOrderedDict\n)R"
    storage = text("storage") + f"ctorch\n{kind}Storage\n".encode() + text("0") + text("cpu")
    storage = b"(" + storage + sizes([math.prod(shape)])[1:-1] + (b"N" if legacy else b"") + b"tQ"
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    tensor = storage + sizes([0])[1:-1] + sizes(shape) + sizes(strides) + b"\x89" + empty
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + tensor + b"tR"
    return b"\x80\x02" + empty + b"(" + text("layer.weight") + tensor + b"u."


def pytorch():
    for kind, size in (("Float", 4), ("Half", 2), ("BFloat16", 2), ("Double", 8), ("Long", 8)):
        for shape in ((6,), (2, 3), ()):
            count = math.prod(shape)
            data = bytes(count * size)
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr("archive/data.pkl", pickled(kind, shape, legacy=False))
                archive.writestr("archive/data/0", data)
                archive.writestr("archive/version", "3\n")
            yield file.getvalue()
            magic = b"\x80\x02\x8a\x0a" + (0x1950A86A20F9469CFC6C).to_bytes(10, "little") + b"."
            version = b"\x80\x02M\xe9\x03."
            system = b"\x80\x02}(X\x0d\x00\x00\x00little_endian\x88u."
            keys = b"\x80\x02](X\x01\x00\x00\x000e."
            yield magic + version + system + pickled(kind, shape, legacy=True) + keys + struct.pack("<q", count) + data


def files(*patterns: str):
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if path.stat().st_size <= LARGEST:
                yield path.read_bytes()


def report_json():
    """The documents shown in docs/report-format.md."""
    for block in (ROOT / "docs" / "report-format.md").read_text(encoding="utf-8").split("```json\n")[1:]:
        yield block.split("```")[0].encode()


def csv():
    yield b"text,label\nthe key,0\na key,1\n"
    yield b'prefix,good,bad,evidence\r\n"The ""author"", who",is,are,author\r\n'
    yield '\ufefftext\n"a\nb"\n\n'.encode()


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def sentencepiece_file():
    """Models as protocol buffers, each after a byte that selects the family whose folder they are put into."""

    def message(number: int, content: bytes) -> bytes:
        return varint(number << 3 | 2) + varint(len(content)) + content

    def number(field: int, value: int) -> bytes:
        return varint(field << 3) + varint(value)

    def piece(text: str, score: float, kind: int = 1) -> bytes:
        content = message(1, text.encode()) + b"\x15" + struct.pack("<f", score) + number(3, kind)
        return message(1, content)

    specials = (("<pad>", 3), ("</s>", 3), ("<unk>", 2)), (("<unk>", 2), ("<s>", 3), ("</s>", 3))
    for first in specials:
        for kind in (1, 2):
            model = b"".join(piece(text, 0, what) for text, what in first)
            model += b"".join(piece(text, -i) for i, text in enumerate(("▁", "▁the", "t", "h", "e", "th", "▁k", "1,")))
            model += message(2, number(3, kind))
            for normalizer in (b"", number(3, 0) + number(4, 0), message(2, bytes(4)) + number(5, 1)):
                yield from (bytes([family]) + model + message(3, normalizer) for family in range(9))
    tail = b"".join(piece(f"<0x{byte:02X}>", 0, 6) for byte in range(256)) + message(2, number(35, 1))
    yield bytes([7]) + piece("<unk>", 0, 2) + piece("a", -1) + piece("x", 0, 4) + tail


def image_processor():
    yield from files("tests/golden/vision/*/preprocessor_config.json", "models/*/preprocessor_config.json")
    crop = {"do_center_crop": True, "crop_size": {"height": 224, "width": 224}, "size": {"shortest_edge": 256}}
    plain = {"size": 224, "resample": 2, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    yield json.dumps({"image_processor_type": "BitImageProcessor", "do_resize": True, "resample": 3} | crop).encode()
    yield json.dumps({"feature_extractor_type": "ViTFeatureExtractor", "do_normalize": True} | plain).encode()
    yield json.dumps({"image_processor_type": "CLIPImageProcessor", "rescale_factor": 1 / 255} | crop).encode()


def option_fields():
    for document in (
        {"text": "The key", "method": ["raw", "rollout"], "layers": "1-4", "top_k": 3, "heads": "mean"},
        {"text": "a", "pair": "b", "residual": 0.25, "output_token": "cls", "mask_columns": [0, 5], "words": True},
        {"text": "a", "layers": [1, 2], "start_layer": 1, "normalize": "row", "discard": 0.5, "flow_tolerance": 1e-9},
        {"text": "a", "mixing": "gradient", "target": "is", "against": "are", "method": "raw,flow"},
    ):
        yield json.dumps(document).encode()


def http():
    body = b'{"text": "a"}'
    host = b"Host: 127.0.0.1:8080\r\n"
    json_type = b"Content-Type: application/json\r\n"
    yield b"GET /api/v1/models HTTP/1.1\r\n" + host + b"\r\n"
    yield b"GET / HTTP/1.0\r\nHost: localhost\r\nSec-Fetch-Site: none\r\n\r\n"
    yield b"POST /api/v1/explain HTTP/1.1\r\n" + host + json_type + b"Content-Length: 13\r\n\r\n" + body
    yield (
        b"POST /api/v1/explain HTTP/1.1\r\n"
        + host
        + json_type
        + b"Transfer-Encoding: chunked\r\n\r\nd\r\n"
        + body
        + b"\r\n0\r\n\r\n"
    )
    yield (
        b"POST /api/v1/image?method=rollout&residual=0.5%20 HTTP/1.1\r\nHost: example.org\r\nOrigin: http://example.org\r\n"
        b"Authorization: Bearer 0123456789abcdef\r\nContent-Type: image/png\r\nContent-Length: 0\r\n\r\n"
    )
    yield b"GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"


SEEDS = {
    "npy": npy,
    "npz": npz,
    "safetensors": safetensors,
    "pytorch": pytorch,
    "gguf": lambda: files("tests/golden/gguf/*.gguf"),
    "picture": lambda: files(
        "tests/golden/pictures/*.png", "tests/golden/pictures/*.jpg", "tests/golden/pictures/*.webp"
    ),
    "report_json": report_json,
    "sentencepiece_file": sentencepiece_file,
    "tokenizer": lambda: files("tests/golden/*/*/tokenizer.json"),
    "image_processor": image_processor,
    "model_config": lambda: files("tests/golden/*/*/config.json", "models/*/config.json"),
    "csv": csv,
    "option_fields": option_fields,
    "http": http,
}


def main(fuzzer: str, folder: Path) -> int:
    name = fuzzer.removesuffix("_fuzz")
    found = list(SEEDS[name]()) if name in SEEDS else []
    if not found:
        print(f"seeds: expected a fuzzer with seeds ({', '.join(SEEDS)}), found '{fuzzer}'", file=sys.stderr)
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, content in enumerate(found):
        (folder / f"{number:03}").write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
