"""Tiny tokenizers for the small models, as the files that real models of each family ship."""

import json
import re

import tokenizers
import transformers

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ["the", "key", "cabinet", "is", "on", "table", "author", "talk", "about", "her", "book", "sara", "it", "here"]
PUNCTUATION = [",", ".", "!", "?", "'"]
MAX_TOKENS = 20


def _write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def bert(folder, lower_case=True):
    """vocab.txt, with the settings in tokenizer_config.json."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + letter for letter in LETTERS)]
    pieces += [*WORDS, "##s", "##ed", *PUNCTUATION]
    if not lower_case:
        pieces += ["The", "Sara", "T", "S", "é"]
    pieces = list(dict.fromkeys(pieces))
    (folder / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces), encoding="utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": lower_case, "model_max_length": MAX_TOKENS}
    _write_json(folder / "tokenizer_config.json", settings)
    backend = transformers.BertTokenizer.from_pretrained(folder).backend_tokenizer
    if backend.get_vocab_size() != len(pieces):
        raise AssertionError("the vocabulary was not read as written")
    return backend, len(pieces)


# Merges, in order of rank; a leading space is Ġ in the byte-level alphabet.
MERGES = """
Ġ t, h e, Ġt he, e r, Ġ a, i n, Ġ i, Ġi s, o u, Ġ o, Ġo n, T he, e y, Ġ k, Ġk ey, Ġ c, a b, Ġc ab, in e, t s, Ġt ab,
l e, Ġtab le, a r, Ġ S, ar a, ĠS ara, S ara, Ġ h, Ġh er, Ġ b, o o, oo k, Ġb ook, a l, Ġt al, e d, k ed, Ġt o, n d, Ġa nd
""".strip()


def _byte_pairs():
    """The byte alphabet and the pieces made by the merges, without duplicates; the merges as pairs."""
    pieces = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    known = set(pieces)
    merges = []
    for merge in re.split(r",\s+", MERGES):
        left, right = merge.split(" ")
        if left not in known or right not in known:
            raise AssertionError(f"merge {merge!r} before its halves")
        merges.append((left, right))
        known.add(left + right)
        pieces.append(left + right)
    return list(dict.fromkeys(pieces)), merges


def byte_level(folder):
    """A decoder's tokenizer.json: byte-level BPE, no template, one special token, which has the last id."""
    pieces, merges = _byte_pairs()
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(["<|endoftext|>"])
    backend.save(str(folder / "tokenizer.json"))
    end = "<|endoftext|>"
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": end, "eos_token": end}
    _write_json(folder / "tokenizer_config.json", settings)
    text = "The key to the cabinet is on the table"
    if backend.decode(backend.encode(text).ids) != text or backend.get_vocab_size() != len(pieces) + 1:
        raise AssertionError("the tokenizer does not read what it writes")
    return len(pieces) + 1


def roberta(folder):
    """vocab.json and merges.txt: byte-level BPE over the whole byte alphabet."""
    byte_pieces, merges = _byte_pairs()
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *byte_pieces, "<mask>"]
    _write_json(folder / "vocab.json", {piece: index for index, piece in enumerate(pieces)})
    lines = "".join(f"{left} {right}\n" for left, right in merges)
    (folder / "merges.txt").write_text("#version: 0.2\n" + lines, encoding="utf-8")
    settings = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False, "model_max_length": MAX_TOKENS}
    _write_json(folder / "tokenizer_config.json", settings)
    # RoBERTa's mask absorbs the space before it, as in training. Published folders say so in special_tokens_map.json.
    names = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "sep": "</s>", "pad": "<pad>", "cls": "<s>"}
    mask = {"content": "<mask>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False}
    names = {f"{name}_token": piece for name, piece in names.items()} | {"mask_token": mask}
    _write_json(folder / "special_tokens_map.json", names)
    mask_token = tokenizers.AddedToken(**mask, special=True)
    backend = transformers.RobertaTokenizer.from_pretrained(folder, mask_token=mask_token).backend_tokenizer
    if backend.encode("a <mask>").tokens[2].strip() != "<mask>":
        raise AssertionError("the mask did not take the space before it")
    if backend.get_vocab_size() != len(pieces):
        raise AssertionError("the vocabulary was not read as written")
    return backend, len(pieces)


def albert(folder):
    """tokenizer.json: Unigram pieces after ALBERT's normalization, "▁" for a space."""
    pieces = [("<pad>", 0.0), ("<unk>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[MASK]", 0.0), ("▁", -3.0)]
    pieces += [("▁" + word, -2.5 - 0.125 * index) for index, word in enumerate(WORDS)]
    pieces += [("s", -3.25), ("ed", -3.5), ("ab", -4.0), ("ca", -4.5), ("to", -4.75)]
    pieces += [(letter, -6.0 - 0.125 * index) for index, letter in enumerate(LETTERS) if letter != "s"]
    pieces += [(mark, -5.0) for mark in PUNCTUATION]
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=1))
    normalizers = tokenizers.normalizers
    backend.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    )
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    backend.add_special_tokens(["<pad>", "<unk>", "[CLS]", "[SEP]", tokenizers.AddedToken("[MASK]", lstrip=True)])
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    backend.decoder = tokenizers.decoders.Metaspace()
    backend.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_TOKENS}
    _write_json(folder / "tokenizer_config.json", settings)
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")), len(pieces)


def source_and_target(folder):
    """tokenizer.json: Unigram pieces as in T5, "▁" for a space, an end token after the text."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("<xx>", 0.0), ("▁", -3.0)]
    pieces += [("▁" + word, -2.5 - 0.125 * index) for index, word in enumerate(WORDS)]
    pieces += [(letter, -6.0 - 0.125 * index) for index, letter in enumerate(LETTERS)]
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=2))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    backend.add_special_tokens(["<pad>", "</s>", "<unk>", "<xx>"])
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A:0 </s>:0", special_tokens=[("</s>", 1)]
    )
    backend.decoder = tokenizers.decoders.Metaspace()
    backend.save(str(folder / "tokenizer.json"))
    _write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"})
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")), len(pieces)
