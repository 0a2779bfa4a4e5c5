"""Reads TensorFlow checkpoints ("tensor bundles") with the standard library alone.

A bundle is an index and its shards. The index is a table in LevelDB's format whose keys are the tensors' names, sorted,
and whose values are protocol buffers (BundleEntryProto): number format, shape, shard, offset, size. The key "" holds
the header: number of shards and byte order. A shard is the concatenation of the tensors' bytes.

The table: blocks, each followed by a byte for its compression and by a masked CRC-32C of both; then a footer of 48
bytes with the handles of two blocks, the second of which indexes the blocks with the entries. Within a block a key is
stored without the prefix that it shares with the previous key.

Only what is needed is supported: uncompressed tables, one shard, float32, little-endian. Anything else, and anything
truncated or damaged, raises BundleError with what was expected and what was found. The index is verified by its own
checksums; those of the tensors are left to callers that have a checksum of the whole file, since a CRC-32C of 400 MB
takes minutes here.

Formats: github.com/google/leveldb/blob/main/doc/table_format.md,
github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/tensor_bundle.proto
"""

import array
import sys
from dataclasses import dataclass

MAGIC = 0xDB4775248B80FB57
FOOTER = 48
TRAILER = 5  # a block's compression type and checksum
MAX_INDEX = 64 << 20  # BERT's is 8 KB
MAX_DIMS = 16
FLOAT = 1
MASK_DELTA = 0xA282EAD8


class BundleError(Exception):
    pass


@dataclass(frozen=True)
class Entry:
    """A tensor's position in the shard: its bytes begin at `offset`, and there are `size` of them."""

    shape: tuple[int, ...]
    offset: int
    size: int


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def masked_crc(data):
    """CRC-32C, rotated and shifted as LevelDB stores it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + MASK_DELTA) & 0xFFFFFFFF


class _Bytes:
    """A bounds-checked reader of `data`."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def done(self):
        return self.at == len(self.data)

    def take(self, size):
        if size > len(self.data) - self.at:
            left = len(self.data) - self.at
            raise BundleError(f"{self.what}: expected {size} more bytes, found {left}; the file is cut off or damaged")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= 1 << 64:
                    break
                return value
        raise BundleError(f"{self.what}: expected a number of at most 64 bits, found a longer one; the file is damaged")


def _block(data, offset, size, what):
    """The entries of a block, as (key, value) pairs."""
    if offset + size + TRAILER > len(data) - FOOTER:
        raise BundleError(
            f"{what}: expected it inside the table's {len(data)} bytes, found it at {offset} with {size} bytes; the file "
            "is cut off or damaged"
        )
    end = offset + size
    if data[end] != 0:
        raise BundleError(f"{what}: expected an uncompressed block, found compression {data[end]}")
    stored, found = int.from_bytes(data[end + 1 : end + TRAILER], "little"), masked_crc(data[offset : end + 1])
    if stored != found:
        raise BundleError(f"{what}: expected checksum {stored:08x}, found {found:08x}; the file is damaged")
    block = data[offset:end]
    restarts = int.from_bytes(block[-4:], "little") if size >= 4 else 0
    if restarts == 0 or 4 * (restarts + 1) > size:
        raise BundleError(f"{what}: expected at least one restart point within {size} bytes, found {restarts}")
    reader = _Bytes(block[: size - 4 * (restarts + 1)], what)
    key, entries = b"", []
    while not reader.done():
        shared, rest, length = reader.varint(), reader.varint(), reader.varint()
        if shared > len(key):
            raise BundleError(f"{what}: expected a key that shares at most {len(key)} bytes, found {shared}")
        key = key[:shared] + reader.take(rest)
        entries.append((key, reader.take(length)))
    return entries


def table_entries(data, what="the index"):
    """All (key, value) pairs of a table, in increasing order of keys."""
    if len(data) < FOOTER:
        raise BundleError(f"{what}: expected a table of at least {FOOTER} bytes, found {len(data)}")
    footer = _Bytes(data[-FOOTER:], f"{what}, footer")
    if (magic := int.from_bytes(data[-8:], "little")) != MAGIC:
        raise BundleError(f"{what}: expected a LevelDB table, which ends with {MAGIC:x}, found {magic:x}")
    footer.varint(), footer.varint()  # the metaindex block, which is empty
    offset, size = footer.varint(), footer.varint()
    entries = []
    for number, (_, handle) in enumerate(_block(data, offset, size, f"{what}, block of blocks")):
        place = _Bytes(handle, f"{what}, place of block {number}")
        entries += _block(data, place.varint(), place.varint(), f"{what}, block {number}")
    for (before, _), (after, _) in zip(entries, entries[1:], strict=False):
        if before >= after:
            raise BundleError(f"{what}: expected increasing keys, found {after!r} behind {before!r}")
    return entries


