"""Folders of models that come with SentencePiece files and no tokenizer.json, one for each family and its settings.

Each has a model freshly trained by sentencepiece, and two ways to a text's ids that are independent of the program:
transformers' tokenizer of the family, if it matches the model's own tokenizer; and sentencepiece itself, with the
family's known numbering and surrounding tokens. (transformers 5 omits the character map of DeBERTa and mBART, trims
trailing spaces of Pegasus texts differently, and numbers NLLB's languages differently from the model.)
"""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sentencepiece
import transformers
from transformers.models.m2m_100 import tokenization_m2m_100
from transformers.models.mbart50 import tokenization_mbart50
from transformers.models.nllb import tokenization_nllb

SENTENCES = """\
the key to the old cabinets is on the table. She said: "hello", and left; 12,345 people came in 2024!
Der Schlüssel liegt auf dem Tisch. Où est la clé? El niño comió jamón. Москва столица России. 東京は日本の首都です。
한국어 문장입니다. الكتاب على الطاولة. हिन्दी वाक्य. ½ café naïve étude Straße Łódź fi fl office a,b,c 1,2,3
def add(a, b): return a + b # sum {"name": "Alice"} https://example.org/path?q=1 emoji 🙂 👩‍🔬 math x² ≤ α"""

TEXTS = [
    "a",
    " ",
    "▁",
    "\n",
    "  two  spaces   three    four",
    "\ttab\t\ttabs \t mixed",
    "trailing   ",
    "line\nbreak\n\ntwo",
    "ends with newline\n",
    "The key to the old cabinets is on the table.",
    "IT'S HERE AND THEY'LL SEE",
    "``quoted'' text",
    "1 12 123 1,234,567 3.14 2024-01-31",
    "a,b 1, 2,3,",
    "🙂 👩\u200d🔬!🇫🇷 ✓\ufe0f zzz",
    "東京は日本の首都です。",
    "钥匙在桌子上 123 个。",
    "ﬁne oﬃce ﬂag ﷺ",
    "e\u0301tude n\u0303 cafe\u0301 Å",
    "ＦＵＬＬ ｗｉｄｔｈ １２３！",
    "wide\u3000space \u00a0 no-break \u2009thin",
    "zero\u200bwidth \ufeffmark",
    "Москва — столица",
    "الكتاب ٣٤ على الطاولة",
    "שלום עולם",
    "½ Ⅳ ① x²",
    "ß İ ŉ",
    "▁ already ▁marked",
    "a ▁b",
    "def f(x):\n    return x\n\tpass",
    "~~ ^^ `code` §€",
    "x" * 50,
    "\x01 control \x7f",
    "Zażółć gęślą jaźń",
    "w☃w ☃",
]
PAIRS = [("the key", "a b"), ("12", " 東京 "), ("a", "x" * 30)]

UNIGRAM: dict[str, Any] = {"model_type": "unigram", "vocab_size": 1000}
LLAMA: dict[str, Any] = {
    "model_type": "bpe",
    "vocab_size": 1200,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "split_digits": True,
    "allow_whitespace_only_pieces": True,
}
BPE: dict[str, Any] = {"model_type": "bpe", "vocab_size": 900}
T5_FIRST: dict[str, Any] = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}


