"""Small tokenizers with declarations in the files next to them: the folders of test_declared_tokens.py."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sentencepiece
import sentencepiece_folders
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

TEXTS = [
    "the [ENT] key[ENT]s <obj> a<image><obj>s lostkey",
    "<s>[ent]  [ENT]  lost  [MASK] <mask> key </s>[SEP]<|endoftext|> <unk>",
]
WORDS = ["the", "a", "key", "is", "lost", "to", "ent", "obj", "image"]
LETTERS = "abcdefghijklmnopqrstuvwxyz[]<>/|"


@dataclass
class Base:
    """A vocabulary: the class that reads it, its special tokens with their ids, and how its files are written."""

    name: str
    tokenizer_class: str
    write: Callable[[Path], None]
    specials: dict[str, int]
    size: int
    config: dict = field(default_factory=dict)  # content of tokenizer_config.json, with every declaration
    refused: frozenset[str] = frozenset()  # declarations that this one may refuse, in addition to those that any may

    def token(self, content: str, **properties: Any) -> dict:
        usual = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
        return {"content": content} | usual | properties

    def decoder(self, *new: dict, first: int | None = None) -> dict:
        """Every added token by its id, with the new ones after the vocabulary."""
        listed = {str(i): self.token(content) for content, i in self.specials.items()}
        begin = self.size if first is None else first
        return listed | {str(begin + i): token for i, token in enumerate(new)}


def bert_pieces() -> dict[str, int]:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *LETTERS, *(f"##{c}" for c in LETTERS)]
    return {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}


def roberta_pieces() -> tuple[dict[str, int], list[tuple[str, str]]]:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges = []
    for word in [spelled for plain in WORDS for spelled in (plain, "Ġ" + plain)]:
        for end in range(2, len(word) + 1):
            if word[:end] not in pieces:
                merges.append((word[: end - 1], word[end - 1]))
                pieces.append(word[:end])
    return {piece: i for i, piece in enumerate(pieces)}, merges


def metaspace_pieces() -> list[tuple[str, float]]:
    specials = [(piece, 0.0) for piece in ("<unk>", "<s>", "</s>", "<pad>", "<mask>")]
    words = [("▁" + word, -2.0) for word in WORDS] + [(word, -4.0) for word in WORDS]
    letters = [(letter, -8.0) for letter in "▁" + LETTERS if letter not in WORDS]
    return specials + words + letters


BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def word_piece(folder: Path) -> None:
    pieces = bert_pieces()
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    around = [("[CLS]", pieces["[CLS]"]), ("[SEP]", pieces["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=around
    )
    tokenizer.add_special_tokens(BERT)
    tokenizer.save(str(folder / "tokenizer.json"))


def vocab_txt(folder: Path) -> None:
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in bert_pieces()))


def bytes_json(framed: bool) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        pieces, merges = roberta_pieces()
        tokenizer = Tokenizer(models.BPE(pieces, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        if framed:
            tokenizer.post_processor = processors.RobertaProcessing(
                ("</s>", pieces["</s>"]), ("<s>", pieces["<s>"]), add_prefix_space=False
            )
            tokenizer.add_special_tokens([*ROBERTA[:4], AddedToken("<mask>", lstrip=True)])
        else:
            tokenizer.add_special_tokens(["<|endoftext|>"])
        tokenizer.save(str(folder / "tokenizer.json"))

    return write


def bytes_files(folder: Path) -> None:
    pieces, merges = roberta_pieces()
    (folder / "vocab.json").write_text(json.dumps(pieces))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))


def unigram(folder: Path) -> None:
    tokenizer = Tokenizer(models.Unigram(metaspace_pieces(), unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>", "<pad>", "<mask>"])
    tokenizer.save(str(folder / "tokenizer.json"))


def sentencepiece_file(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def pieces_in(content: bytes) -> int:
    return sentencepiece.SentencePieceProcessor(model_proto=content).get_piece_size()


def numbered(pieces: list[str], among: dict[str, int]) -> dict[str, int]:
    return {piece: among[piece] for piece in pieces}


BERT_IDS = numbered(BERT, bert_pieces())
ROBERTA_IDS = numbered(ROBERTA, roberta_pieces()[0])
GPT2_IDS = numbered(["<|endoftext|>"], roberta_pieces()[0])
UNIGRAM_IDS = {piece: i for i, (piece, _) in enumerate(metaspace_pieces()[:5])}
BERT_SIZE, BYTES_SIZE, UNIGRAM_SIZE = len(bert_pieces()), len(roberta_pieces()[0]), len(metaspace_pieces())

LLAMA = sentencepiece_folders.train(**sentencepiece_folders.LLAMA, byte_fallback=True)
LLAMA_IDS = sentencepiece_folders.LLAMA_SPECIALS

# Names of declarations: another token in a role, and tokens that get ids in the order in which they are added.
ROLES = frozenset(
    """twice|decoder with a named one|decoder that names a piece|an object as mask|added_tokens.json of specials
    a piece as mask|a new pad_token|a new mask_token|a new eos_token|map's text|map's object|map's null|no mask|end
    """.strip()
    .replace("\n    ", "|")
    .split("|")
)
NEW = frozenset(
    """decoder with spaces|decoder of words|split|own names|own names as saved|own names and extra|extra
    extra of objects|extra by name|extra and additional|empty extra and additional|additional|additional of objects
    additional of a piece|added_tokens.json|added_tokens.json in another order|added_tokens.json before the decoder
    map's own name|map's extra|map's extra by name|map's additional|map's additional over the configuration's
    map's additional over none|decoder before the map
    """.strip()
    .replace("\n    ", "|")
    .split("|")
)
# The rows of sentencepiece_folders.py that transformers reads exactly, with what the program may refuse for each.
OF_SENTENCEPIECE = {
    "t5": frozenset(["a new eos_token"]),
    **dict.fromkeys(("albert", "xlnet", "xlm-roberta", "camembert"), ROLES),
    **dict.fromkeys(("m2m100", "marian"), ROLES | NEW),
}


def of_family(name: str, refused: frozenset[str]) -> Base:
    """A SentencePiece folder with transformers' ids."""
    (row,) = [row for row in sentencepiece_folders.ROWS if row.name == name]
    with tempfile.TemporaryDirectory(prefix="attnflow.") as held:
        made = sentencepiece_folders.Folder(row, Path(held))
        files = {file.name: file.read_bytes() for file in made.path.iterdir()}
        tokenizer = getattr(transformers, row.tokenizer_class).from_pretrained(made.path)

    def write(folder: Path) -> None:
        for file, content in files.items():
            (folder / file).write_bytes(content)

    roles = (
        getattr(tokenizer, role, None) for role in ("bos_token", "eos_token", "unk_token", "pad_token", "mask_token")
    )
    specials = {piece: tokenizer.convert_tokens_to_ids(piece) for piece in roles if piece}
    return Base(name, row.tokenizer_class, write, specials, len(tokenizer), dict(row.settings), refused)


