"""A text as a transformers tokenizer and model see it, in the terms of the report document."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from attnflow.errors import Error, bad_input

# A text, and the tokens' places in it: begin, end, and the number of the piece that tokenizers first split it into.
GivenText = tuple[str, list[tuple[int, int, int] | None]]


def unicode_text(name: str, text: str, kind: str = "usage") -> str:
    """The text, which must have an encoding: Python's may hold halves of surrogate pairs."""
    try:
        if isinstance(text, str):
            text.encode()
    except UnicodeEncodeError as error:
        where = f"half of a surrogate pair at {error.start}"
        raise Error(f"{name}: expected a text of Unicode characters, found {where}", kind=kind) from error
    return text


@dataclass
class Encoded:
    """A text as a model's tokens."""

    ids: list[int]
    tokens: list[str]
    special: list[bool]
    # One or two texts; none if the tokenizer does not give its tokens' places.
    texts: list[GivenText] = field(default_factory=list)
    types: list[int] | None = None  # token_type_ids, where the tokenizer makes them


def encode(tokenizer: Any, text: str, name: str = "text", pair: str | None = None, **how: Any) -> Encoded:
    """The tokens of a text, or of a pair of texts, with the template around it.

    Only fast tokenizers (of the library tokenizers) give places. Otherwise tokens are in readable form and in no words.
    """
    given = {name: text} | ({} if pair is None else {"text_pair": pair}) | how
    is_fast = getattr(tokenizer, "is_fast", False)
    encoding = _tokenized(tokenizer, given | ({"return_offsets_mapping": True} if is_fast else {}))
    ids = list(encoding["input_ids"])
    if not is_fast:
        flags = tokenizer.get_special_tokens_mask(ids, already_has_special_tokens=True)
        tokens = [spelled(tokenizer, token) for token in ids]
        return Encoded(ids, tokens, [bool(flag) for flag in flags], types=_types(encoding))
    added = tokenizer.added_tokens_decoder
    places: list[tuple[int, int, int] | None] = []
    special: list[bool] = []
    first, before = text, 0
    second: int | None = None  # where the pair's first token is
    rows = zip(ids, encoding["offset_mapping"], encoding.word_ids(), encoding.sequence_ids(), strict=True)
    for token, (begin, end), word, sequence in rows:
        if sequence == 1 and second is None and pair is not None:
            second, before, text = len(places), 0, pair
        if sequence is None:
            places.append(None)
            special.append(True)
            continue
        if begin == end:  # byte-level tokenizers trim a token of nothing but white space to nothing
            while begin > before and text[begin - 1].isspace():
                begin -= 1
        before = end
        places.append((begin, end, len(places) if word is None else word))
        # Spelled out in the text, unlike [UNK] in place of a word.
        known = added.get(token)
        special.append(known is not None and known.special and text[begin:end].strip() == known.content.strip())
    pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(ids)]
    second = len(places) if second is None else second
    texts = [(first, places[:second]), *([] if pair is None else [(pair, places[second:])])]
    return Encoded(ids, pieces, special, texts, _types(encoding))


def _types(encoding: Any) -> list[int] | None:
    found = encoding.get("token_type_ids")
    return None if found is None else list(found)


