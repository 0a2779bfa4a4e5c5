"""Inputs as callers give them: a text, two as a pair, or token ids as tokenizers return them.

A list holds several. Other iterables are refused by name: a mapping's keys or the letters of a text are no texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import IOBase
from os import PathLike
from typing import Any

from attnflow.errors import Error
from attnflow.wrapped import kinds_of


@dataclass
class Given:
    """One input: a text, perhaps with a second one, or token ids without padding."""

    text: str = ""
    pair: str | None = None
    ids: list[int] | None = None
    types: list[int] | None = None  # token_type_ids
    target: list[int] | None = None  # decoder_input_ids
    names: list[str] | None = None  # of the ids, if the caller has names


# Keys of an encoding that are read, and keys that tokenizers and data sets add but no model uses.
_READ = ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids")
_BESIDE = (
    "labels",
    "length",
    "special_tokens_mask",
    "offset_mapping",
    "overflow_to_sample_mapping",
    "num_truncated_tokens",
)

# Types of tables and data sets, and the expression to pass instead of each.
_TABLES = {
    "pandas.DataFrame": 'table["text"].tolist()',
    "pandas.Series": 'a column as series.tolist(), a row as row["text"]',
    "polars.DataFrame": 'table["text"].to_list()',
    "polars.Series": "series.to_list()",
    "pyarrow.Table": 'table["text"].to_pylist()',
    "pyarrow.ChunkedArray": "array.to_pylist()",
    "pyarrow.Array": "array.to_pylist()",
    "datasets.Dataset": 'list(dataset["text"]), or the data set to attnflow.data.explain()',
    "datasets.IterableDataset": "the data set to attnflow.data.explain()",
    "datasets.DatasetDict": 'list(dataset["train"]["text"]), or one split to attnflow.data.explain()',
    "datasets.IterableDatasetDict": "one split to attnflow.data.explain()",
    "torch.DataLoader": "its batches one by one",
}


def inputs_of(given: Any, tokenizer: Any, model: Any = None, name: str = "text") -> tuple[list[Given], bool]:
    """The inputs, and whether one was given rather than a list of them."""
    one = _one(given, tokenizer, model, name)
    if one is not None:
        return one, len(one) == 1
    _refuse_other(given, name)
    if not isinstance(given, Iterable) or isinstance(given, set | frozenset | IOBase):
        advice = (
            "; pass its read()" if isinstance(given, IOBase) else "; pass a list" if isinstance(given, Iterable) else ""
        )
        raise _refused(name, given, advice)
    found: list[Given] = []
    for number, item in enumerate(given):
        part = _one(item, tokenizer, model, f"{name}[{number}]")
        if part is None or len(part) != 1:
            _refuse_other(item, f"{name}[{number}]")
            words = isinstance(item, list) and item and all(isinstance(word, str) for word in item)
            advice = '; join words by " ".join(words), and pass a pair of texts as a tuple' if words else ""
            raise _refused(f"{name}[{number}]", item, advice)
        found += part
    return found, False


def given_once(
    text: Any, inputs: Any, tokens: Any, tokenizer: Any, model: Any, name: str = "text", tokens_name: str = "tokens"
) -> tuple[list[Given], bool]:
    """Texts or finished inputs, whichever was given, the latter perhaps with names of their tokens."""
    if (text is None) == (inputs is None):
        found = "neither" if text is None else "both"
        raise Error(f"expected {name} or inputs, found {found}")
    if inputs is None:
        if tokens is not None:
            raise Error(f"{tokens_name}: expected inputs, whose tokens these name, found {name}; omit {tokens_name}")
        return inputs_of(text, tokenizer, model, name)
    given, is_one = inputs_of(inputs, tokenizer, model, "inputs")
    if any(one.ids is None for one in given):
        raise Error(f"inputs: expected what a tokenizer or processor returned, found a text; pass it as {name}")
    if tokens is not None:
        listed = [tokens] if is_one else tokens
        if isinstance(listed, str) or len(listed) != len(given):
            raise Error(f"{tokens_name}: expected a list for each of the {len(given)} inputs, found {_found(tokens)}")
        for number, (one, names) in enumerate(zip(given, listed, strict=True)):
            one.names = _names(one, names, tokens_name if is_one else f"{tokens_name}[{number}]")
    return given, is_one


def _found(value: Any) -> str:
    return f"{len(value)}" if isinstance(value, list | tuple) else type(value).__name__


def _names(given: Given, names: Any, name: str) -> list[str]:
    if isinstance(names, str) or not all(isinstance(one, str) for one in names):
        raise Error(f"{name}: expected a list of texts, found {_found(names) if isinstance(names, str) else 'others'}")
    count = len(given.ids or ())
    if len(names) != count:
        raise Error(
            f"{name}: expected {count} names, one for each token of inputs (without padding), found {len(names)}"
        )
    return list(names)


def _refused(name: str, given: Any, advice: str) -> Error:
    return Error(
        f"{name}: expected a text, a tuple of two texts, token ids as the tokenizer returns them, or a list of these, found "
        f"{type(given).__name__}{advice}"
    )


def _refuse_other(given: Any, name: str) -> None:
    """Refuses iterables and text-like objects that are no texts."""
    advice = next((f"; pass {what}" for kind, what in _TABLES.items() if kind in kinds_of(given)), None)
    if advice is not None:
        pass
    elif isinstance(given, bytes | bytearray | memoryview):
        advice = "; pass bytes.decode()"
    elif isinstance(given, PathLike):
        advice = "; pass what is in the file: path.read_text()"
    elif isinstance(given, tuple) and all(isinstance(part, str) for part in given):
        advice = f" of {len(given)} texts, not two; pass a list of texts"
    elif isinstance(given, Mapping):
        texts = [key for key, value in given.items() if isinstance(value, str)]
        columns = ", ".join(map(repr, list(given)[:6])) or "none"
        advice = f" with {columns}, without input_ids" + (f"; pass row[{texts[0]!r}]" if texts else "")
        if "role" in given and "content" in given:
            advice = "; of a chat pass the text of the user's last turn (generate() has chat=True and system)"
    if advice is not None:
        raise _refused(name, given, advice)


def _one(given: Any, tokenizer: Any, model: Any, name: str) -> list[Given] | None:
    """One input, or a batch in one object; None for a list, and for anything else."""
    if isinstance(given, str):
        return [Given(str(given))]
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(part, str) for part in given):
        return [Given(str(given[0]), pair=str(given[1]))]
    if isinstance(given, Mapping) and "input_ids" in given:
        return _encoded(given, tokenizer, model, name)
    if "tokenizers.Encoding" in kinds_of(given):
        fields = {"input_ids": given.ids, "attention_mask": given.attention_mask, "token_type_ids": given.type_ids}
        return _encoded(fields, tokenizer, model, name)
    if hasattr(given, "dtype") and hasattr(given, "shape") and hasattr(given, "tolist"):
        return _array(given, tokenizer, model, name)
    if isinstance(given, list | tuple) and given and all(is_whole(item) for item in given):
        return _encoded({"input_ids": given}, tokenizer, model, name)
    return None


def is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and not getattr(value, "shape", ())


def _array(given: Any, tokenizer: Any, model: Any, name: str) -> list[Given] | None:
    """An array of whole numbers; one of texts is a list of them."""
    if any(kind in kinds_of(given) for kind in _TABLES):
        return None
    values = given.tolist()
    if not given.shape:
        if isinstance(values, str):
            return [Given(values)]
        raise _refused(name, given, f" of one {type(values).__name__}")
    flat = values
    while isinstance(flat, list) and flat and isinstance(flat[0], list):
        flat = flat[0]
    if flat and isinstance(flat[0], str) and len(given.shape) == 1:
        return None
    if flat and is_whole(flat[0]):
        return _encoded({"input_ids": values}, tokenizer, model, name)
    found = f" of {given.dtype}, {list(given.shape)}"
    raise _refused(
        name, given, f"{found}; attention goes to attnflow.attribute()" if "float" in str(given.dtype) else found
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_number(value: Any) -> bool:
    return is_whole(value) or isinstance(value, bool)


def _rows(field_name: str, value: Any, name: str) -> list[list[int]]:
    """[n] or [batch, n], of any array type, as lists."""
    values = value.tolist() if hasattr(value, "tolist") else value
    rows: list[Any] = (
        [row.tolist() if hasattr(row, "tolist") else row for row in values] if _is_list(values) else [None]
    )
    if all(map(_is_number, rows)):
        rows = [rows]
    if not all(_is_list(row) and all(map(_is_number, row)) for row in rows):
        raise Error(f"{name}: expected {field_name} as whole numbers, [token] or [input, token]")
    return [[int(item) for item in row] for row in rows]


def _encoded(given: Mapping[str, Any], tokenizer: Any, model: Any, name: str) -> list[Given]:
    """Token ids of one input or of a batch, without padding."""
    _refuse_further(given, model, name)
    fields = {key: _rows(key, given[key], name) for key in _READ if given.get(key) is not None}
    ids = fields["input_ids"]
    for key, rows in fields.items():
        same = key == "decoder_input_ids" or [len(row) for row in rows] == [len(row) for row in ids]
        if len(rows) != len(ids) or not same:
            raise Error(f"{name}: expected {key} of the shape of input_ids, found another")
    masks = fields.get("attention_mask")
    if masks is None and len(ids) > 1:
        _refuse_padding(ids, tokenizer, name)
    found = []
    for number, row in enumerate(ids):
        kept = slice(None) if masks is None else _unpadded(masks[number], name)
        types = fields.get("token_type_ids")
        target = fields.get("decoder_input_ids")
        found.append(
            Given(
                ids=row[kept],
                types=None if types is None else types[number][kept],
                target=None if target is None else target[number],
            )
        )
    return found


def _refuse_further(given: Mapping[str, Any], model: Any, name: str) -> None:
    """Refuses keys that the model would use and that are not read here."""
    from inspect import signature

    taken = {} if model is None else signature(model.forward).parameters
    for key in given:
        if key in taken and key not in (*_READ, *_BESIDE) and given[key] is not None:
            raise Error(
                f"{name}: expected {', '.join(_READ)} alone, found {key}, which the model reads as well; use capture(), "
                "which takes what the model takes, and attribute()"
            )


def _refuse_padding(ids: Sequence[Sequence[int]], tokenizer: Any, name: str) -> None:
    """Without a mask nothing says which tokens are padding."""
    padding = getattr(tokenizer, "pad_token_id", None)
    if padding is not None and any(row and padding in (row[0], row[-1]) for row in ids):
        raise Error(
            f"{name}: expected a batch with its attention_mask, which says what is padding, found token ids alone; pass the "
            "tokenizer's whole output"
        )


def _unpadded(mask: Sequence[int], name: str) -> slice:
    """The positions of the ones, which must be adjacent."""
    if set(mask) - {0, 1}:
        raise Error(f"{name}: expected attention_mask of zeros and ones, found {sorted(set(mask) - {0, 1})}")
    count = sum(mask)
    begin = list(mask).index(1) if count else 0
    if sum(mask[begin : begin + count]) != count:
        raise Error(
            f"{name}: expected attention_mask with its zeros before or behind the text, found some inside it; use capture(), "
            "which takes what the model takes, and attribute()"
        )
    return slice(begin, begin + count)
