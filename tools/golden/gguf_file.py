"""Writes GGUF files: version 3, little-endian, float32 tensors. The format is described in attnflow/files/gguf.h."""

import struct

import numpy as np

ALIGNMENT = 32
U16, U32, I32, F32, BOOL, TEXT, ARRAY = 2, 4, 5, 6, 7, 8, 9
FORMATS = {U16: "<H", U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}
FLOAT32 = 0  # among ggml's types


def _text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def _scalar(kind, value):
    return _text(value) if kind == TEXT else struct.pack(FORMATS[kind], value)


def _kind(value):
    if isinstance(value, np.uint16):
        return U16
    if isinstance(value, np.int32):
        return I32
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return U32 if value >= 0 else I32
    return F32 if isinstance(value, float) else TEXT


def _value(value):
    """Type and value of a metadata entry; a list's elements all have the type of the first, integers are signed."""
    if not isinstance(value, list):
        kind = _kind(value)
        return struct.pack("<I", kind) + _scalar(kind, value)
    kind = I32 if isinstance(value[0], int) and not isinstance(value[0], bool) else _kind(value[0])
    return struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(_scalar(kind, item) for item in value)


def write_gguf(path, metadata, tensors):
    """`metadata`: name -> int, float, bool, str, bytes or a list of them, or np.uint16 or np.int32. `tensors`: name -> array, converted to
    float32."""
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    header += b"".join(_text(key) + _value(value) for key, value in metadata.items())
    data = b""
    for name, array in tensors.items():
        values = np.ascontiguousarray(array, dtype="<f4")
        extents = values.shape[::-1]  # innermost first
        header += _text(name) + struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, FLOAT32, len(data))
        data += values.tobytes()
        data += bytes(-len(data) % ALIGNMENT)
    path.write_bytes(header + bytes(-len(header) % ALIGNMENT) + data)