def encode_ids(tokenizer: Any, ids: Sequence[int], types: Sequence[int] | None) -> Encoded:
    """Token ids with the one or two texts that they decode to, or, if that text has other tokens, each token's text."""
    ids = list(ids)
    ways: tuple[dict[str, Any], ...] = ({}, {"add_special_tokens": False})
    for texts in _decoded(tokenizer, ids):
        for how in ways:
            try:
                found = encode(tokenizer, texts[0], pair=texts[1], **how)
            except Error:
                continue
            if found.ids == ids:
                found.types = None if types is None else list(types)  # as the model would be given them
                return found
    special = [is_special(tokenizer, token) for token in ids]
    tokens = [spelled(tokenizer, token) for token in ids]
    places: list[tuple[int, int, int] | None] = []
    text = ""
    for at, token in enumerate(ids):
        begin = len(text)
        if special[at]:
            places.append(None)
            continue
        so_far = tokenizer.decode([one for one, other in zip(ids[: at + 1], special, strict=False) if not other])
        # A cut character becomes U+FFFD in the text; the report then shows the token's bytes.
        is_cut = _cut_bytes(tokenizer, token) is not None
        text = so_far if so_far.startswith(text) else text + ("\ufffd" if is_cut else readable(tokenizer, token))
        places.append((begin, len(text), at))
    return Encoded(ids, tokens, special, [(text, places)], None if types is None else list(types))


def named_text(names: Sequence[str]) -> GivenText:
    """A text in which tokens have these names. The tokens stay what the tokenizer calls them, which says what a mask is."""
    text = ""
    places: list[tuple[int, int, int] | None] = []
    for number, name in enumerate(names):
        begin = len(text) + (number > 0)
        text += name if number == 0 else f" {name}"
        places.append((begin, len(text), number))
    return text, places


def _decoded(tokenizer: Any, ids: Sequence[int]) -> list[tuple[str, str | None]]:
    """Candidates for the texts: without a template's special tokens at the ends, cut at special tokens, and whole."""
    special = [is_special(tokenizer, token) for token in ids]
    read = partial(tokenizer.decode, clean_up_tokenization_spaces=False)
    found: list[tuple[str, str | None]] = []
    for before, behind in ((1, 1), (1, 0), (0, 1), (0, 0)):
        begin, end = before, len(ids) - behind
        if begin >= end or not all(special[:begin]) or not all(special[end:]):
            continue
        at = begin
        while at < end:
            rest = next((place for place in range(at, end) if not special[place]), end)
            if begin < at < rest < end:
                found.append((read(ids[begin:at]), read(ids[rest:end])))
            at = rest + 1
        found.append((read(ids[begin:end]), None))
    return found


def _tokenized(tokenizer: Any, given: dict[str, Any]) -> Any:
    try:
        return tokenizer(**given)
    except (TypeError, ValueError) as error:
        raise bad_input(
            f"expected a text that {type(tokenizer).__name__} can encode, found {type(error).__name__}: {error}"
        ) from error


def encode_target(model: Any, tokenizer: Any, text: str) -> Encoded:
    """The decoder's input: its first tokens, then the text without its end, perhaps several tokens (mBART's).

    It begins as what the model generates does, unless the tokenizer puts the second of these tokens there.
    """
    first = target_begin(model)
    rest = Encoded([], [], [], [("", [])])
    end = 0
    if text:
        rest = encode(tokenizer, text, "text_target")
        end = _end_of_text(tokenizer, text, rest)
    if end > 0 and rest.special[0]:
        first = first[:1]
    return Encoded(
        first + rest.ids[:end],
        [str(tokenizer.convert_ids_to_tokens(token)) for token in first] + rest.tokens[:end],
        [True] * len(first) + rest.special[:end],
        [(text, [*(None for _ in first), *places[:end]]) for _, places in rest.texts],
    )


def target_begin(model: Any, further: Mapping[str, Any] | None = None) -> list[int]:
    """The tokens that whatever an encoder-decoder generates begins with; `further`: arguments of model.generate()."""
    names = ("decoder_start_token_id", "bos_token_id", "forced_bos_token_id")
    start, beginning, forced = (_setting(model, further or {}, name, model.config) for name in names)
    start = beginning if start is None else start  # as transformers does
    if start is None:
        raise Error(f"expected decoder_start_token_id in the configuration of {type(model).__name__}, found none")
    return [int(token) for token in (start, forced) if token is not None]


