"""Writes golden files: same values, same bytes."""

import io
import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))  # for tools/reference


def write_npz(path, arrays):
    """numpy.savez_compressed with a fixed time stamp and a fixed order."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, buffer.getvalue(), compresslevel=9)


def _dump(value, depth):
    """JSON with one key per line and lists of numbers on one line: short, with readable diffs."""
    indent = "  " * depth
    if isinstance(value, dict) and value and depth < 5:
        lines = [f"{indent}  {json.dumps(key)}: {_dump(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0]:
        return "[\n" + ",\n".join(f"{indent}  {_dump(item, depth + 1)}" for item in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)


def write_json(path, value):
    path.write_text(_dump(value, 0) + "\n", encoding="utf-8")


def replace_folder(folder, generate):
    """Replaces a folder by the result of generate(folder), once that has succeeded."""
    with tempfile.TemporaryDirectory(prefix=".new.", dir=folder.parent) as scratch:
        made = Path(scratch) / folder.name
        generate(made)
        for path in made.iterdir():
            path.chmod(0o644)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    print(f"golden: wrote {sum(1 for _ in folder.iterdir())} files to {folder}")


def softmax(logits):
    """float64 softmax over the last dimension."""
    shifted = logits.astype(np.float64)
    shifted = shifted - shifted.max(axis=-1, keepdims=True)
    weights = np.exp(shifted)
    return weights / weights.sum(axis=-1, keepdims=True)


def _byte_range(text, begin, end):
    return [len(text[:begin].encode()), len(text[:end].encode())]


def describe(name, backend, text, pair=None):
    """A case as README.md describes it, from a tokenizers.Tokenizer and the text(s)."""
    encoding = backend.encode(text, pair)
    texts = (text, pair)
    specials = {index: token.content for index, token in backend.get_added_tokens_decoder().items() if token.special}
    segments = encoding.sequence_ids
    if not specials:
        raise AssertionError("a tokenizer without special tokens")
    chars = [None if s is None else list(o) for o, s in zip(encoding.offsets, segments, strict=True)]
    return {
        "name": name,
        "text": text,
        "pair": pair,
        "n": len(encoding.ids),
        "ids": encoding.ids,
        "type_ids": encoding.type_ids,
        # Not encoding.tokens, which spells a mask with the space that it absorbed, and an unknown piece as in the text.
        "tokens": [backend.id_to_token(index) for index in encoding.ids],
        # A word missing from the vocabulary is [UNK] but represents the user's text: it is not special.
        "special": [
            int(o is None or (i in specials and texts[s][slice(*o)].strip() == specials[i]))
            for i, o, s in zip(encoding.ids, chars, segments, strict=True)
        ],
        "template": encoding.special_tokens_mask,
        "segment": segments,
        "word_ids": encoding.word_ids,
        "offsets_bytes": [
            None if o is None else _byte_range(texts[s], *o) for o, s in zip(chars, segments, strict=True)
        ],
        "offsets_chars": chars,
    }


def cut_to(backend, text, n):
    """The longest beginning of `text` that gives exactly n tokens."""
    for end in range(len(text), 0, -1):
        part = text[:end]
        if not part[-1].isspace() and len(backend.encode(part).ids) == n:
            return part
    raise AssertionError(f"no beginning of the text gives {n} tokens")


def mask_predictions(backend, logits, positions, ids):
    """Top 10 at every mask; `logits` [P, vocabulary] belong to `positions`."""
    mask = next(backend.token_to_id(piece) for piece in ("[MASK]", "<mask>") if backend.token_to_id(piece) is not None)
    found = []
    for row, position in enumerate(positions):
        if ids[position] != mask:
            continue
        probabilities = softmax(logits[row])
        order = np.argsort(-probabilities, kind="stable")[:10]
        top = [
            {"id": int(i), "token": backend.id_to_token(int(i)), "probability": float(probabilities[i])} for i in order
        ]
        found.append({"position": int(position), "top": top})
    return found