def _fields(data, what):
    """The fields of a protocol buffer, as (number, value) pairs; a value is an int or bytes."""
    reader = _Bytes(data, what)
    while not reader.done():
        tag = reader.varint()
        kind = tag & 7
        if kind == 0:
            value = reader.varint()
        elif kind == 1:
            value = reader.number(8)
        elif kind == 2:
            value = reader.take(reader.varint())
        elif kind == 5:
            value = reader.number(4)
        else:
            raise BundleError(f"{what}: expected a field of kind 0, 1, 2 or 5, found {kind}; the file is damaged")
        yield tag >> 3, value


def _typed(value, wanted, what):
    if not isinstance(value, wanted):
        raise BundleError(f"{what}: expected a field that holds {wanted.__name__}, found {type(value).__name__}")
    return value


def _shape(data, what):
    dims = []
    for field, value in _fields(data, what):
        if field == 3 and value:
            raise BundleError(f"{what}: expected a shape, found one of unknown rank")
        if field != 2:
            continue
        # An absent size is 0, and negative ones are 64-bit numbers.
        size = 0
        for inner, number in _fields(_typed(value, bytes, what), what):
            size = _typed(number, int, what) if inner == 1 else size
        dims.append(size)
    if len(dims) > MAX_DIMS:
        raise BundleError(f"{what}: expected at most {MAX_DIMS} dimensions, found {len(dims)}")
    return tuple(dims)


def _entry(data, shard_size, what):
    dtype, shape, numbers = 0, (), {3: 0, 4: 0, 5: 0}
    for field, value in _fields(data, what):
        if field == 1:
            dtype = value
        elif field == 2:
            shape = _shape(_typed(value, bytes, what), what)
        elif field in numbers:
            numbers[field] = _typed(value, int, what)
        elif field == 7:
            raise BundleError(f"{what}: expected a whole tensor, found one stored in slices")
    if dtype != FLOAT:
        raise BundleError(f"{what}: expected float32 (number format {FLOAT}), found number format {dtype}")
    shard, offset, size = numbers[3], numbers[4], numbers[5]
    count = 1
    for extent in shape:
        count *= extent
    if shard != 0 or size != 4 * count or offset + size > shard_size:
        raise BundleError(
            f"{what}: expected {4 * count} bytes for shape {list(shape)} within the {shard_size} of one shard, found "
            f"{size} bytes at {offset} of shard {shard}; the files are cut off or do not belong together"
        )
    return Entry(shape, offset, size)


def read_index(data, shard_size):
    """The entries, by name, of the index `data`, whose single shard has `shard_size` bytes."""
    if len(data) > MAX_INDEX:
        raise BundleError(f"the index: expected at most {MAX_INDEX} bytes, found {len(data)}")
    entries = {}
    pairs = table_entries(data)
    if not pairs or pairs[0][0] != b"":
        raise BundleError("the index: expected a header, which has an empty key, found none")
    header = dict(_fields(pairs[0][1], "the index, header"))
    if header.get(1, 0) != 1 or header.get(2, 0) != 0:
        raise BundleError(
            f"the index: expected one shard of little-endian numbers, found {header.get(1, 0)} shards of byte order "
            f"{header.get(2, 0)}"
        )
    for key, value in pairs[1:]:
        try:
            name = key.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BundleError(f"the index: expected names in UTF-8, found {key!r}") from error
        entries[name] = _entry(value, shard_size, f"the index, tensor {name!r}")
    return entries


def read_tensor(shard, entry, transposed=False):
    """The bytes of a tensor, read from the seekable file `shard`; those of the transposed matrix on request."""
    shard.seek(entry.offset)
    data = shard.read(entry.size)
    if len(data) != entry.size:
        raise BundleError(f"expected {entry.size} bytes at {entry.offset}, found {len(data)}; the shard is cut off")
    if not transposed:
        return data
    if len(entry.shape) != 2:
        raise BundleError(f"expected a matrix to transpose, found shape {list(entry.shape)}")
    numbers, columns = array.array("I", data), entry.shape[1]
    if numbers.itemsize != 4 or sys.byteorder != "little":
        raise BundleError("expected a little-endian machine with ints of 4 bytes; found another")
    out = array.array("I")
    for column in range(columns):
        out.extend(numbers[column::columns])
    return out.tobytes()
