"""Checks that a file written by the program is complete and holds numbers."""

import base64
import csv
import io
import json
import zipfile
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np


class NotWhole(Exception):
    pass


TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "u8": np.uint8}


def no_constant(word: str):
    raise NotWhole(f"the JSON holds {word}")


def finite(values: np.ndarray, what: str) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise NotWhole(f"{what} holds a value that is not finite")


def decode(entry: dict) -> np.ndarray:
    """An array of a report document that is stored completely (docs/report-format.md)."""
    data = base64.b64decode(entry["data"], validate=True)
    if entry["encoding"] == "zlib+base64":
        data = zlib.decompress(data)
    elif entry["encoding"] != "base64":
        raise NotWhole(f"the encoding {entry['encoding']!r} is none that a command writes")
    return np.frombuffer(data, TYPES[entry["dtype"]]).reshape(entry["shape"])


def check_json(text: bytes) -> dict:
    document = json.loads(text.decode(), parse_constant=no_constant)
    if document.get("format") == "attnflow-report":
        for name, entry in document["arrays"].items():
            finite(decode(entry), name)
    return document


def check_npz(content: bytes) -> None:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        for name in arrays.files:
            finite(arrays[name], name)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if archive.testzip() is not None:
            raise NotWhole("an entry of the zip file is damaged")


def check_safetensors(content: bytes) -> None:
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    end = 0
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, stop = entry["data_offsets"]
        end = max(end, stop)
        kind = {"F64": np.float64, "F32": np.float32}.get(entry["dtype"])
        if kind is not None:
            finite(np.frombuffer(data[begin:stop], kind), name)
    if end != len(data):
        raise NotWhole(f"expected {end} bytes of data, found {len(data)}")


def check_csv(content: bytes) -> None:
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise NotWhole("the rows of the CSV file differ in length, or there are none")
    # Texts may contain anything; columns of numbers have other names.
    numbers = [i for i, name in enumerate(rows[0]) if not name.endswith("text") and "token" not in name]
    for row in rows[1:]:
        for i in numbers:
            if row[i].lower() in ("nan", "-nan", "inf", "-inf"):
                raise NotWhole(f"{rows[0][i]} holds {row[i]}")


def check_svg(content: bytes) -> None:
    root = ElementTree.fromstring(content)
    for element in root.iter():
        for name, value in element.attrib.items():
            if name in ("x", "y", "width", "height", "d", "points", "r", "cx", "cy", "transform") and (
                "nan" in value or "inf" in value
            ):
                raise NotWhole(f"{element.tag} has {name}={value[:80]!r}")


def check_start_and_end(start: bytes, end: bytes):
    def check(content: bytes) -> None:
        if not content.startswith(start) or end not in content[-64:]:
            raise NotWhole(f"begins with {content[:8]!r} and ends with {content[-16:]!r}")

    return check


def check_text(content: bytes) -> None:
    if not content.decode().strip():
        raise NotWhole("is empty")


CHECKS = {
    ".json": check_json,
    ".npz": check_npz,
    ".safetensors": check_safetensors,
    ".csv": check_csv,
    ".svg": check_svg,
    ".png": check_start_and_end(b"\x89PNG\r\n\x1a\n", b"IEND"),
    ".pdf": check_start_and_end(b"%PDF-", b"%%EOF"),
    ".html": check_start_and_end(b"<!doctype html>", b"</html>"),
    ".md": check_text,
    ".txt": check_text,
}


def check_file(path: Path) -> None:
    """Raises NotWhole, or whatever a reader of that kind of file raises."""
    if not path.is_file():
        raise NotWhole(f"{path.name} was not written")
    try:
        CHECKS[path.suffix](path.read_bytes())
    except Exception as error:
        raise NotWhole(f"{path.name}: {type(error).__name__}: {error}") from error