MASK = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False, "special": True}

BASES = [
    Base("word pieces", "PreTrainedTokenizerFast", word_piece, BERT_IDS, BERT_SIZE),
    Base("word pieces of BERT", "BertTokenizer", word_piece, BERT_IDS, BERT_SIZE),
    Base("word pieces of no class", "", word_piece, BERT_IDS, BERT_SIZE),
    Base("vocab.txt", "BertTokenizer", vocab_txt, BERT_IDS, BERT_SIZE),
    Base("bytes", "TokenizersBackend", bytes_json(True), ROBERTA_IDS, BYTES_SIZE),
    Base("bytes of RoBERTa", "RobertaTokenizer", bytes_json(True), ROBERTA_IDS, BYTES_SIZE),
    Base("bytes of GPT-2", "GPT2TokenizerFast", bytes_json(False), GPT2_IDS, BYTES_SIZE),
    Base("bytes under Llama's name", "LlamaTokenizer", bytes_json(False), GPT2_IDS, BYTES_SIZE),
    # The space before <mask> belongs to it: since version 5, transformers must be told so.
    Base("vocab.json of RoBERTa", "RobertaTokenizer", bytes_files, ROBERTA_IDS, BYTES_SIZE, {"mask_token": MASK}),
    Base("vocab.json of GPT-2", "GPT2Tokenizer", bytes_files, GPT2_IDS, BYTES_SIZE),
    Base("unigram", "PreTrainedTokenizerFast", unigram, UNIGRAM_IDS, UNIGRAM_SIZE),
    Base(
        "tokenizer.model of Llama",
        "LlamaTokenizer",
        sentencepiece_file("tokenizer.model", LLAMA),
        LLAMA_IDS,
        pieces_in(LLAMA),
        {"legacy": False, "add_bos_token": True, "add_eos_token": False},
    ),
    *(of_family(name, refused) for name, refused in OF_SENTENCEPIECE.items()),
]


