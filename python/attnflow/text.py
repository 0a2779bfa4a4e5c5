"""What a tokenizer and a model of transformers say of a text, in the terms of the report document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from attnflow.errors import Error

# Kind, position, logits, whether each class is a yes or no of its own, and what a number is called.
Said = tuple[str, int | None, Any, bool, Callable[[int], str]]

# A text, and where in it the tokens stand: begin, end, and the number of the piece that tokenizers split it into first.
GivenText = tuple[str, list[tuple[int, int, int] | None]]


def unicode_text(name: str, text: str) -> str:
    """The text, which must have an encoding: Python's may hold halves of surrogate pairs."""
    try:
        if isinstance(text, str):
            text.encode()
    except UnicodeEncodeError as error:
        raise Error(
            f"{name}: expected a text of Unicode characters, found half of a surrogate pair", kind="usage"
        ) from error
    return text


@dataclass
class Encoded:
    """A text as a model's tokens."""

    ids: list[int]
    tokens: list[str]
    special: list[bool]
    text: GivenText | None  # None where the tokenizer does not say where its tokens stand


def encode(
    tokenizer: Any, text: str, check: Callable[[Sequence[int]], None], name: str = "text", **how: Any
) -> Encoded:
    """The tokens of a text with the template around it.

    Fast tokenizers (of the library tokenizers) say where each token stands. Without that the tokens are shown one by one,
    as people read them, and they are in no words. check(ids) refuses what the model cannot take.
    """
    if not getattr(tokenizer, "is_fast", False):
        ids = list(_tokenized(tokenizer, {name: text} | how)["input_ids"])
        check(ids)
        flags = tokenizer.get_special_tokens_mask(ids, already_has_special_tokens=True)
        return Encoded(ids, [readable(tokenizer, token) for token in ids], [bool(flag) for flag in flags], None)
    encoding = _tokenized(tokenizer, {name: text, "return_offsets_mapping": True} | how)
    ids = list(encoding["input_ids"])
    check(ids)
    added = tokenizer.added_tokens_decoder
    places: list[tuple[int, int, int] | None] = []
    special: list[bool] = []
    before = 0
    rows = zip(ids, encoding["offset_mapping"], encoding.word_ids(), encoding.sequence_ids(), strict=True)
    for token, (begin, end), word, sequence in rows:
        if sequence is None:
            places.append(None)
            special.append(True)
            continue
        if begin == end:  # byte-level tokenizers trim a token of nothing but white space to nothing
            while begin > before and text[begin - 1].isspace():
                begin -= 1
        before = end
        places.append((begin, end, len(places) if word is None else word))
        # Written in the text as it is spelled: [UNK] in place of a word is none.
        known = added.get(token)
        special.append(known is not None and known.special and text[begin:end].strip() == known.content.strip())
    pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(ids)]
    return Encoded(ids, pieces, special, (text, places))


def _tokenized(tokenizer: Any, given: dict[str, Any]) -> Any:
    try:
        return tokenizer(**given)
    except (TypeError, ValueError) as error:
        raise Error(
            f"expected a text that {type(tokenizer).__name__} reads, found {type(error).__name__}: {error}",
            kind="bad_input",
        ) from error


def encode_target(model: Any, tokenizer: Any, text: str, check: Callable[[Sequence[int]], None]) -> Encoded:
    """What a decoder of an encoder-decoder is given of a text: its first token, then the text without its end, which may be
    several tokens (mBART's end and language).
    """
    start = getattr(model.config, "decoder_start_token_id", None)
    if start is None:
        start = getattr(getattr(model, "generation_config", None), "decoder_start_token_id", None)
    if start is None:
        raise Error(
            f"expected decoder_start_token_id in the configuration of {type(model).__name__}, found none", kind="usage"
        )
    first = Encoded([int(start)], [str(tokenizer.convert_ids_to_tokens(int(start)))], [True], None)
    check(first.ids)
    if text == "":
        return Encoded(first.ids, first.tokens, first.special, ("", [None]))
    rest = encode(tokenizer, text, check, "text_target")
    end = _end_of_text(tokenizer, text, rest)
    whole = Encoded(
        first.ids + rest.ids[:end],
        first.tokens + rest.tokens[:end],
        first.special + rest.special[:end],
        None if rest.text is None else (text, [None, *rest.text[1][:end]]),
    )
    check(whole.ids)
    return whole


def _end_of_text(tokenizer: Any, text: str, encoded: Encoded) -> int:
    """Behind the last token of the text itself: what follows the tokenizer has added. Special tokens that the text spells stay."""
    end = len(encoded.ids)
    if encoded.text is not None:
        while end > 0 and encoded.text[1][end - 1] is None:
            end -= 1
        return end
    alone = list(tokenizer(text_target=text, add_special_tokens=False)["input_ids"])
    for begin in range(len(encoded.ids) - len(alone) + 1):
        if encoded.ids[begin : begin + len(alone)] == alone:
            return begin + len(alone)
    while end > 0 and encoded.special[end - 1]:
        end -= 1
    return end