def never_written(model: Any, further: Mapping[str, Any]) -> list[int]:
    """The tokens that bad_words_ids names alone, which no generated text has; `further` as above.

    Tokens that end a text may be written all the same.
    """
    ends = ends_of(model, further)
    return [
        int(word[0])
        for word in _setting(model, further, "bad_words_ids", model.config) or ()
        if len(word) == 1 and word[0] not in ends
    ]


def ends_of(model: Any, further: Mapping[str, Any]) -> set[int]:
    """The tokens that end a text; `further` as above."""
    found = _setting(model, further, "eos_token_id")
    return set() if found is None else {int(token) for token in (found if isinstance(found, list) else [found])}


def _setting(model: Any, further: Mapping[str, Any], name: str, *more: Any) -> Any:
    """A setting of generation: of its arguments, else of a configuration among them, the model's own, or `more`."""
    configs = (
        SimpleNamespace(**further),
        further.get("generation_config"),
        getattr(model, "generation_config", None),
        *more,
    )
    return next((value for one in configs if (value := getattr(one, name, None)) is not None), None)


def _end_of_text(tokenizer: Any, text: str, encoded: Encoded) -> int:
    """The end of the text's last token, before tokens that the tokenizer added; special tokens in the text stay."""
    end = len(encoded.ids)
    if encoded.texts:
        _, places = encoded.texts[0]
        while end > 0 and places[end - 1] is None:
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
            f"{type(tokenizer).__name__}; load it with AutoTokenizer.from_pretrained(name), or omit words"
        )


def label_of(model: Any) -> Callable[[int], str]:
    """Names the model's classes by number."""
    names = model.config.id2label or {}
    return lambda label: str(names.get(label, f"LABEL_{label}"))


def word_to_ids(tokenizer: Any, word: str) -> list[int]:
    """The tokens of a word inside a sentence, after a space."""
    if not word:
        return []
    whole = {"add_special_tokens": False}
    # Tokenizers differ on whether the start of a text starts a word, so a word comes first.
    if getattr(tokenizer, "is_fast", False):
        encoding = tokenizer(f"a {word}", return_offsets_mapping=True, **whole)
        places = list(zip(encoding["input_ids"], encoding["offset_mapping"], strict=True))
        if not any(begin < 1 < end for _, (begin, end) in places):
            return [int(token) for token, (begin, _) in places if begin >= 1]
    else:
        before, found = tokenizer("a", **whole)["input_ids"], tokenizer(f"a {word}", **whole)["input_ids"]
        if list(found[: len(before)]) == list(before):
            return [int(token) for token in found[len(before) :]]
    # If pieces span spaces, the word is only available with nothing before it.
    return [int(token) for token in tokenizer(f" {word}", **whole)["input_ids"]]


# Heads that predict one of a few classes.
CLASSES = ("classification", "token-classification")


def head_of(model: Any) -> str | None:
    """What the model predicts: a class of the text or of each token, an answer, masked or next, or a text's embedding;
    None: another head.
    """
    kind: Any = type(model)
    return _head_of_class(kind) or ("embedding" if _is_text_encoder(model) else None)