def train(**options: Any) -> bytes:
    words = SENTENCES.split()
    chosen = random.Random(1)
    lines = [" ".join(chosen.choices(words, k=12)) for _ in range(800)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        character_coverage=0.98,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


@dataclass
class Row:
    name: str
    tokenizer_class: str
    file: str
    training: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    typed: str = "the a"  # a text with special tokens spelled out
    typed_ids: bool = False  # the type ids of two texts differ
    by_transformers: bool = True
    # For sentencepiece: a piece's id from its number and spelling; special tokens; and the surrounding tokens.
    number: Callable[[int, str], int] | None = None
    specials: Callable[[int], dict[str, int]] = lambda size: {}  # noqa: E731  # of as many pieces as the model has
    around: tuple[str, str, str] = ("", "", "")  # before, between and after: names of special tokens
    files: Callable[[list[str]], dict[str, Any]] | None = None  # JSON files next to it, made from the model's pieces


def own(piece_id: int, _: str) -> int:
    return piece_id


def fairseq(piece_id: int, _: str) -> int:
    return piece_id + 1 if piece_id > 2 else 3


def camembert(piece_id: int, _: str) -> int:
    return piece_id + 4 if piece_id > 0 else 3


def fairseq_specials(languages: list[str]) -> Callable[[int], dict[str, int]]:
    first = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    return lambda size: first | {piece: size + 1 + i for i, piece in enumerate([*languages, "<mask>"])}


def marian_files(pieces: list[str]) -> dict[str, Any]:
    """A vocabulary in another order, without some pieces and with others that only a target has."""
    listed = [*pieces[3:-25], ">>fr<<", ">>de<<", "☃", "w☃w", "▁extra"]
    random.Random(3).shuffle(listed)
    return {"vocab": {piece: i for i, piece in enumerate(["</s>", "<unk>", *listed, "<pad>"])}}


def m2m100_files(pieces: list[str]) -> dict[str, Any]:
    listed = ["<s>", "<pad>", "</s>", "<unk>", *pieces[3:-9], "☃"]
    languages = [f"__{code}__" for code in tokenization_m2m_100.FAIRSEQ_LANGUAGE_CODES["m2m100"]]
    return {
        "vocab": {piece: i for i, piece in enumerate(listed)},
        "special_tokens_map": {"additional_special_tokens": languages},
    }


def deberta_files(pieces: list[str]) -> dict[str, Any]:
    return {"added_tokens": {"[MASK]": len(pieces)}}


LANGUAGES = tokenization_mbart50.FAIRSEQ_LANGUAGE_CODES
EXTRA = 100
T5_SPECIALS = {"<pad>": 0, "</s>": 1, "<unk>": 2}
DEBERTA = UNIGRAM | {
    **{"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3},
    **{"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"},
}
GEMMA = LLAMA | {
    **{"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>", "eos_piece": "<eos>"},
    **{"add_dummy_prefix": False, "byte_fallback": True},
    "user_defined_symbols": "<mask>,<start_of_turn>,<end_of_turn>,\n,\n\n,▁▁,▁▁▁",
}
ALBERT = UNIGRAM | {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": "[CLS],[SEP],[MASK]"}
XLNET = UNIGRAM | {"unk_id": 0, "bos_id": 1, "eos_id": 2, "control_symbols": "<cls>,<sep>,<pad>,<mask>,<eod>,<eop>"}
LLAMA_SPECIALS = {"<unk>": 0, "<s>": 1, "</s>": 2}
LLAMA_AROUND = {"add_bos_token": True, "add_eos_token": False}
T5_TYPED = "the<extra_id_0> a<extra_id_99>b </s> c<pad>"
FAIRSEQ_TYPED = "<mask> a <mask>b </s> c<pad>"


def t5_specials(size: int) -> dict[str, int]:
    return T5_SPECIALS | {f"<extra_id_{i}>": size + EXTRA - 1 - i for i in range(EXTRA)}


def t5(name: str, more: dict[str, Any], **given: Any) -> Row:
    usual = {"typed": T5_TYPED, "number": own, "specials": t5_specials, "around": ("", "</s>", "</s>")}
    return Row(name, "T5Tokenizer", "spiece.model", UNIGRAM | T5_FIRST | more, **usual | given)


def of_fairseq(name: str, tokenizer_class: str, training: dict[str, Any] = UNIGRAM, **given: Any) -> Row:
    usual = {"typed": FAIRSEQ_TYPED, "number": fairseq, "specials": fairseq_specials([])}
    return Row(name, tokenizer_class, "sentencepiece.bpe.model", training, **usual | given)


def llama(name: str, more: dict[str, Any], settings: dict[str, Any], **given: Any) -> Row:
    usual = {"typed": "<s> a </s>b <unk> c<0x0A>", "typed_ids": True}
    return Row(name, "LlamaTokenizer", "tokenizer.model", LLAMA | more, settings, **usual | given)


OLD_LLAMA: dict[str, Any] = {
    "by_transformers": False,
    "number": own,
    "specials": lambda size: LLAMA_SPECIALS,
    "around": ("<s>", "<s>", ""),
}
BYTES = {"byte_fallback": True}

ROWS = [
    t5("t5", {}),
    t5("t5 of bytes", BYTES, by_transformers=False),
    t5("t5 of merges", BPE, by_transformers=False),
    t5("t5 across spaces", {"split_by_whitespace": False}, by_transformers=False),
    t5("t5 that keeps spaces", {"remove_extra_whitespaces": False}, by_transformers=False),
    t5("mt5", {}, settings={"extra_ids": 0}, typed="a</s> b<pad>", specials=lambda size: T5_SPECIALS),
    Row(
        "pegasus",
        "PegasusTokenizer",
        "spiece.model",
        UNIGRAM | T5_FIRST,
        typed="<mask_1> a <mask_2>b <unk_5> c",
        by_transformers=False,
        number=lambda piece_id, _: piece_id + 103,
        specials=lambda size: {"<pad>": 0, "</s>": 1, "<mask_1>": 2, "<mask_2>": 3, "<unk_5>": 7},
        around=("", "", "</s>"),
    ),
    Row("albert", "AlbertTokenizer", "spiece.model", ALBERT, typed="[MASK] a [MASK]b  [SEP]", typed_ids=True),
    Row(
        "albert with case",
        "AlbertTokenizer",
        "spiece.model",
        ALBERT,
        {"do_lower_case": False, "keep_accents": True},
        typed_ids=True,
    ),
    Row("xlnet", "XLNetTokenizer", "spiece.model", XLNET, typed="<mask> a <mask>b<eop>", typed_ids=True),
    Row(
        "deberta-v2",
        "DebertaV2Tokenizer",
        "spm.model",
        DEBERTA,
        {"do_lower_case": False, "vocab_type": "spm"},
        typed="[MASK] a [MASK]b [SEP] c[PAD]",
        typed_ids=True,
        by_transformers=False,
        number=own,
        specials=lambda size: {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3, "[MASK]": size},
        around=("[CLS]", "[SEP]", "[SEP]"),
        files=deberta_files,
    ),
    of_fairseq("xlm-roberta", "XLMRobertaTokenizer", around=("<s>", "</s></s>", "</s>")),
    Row(
        "camembert",
        "CamembertTokenizer",
        "sentencepiece.bpe.model",
        UNIGRAM,
        typed=FAIRSEQ_TYPED,
        number=camembert,
        specials=lambda size: {"<pad>": 1, "<s>": 5, "</s>": 6, "<mask>": size + 4},
        around=("<s>", "</s></s>", "</s>"),
    ),
    of_fairseq(
        "mbart",
        "MBartTokenizer",
        settings={"src_lang": "ro_RO"},
        by_transformers=False,
        specials=fairseq_specials(LANGUAGES[:25]),
        around=("", "", "</s>ro_RO"),
    ),
    of_fairseq(
        "mbart-50",
        "MBart50Tokenizer",
        settings={"src_lang": "sl_SI", "tgt_lang": "ro_RO"},
        typed=FAIRSEQ_TYPED + " gl_ES d",
        by_transformers=False,
        specials=fairseq_specials(LANGUAGES),
        around=("sl_SI", "", "</s>"),
    ),
    of_fairseq(
        "nllb",
        "NllbTokenizer",
        BPE,
        settings={"src_lang": "fra_Latn"},
        typed=FAIRSEQ_TYPED + " deu_Latn d",
        by_transformers=False,
        specials=fairseq_specials(tokenization_nllb.FAIRSEQ_LANGUAGE_CODES),
        around=("fra_Latn", "", "</s>"),
    ),
    Row(
        "m2m100",
        "M2M100Tokenizer",
        "sentencepiece.bpe.model",
        BPE,
        {"src_lang": "de", "tgt_lang": "en"},
        typed="__en__ a __de__ b</s>c <unk> d",
        files=m2m100_files,
    ),
    Row("marian", "MarianTokenizer", "source.spm", UNIGRAM, typed=">>fr<< a </s> b<unk>c <pad>", files=marian_files),
    Row("marian's codes", "MarianTokenizer", "source.spm", UNIGRAM, typed=">>xx<<a >>de<< b", files=marian_files),
    llama("llama", BYTES, {"legacy": False} | LLAMA_AROUND),
    llama("llama ending", BYTES, {"legacy": False, "add_bos_token": False, "add_eos_token": True}),
    llama("llama of old", BYTES, {"legacy": True}, **OLD_LLAMA),
    llama("llama that says nothing", BYTES, {}, **OLD_LLAMA),
    llama("llama without bytes", {}, {"legacy": True}, **OLD_LLAMA),
    Row(
        "gemma",
        "GemmaTokenizer",
        "tokenizer.model",
        GEMMA,
        typed="<bos> a<start_of_turn>b\n\n\n   c<mask>",
        typed_ids=True,
        by_transformers=False,
        number=own,
        specials=lambda size: {"<bos>": 2, "<mask>": 4, "<start_of_turn>": 5},
        around=("<bos>", "<bos>", ""),
    ),
]


class Folder:
    """A row's folder, written, with its reference ids."""

    def __init__(self, row: Row, path: Path):
        self.row, self.path = row, path
        path.mkdir(parents=True, exist_ok=True)
        content = train(**row.training)
        for name in ("source.spm", "target.spm") if row.file == "source.spm" else (row.file,):
            (path / name).write_bytes(content)
        self.pieces = sentencepiece.SentencePieceProcessor(model_proto=content)
        size = self.pieces.get_piece_size()
        files: dict[str, Any] = {"tokenizer_config": {"tokenizer_class": row.tokenizer_class} | row.settings}
        if row.files:
            files |= row.files([self.pieces.id_to_piece(i) for i in range(size)])
        for name, document in files.items():
            (path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        self.specials = row.specials(size)

    def by_transformers(self, text: str, pair: str | None) -> tuple[list[int], list[int]]:
        if not hasattr(self, "tokenizer"):
            self.tokenizer = getattr(transformers, self.row.tokenizer_class).from_pretrained(self.path)
        found = self.tokenizer(text, pair, return_token_type_ids=True)
        ids = found["input_ids"]
        return ids, found["token_type_ids"] if self.row.typed_ids else [0] * len(ids)

    def by_sentencepiece(self, text: str, pair: str | None) -> tuple[list[int], list[int]]:
        before, between, behind = self.row.around
        first = self.split(before) + self.split(text)
        if pair is None:
            ids = first + self.split(behind)
            return ids, [0] * len(ids)
        # Llama and Gemma begin a second text as they begin the first; elsewhere the tokens in between belong to the
        # first.
        begins = self.split(between) if between in ("<s>", "<bos>") else []
        second = begins + self.split(pair) + self.split(behind)
        first += [] if begins else self.split(between)
        return first + second, [0] * len(first) + [int(self.row.typed_ids)] * len(second)

    def split(self, text: str) -> list[int]:
        """The special tokens of a text, and the pieces of the parts between them."""
        ids: list[int] = []
        pattern = "|".join(re.escape(piece) for piece in sorted(self.specials, key=len, reverse=True))
        for part in re.split(f"({pattern})", text):
            if part in self.specials:
                ids.append(self.specials[part])
            elif part:
                spelled = self.pieces.encode(part, out_type=str)
                ids += [self.row.number(i, p) for i, p in zip(self.pieces.encode(part), spelled, strict=True)]
        return ids