def require_words(tokenizer: Any) -> None:
    """For options that need to know which tokens form a word."""
    if not getattr(tokenizer, "is_fast", False):
        raise Error(
            "words: expected a tokenizer that says where its tokens stand in the text (is_fast), found "
            f"{type(tokenizer).__name__}; load it with AutoTokenizer.from_pretrained(name), or leave words out",
            kind="usage",
        )


def predictions(
    model: Any, tokenizer: Any, parts: Sequence[Encoded], output: Any, position: int | None = None
) -> list[Said]:
    """What the model said in this run, as far as its head says something that a report has.

    position: where a decoder's next token is wanted, if not at the end.
    """
    ids = parts[-1].ids
    before = sum(len(part.ids) for part in parts[:-1])  # tokens of the encoder
    kind = head_of(model)
    logits = getattr(output, "logits", None)
    if kind is None or logits is None:
        return []
    config = model.config
    if kind == "classification":
        if logits.dim() != 2 or config.problem_type == "regression":
            return []
        multi_label = config.problem_type == "multi_label_classification"
        return [(kind, None, numbers(logits[0]), multi_label, label_of(model))]
    if logits.dim() != 3 or logits.shape[1] != len(ids):
        return []
    if kind == "next":
        positions = [len(ids) - 1 if position is None else position]
    else:
        positions = mask_positions(tokenizer, ids)
    name = partial(readable, tokenizer)
    return [(kind, before + position, numbers(logits[0, position]), False, name) for position in positions]


def mask_positions(tokenizer: Any, ids: Sequence[int]) -> list[int]:
    mask = getattr(tokenizer, "mask_token_id", None)
    return [t for t, token in enumerate(ids) if token == mask]


def label_of(model: Any) -> Callable[[int], str]:
    """What the classes of a model are called, by their numbers."""
    names = model.config.id2label or {}
    return lambda label: str(names.get(label, f"LABEL_{label}"))


def word_to_ids(tokenizer: Any, word: str) -> list[int]:
    """The tokens of a word as it stands inside a sentence, behind a space."""
    if not word:
        return []
    whole = {"add_special_tokens": False}
    # Some tokenizers treat the start of a text as the start of a word and some do not, so a word is put before.
    if getattr(tokenizer, "is_fast", False):
        encoding = tokenizer(f"a {word}", return_offsets_mapping=True, **whole)
        places = list(zip(encoding["input_ids"], encoding["offset_mapping"], strict=True))
        if not any(begin < 1 < end for _, (begin, end) in places):
            return [int(token) for token, (begin, _) in places if begin >= 1]
    else:
        before, found = tokenizer("a", **whole)["input_ids"], tokenizer(f"a {word}", **whole)["input_ids"]
        if list(found[: len(before)]) == list(before):
            return [int(token) for token in found[len(before) :]]
    # Pieces reach across spaces: the word can only be had without something before it.
    return [int(token) for token in tokenizer(f" {word}", **whole)["input_ids"]]


def head_of(model: Any) -> str | None:
    """What the model predicts: classification, masked or next; None for heads that a report says nothing of."""
    from transformers.models.auto import modeling_auto

    names = {kind.__name__ for kind in type(model).__mro__}
    for said, table in (
        ("next", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"),
        ("classification", "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES"),
        ("masked", "MODEL_FOR_MASKED_LM_MAPPING_NAMES"),
        ("next", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
    ):
        known = getattr(modeling_auto, table, {}).values()
        flat = {name for entry in known for name in ([entry] if isinstance(entry, str) else entry)}
        if names & flat:
            return said
    return None


def numbers(logits: Any) -> Any:
    return logits.detach().float().cpu().contiguous().numpy()


def readable(tokenizer: Any, token: int) -> str:
    """A token as people read it: without the marks of spaces and bytes that some tokenizers use."""
    piece = tokenizer.convert_ids_to_tokens(int(token))
    if piece is None:  # vocabularies of models may be larger than those of their tokenizers
        return f"<id {token}>"
    if int(token) in getattr(tokenizer, "added_tokens_decoder", {}):
        return str(piece)
    # Behind itself: pieces that go on with a word ("##s") are not at the beginning of a text.
    alone: str = tokenizer.convert_tokens_to_string([piece])
    twice: str = tokenizer.convert_tokens_to_string([piece, piece])
    text = twice[len(alone) :] if twice.startswith(alone) else alone
    if len(text) > 1 and text.startswith(" "):
        text = text[1:]
    if text and "\ufffd" not in text:
        return text
    byte = _byte_of(str(piece))
    return str(piece) if byte is None else f"<0x{byte:02X}>"


def _byte_of(piece: str) -> int | None:
    """The byte that a character stands for where tokenizers write bytes as characters (GPT-2's table)."""
    if len(piece) != 1:
        return None
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    if ord(piece) in shown:
        return ord(piece)
    hidden = [byte for byte in range(256) if byte not in shown]
    place = ord(piece) - 256
    return hidden[place] if 0 <= place < len(hidden) else None


def is_special(tokenizer: Any, token: int) -> bool:
    known = getattr(tokenizer, "added_tokens_decoder", {}).get(int(token))
    return (known is not None and known.special) or int(token) in tokenizer.all_special_ids