def _is_text_encoder(model: Any) -> bool:
    """Whether the model is a stack without a head whose tokens see one another."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    bases = {name for entry in MODEL_MAPPING_NAMES.values() for name in ([entry] if isinstance(entry, str) else entry)}
    config = model.config
    is_decoder = getattr(config, "is_decoder", False) or getattr(config, "is_encoder_decoder", False)
    return type(model).__name__ in bases and not is_decoder and getattr(model, "main_input_name", "") == "input_ids"


@cache
def _head_of_class(kind: Any) -> str | None:
    from transformers.models.auto import modeling_auto

    names = {one.__name__ for one in kind.__mro__}
    for said, table in (
        ("next", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"),
        ("classification", "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES"),
        ("token-classification", "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES"),
        ("classification", "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES"),
        ("answer", "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES"),
        ("masked", "MODEL_FOR_MASKED_LM_MAPPING_NAMES"),
        ("next", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
    ):
        known = getattr(modeling_auto, table, {}).values()
        flat = {name for entry in known for name in ([entry] if isinstance(entry, str) else entry)}
        if names & flat:
            return said
    return None


def numbers(tensor: Any) -> Any:
    """A tensor of any type and device as float32 for the core."""
    return tensor.detach().float().cpu().contiguous().numpy()


def readable(tokenizer: Any, token: int) -> str:
    """A token in readable form: without the marks of spaces and bytes that some tokenizers use."""
    piece = tokenizer.convert_ids_to_tokens(int(token))
    if piece is None:  # vocabularies of models may be larger than those of their tokenizers
        return f"<id {token}>"
    if int(token) in getattr(tokenizer, "added_tokens_decoder", {}):
        return str(piece)
    # Twice, because continuing pieces ("##s") do not occur at the beginning of a text.
    alone: str = tokenizer.convert_tokens_to_string([piece])
    twice: str = tokenizer.convert_tokens_to_string([piece, piece])
    text = twice[len(alone) :] if twice.startswith(alone) else alone
    if len(text) > 1 and text.startswith(" "):
        text = text[1:]
    if text and "\ufffd" not in text:
        return text
    spelled = _bytes_of(str(piece))
    return str(piece) if spelled is None else _shown_bytes(spelled)


def spelled(tokenizer: Any, token: int) -> str:
    """A token for a report, which joins the bytes of a character itself: they stay as the tokenizer writes them."""
    piece = _cut_bytes(tokenizer, token)
    return readable(tokenizer, token) if piece is None else piece


def _cut_bytes(tokenizer: Any, token: int) -> str | None:
    """The piece of a token whose bytes are not all whole characters."""
    piece = tokenizer.convert_ids_to_tokens(int(token))
    found = None if piece is None else _bytes_of(str(piece))
    if found is None or "\ufffd" not in found.decode(errors="replace"):
        return None
    return str(piece) if readable(tokenizer, token) == _shown_bytes(found) else None


def _bytes_of(piece: str) -> bytes | None:
    """A piece's bytes by byte fallback ("<0xC3>"), or by GPT-2's table of characters for bytes."""
    if re.fullmatch("<0x[0-9A-Fa-f]{2}>", piece):
        return bytes([int(piece[3:5], 16)])
    table = _bytes_of_characters()
    spelled = [table.get(character) for character in piece]
    return None if None in spelled else bytes(byte for byte in spelled if byte is not None)


@cache
def _bytes_of_characters() -> dict[str, int]:
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


def bytes_of(tokenizer: Any, token: int) -> bytes:
    """The bytes that a token adds to running text, its space included; none for a special token."""
    if is_special(tokenizer, token):
        return b""
    piece = tokenizer.convert_ids_to_tokens(int(token))
    if piece is None:
        return b""
    if not hasattr(tokenizer, "decode"):
        return str(piece).encode()
    # After a token of its own, to keep a leading space.
    read = partial(tokenizer.decode, clean_up_tokenization_spaces=False)
    before = read([int(token)])
    text = read([int(token), int(token)])[len(before) :]
    if "\ufffd" not in text:
        return str(text).encode("utf-8", "replace")
    found = _bytes_of(str(piece))
    return str(text).encode() if found is None else found


def _shown_bytes(spelled: bytes) -> str:
    """Characters, and bytes that are none as "\\xC3"."""
    text = spelled.decode(errors="surrogateescape")
    text = re.sub("[\udc80-\udcff]", lambda found: f"\\x{ord(found[0]) - 0xDC00:02X}", text)
    return text[1:] if len(text) > 1 and text.startswith(" ") else text


def is_special(tokenizer: Any, token: int) -> bool:
    known = getattr(tokenizer, "added_tokens_decoder", {}).get(int(token))
    return (known is not None and known.special) or int(token) in getattr(tokenizer, "all_special_ids", ())