@dataclass
class Declaration:
    name: str
    config: Callable[[Base], dict] = lambda base: {}
    map: Callable[[Base], dict] | None = None
    added: Callable[[Base], dict] | None = None
    document: dict = field(default_factory=dict)  # content of tokenizer.json


def said(**config: Any) -> Callable[[Base], dict]:
    return lambda base: config


def spaced(base: Base) -> dict:
    return base.token("[ENT]", lstrip=True, rstrip=True)


ENT = {"content": "[ENT]", "lstrip": True, "rstrip": False, "normalized": False, "single_word": True}
AS_OBJECT = ENT | {"__type": "AddedToken"}
BOTH = ["[ENT]", "<obj>"]

DECLARATIONS = [
    Declaration("nothing"),
    Declaration("decoder", lambda base: {"added_tokens_decoder": base.decoder(base.token("[ENT]"))}),
    Declaration("decoder of one", lambda base: {"added_tokens_decoder": {str(base.size): base.token("[ENT]")}}),
    Declaration("decoder of none", said(added_tokens_decoder={})),
    Declaration("decoder with spaces", lambda base: {"added_tokens_decoder": base.decoder(spaced(base))}),
    Declaration(
        "decoder of words",
        lambda base: {
            "added_tokens_decoder": base.decoder(
                base.token("[ENT]", special=False, normalized=True), base.token("<obj>", single_word=True)
            )
        },
    ),
    Declaration(
        "decoder that changes one",
        lambda base: {
            "added_tokens_decoder": base.decoder()
            | {str(i): base.token(piece, lstrip=True) for piece, i in list(base.specials.items())[-1:]}
        },
    ),
    Declaration(
        "decoder that names a piece",
        lambda base: {"added_tokens_decoder": base.decoder(base.token("[ENT]")), "pad_token": "lost"},
    ),
    Declaration(
        "decoder with a gap",
        lambda base: {"added_tokens_decoder": base.decoder(base.token("[ENT]"), first=base.size + 7)},
    ),
    Declaration(
        "decoder with a named one",
        lambda base: {
            "added_tokens_decoder": base.decoder(base.token("[ENT]", special=False)),
            "mask_token": "[ENT]",
            "extra_special_tokens": ["<obj>"],
        },
    ),
    Declaration(
        "decoder before the map",
        lambda base: {"added_tokens_decoder": base.decoder(base.token("<obj>"))},
        map=lambda base: {"mask_token": "[ENT]", "additional_special_tokens": ["<image>"]},
    ),
    Declaration("added_tokens.json", added=lambda base: {"[ENT]": base.size, "<obj>": base.size + 1}),
    Declaration("added_tokens.json in another order", added=lambda base: {"<obj>": base.size + 1, "[ENT]": base.size}),
    Declaration(
        "added_tokens.json of specials",
        said(additional_special_tokens=["[ENT]"], mask_token="<obj>"),
        added=lambda base: {"[ENT]": base.size, "<obj>": base.size + 1},
    ),
    Declaration(
        "added_tokens.json before the decoder",
        lambda base: {"added_tokens_decoder": base.decoder(base.token("<obj>"))},
        added=lambda base: {"[ENT]": base.size},
    ),
    Declaration("added_tokens.json of a piece", added=lambda base: {"[ENT]": base.size + 3}),
    Declaration("additional", said(additional_special_tokens=BOTH)),
    Declaration("additional of a piece", said(additional_special_tokens=["lost", "<obj>"])),
    Declaration("additional of objects", said(additional_special_tokens=[AS_OBJECT, "<obj>"])),
    Declaration("extra", said(extra_special_tokens=BOTH)),
    Declaration("extra of objects", said(extra_special_tokens=[AS_OBJECT | {"special": True}, "<obj>"])),
    Declaration("extra by name", said(extra_special_tokens={"object_token": "<obj>", "entity_token": "[ENT]"})),
    Declaration("extra and additional", said(extra_special_tokens=["<obj>"], additional_special_tokens=["[ENT]"])),
    Declaration("empty extra and additional", said(extra_special_tokens=[], additional_special_tokens=["[ENT]"])),
    Declaration("twice", said(additional_special_tokens=["[ENT]", "[ENT]"], mask_token="[ENT]", pad_token="<obj>")),
    Declaration("map's additional", map=lambda base: {"additional_special_tokens": BOTH}),
    Declaration(
        "map's additional over the configuration's",
        said(additional_special_tokens=["<obj>"]),
        map=lambda base: {"additional_special_tokens": ["[ENT]"]},
    ),
    Declaration(
        "map's additional over none", said(extra_special_tokens=[]), map=lambda b: {"additional_special_tokens": BOTH}
    ),
    Declaration(
        "map's extra", said(extra_special_tokens=["<image>"]), map=lambda base: {"extra_special_tokens": [ENT, "<obj>"]}
    ),
    Declaration(
        "map's extra by name", map=lambda base: {"extra_special_tokens": {"z_token": "<obj>", "a_token": "[ENT]"}}
    ),
    Declaration("map's object", map=lambda base: {"mask_token": ENT}),
    Declaration("map's text", said(mask_token="<obj>"), map=lambda base: {"mask_token": "[ENT]"}),
    Declaration("map's null", said(mask_token="<obj>"), map=lambda base: {"mask_token": None, "pad_token": "[ENT]"}),
    Declaration("map's own name", map=lambda base: {"image_token": "<image>", "object_token": ENT}),
    *[
        Declaration(f"a new {role}", said(**{role: "[ENT]"}))
        for role in ("mask_token", "pad_token", "bos_token", "eos_token")
    ],
    *[Declaration(f"a new {role}", said(**{role: "[ENT]"})) for role in ("cls_token", "sep_token", "unk_token")],
    Declaration("a piece as mask", said(mask_token="lost")),
    Declaration("an object as mask", said(mask_token=AS_OBJECT)),
    Declaration("no mask", said(mask_token=None)),
    Declaration("own names", said(z_token="<image>", image_token="<obj>", a_token="[ENT]")),
    Declaration(
        "own names and extra", said(z_token="<obj>", extra_special_tokens={"a_token": "[ENT]", "z_token": "<image>"})
    ),
    Declaration("own names as saved", said(model_specific_special_tokens={"z_token": "<obj>", "a_token": "[ENT]"})),
    Declaration("split", said(split_special_tokens=True, additional_special_tokens=["[ENT]"])),
    Declaration("begin and end", said(add_bos_token=True, add_eos_token=True)),
    Declaration("end", said(add_bos_token=False, add_eos_token=True)),
    Declaration("case", said(do_lower_case=False)),
    Declaration("accents", said(strip_accents=False)),
    Declaration("space before", said(add_prefix_space=True)),
    Declaration(
        "what changes no id",
        said(clean_up_tokenization_spaces=True, model_max_length=512, padding_side="left", truncation_side="right"),
    ),
    Declaration(
        "padding",
        document={
            "padding": {
                **{"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0},
                **{"pad_type_id": 0, "pad_token": "[ENT]"},
            }
        },
    ),
]


# Cases refused for some vocabulary: ids that transformers would not keep, and settings that contradict a
# tokenizer.json.
REFUSED = {
    "decoder with a gap",
    "added_tokens.json of a piece",
    "a new bos_token",
    "a new cls_token",
    "a new sep_token",
    "a new unk_token",
    "case",
    "accents",
    "space before",
}


# transformers 5 loses these tokens with a SentencePiece file, although the folder declares them.
LOST = [(name, "map's additional") for name in ("tokenizer.model of Llama", *OF_SENTENCEPIECE)]


def write(base: Base, declaration: Declaration, folder: Path) -> None:
    base.write(folder)
    config = {"tokenizer_class": base.tokenizer_class} if base.tokenizer_class else {}
    files = {"tokenizer_config": config | base.config | declaration.config(base)}
    if declaration.map:
        files["special_tokens_map"] = declaration.map(base)
    if declaration.added:
        files["added_tokens"] = declaration.added(base)
    document = folder / "tokenizer.json"
    if declaration.document and document.exists():
        files["tokenizer"] = json.loads(document.read_text()) | declaration.document
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
