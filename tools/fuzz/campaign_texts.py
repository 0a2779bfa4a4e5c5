"""Awkward Unicode through every kind of output: the result must be well formed and contain the text."""

import json
from random import Random

import results
from running import DONE, UNSUPPORTED, Runner, wrong
from samples import AGREEMENT, CLASSIFIER, DECODER, ENDINGS, LLAMA, MASKED, npy_bytes, npz_bytes, stack

PIECES = (
    "the key", " ", "  ", "\t", "\n", "\r\n", "\x0b", "\x1b[31m", "\x00", "\x07", "\x7f", "\x85", "\xa0", "\xad",
    "é", "e\u0301", "ﬁ", "ß", "İ", "ǅ", "٣", "۞", "العربية", "עברית", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff",
    "你好", "日本語", "ก็", "नमस्ते", "한국어", "한", "🏳️‍🌈", "👩‍👩‍👧‍👦", "🇩🇪", "😀", "\U0001f9ff", "𝔘𝔫𝔦", "\ufffd", "\ufffe", "\U0010ffff", "\ue000",
    "a" + "\u0301" * 60, "[MASK]", "[CLS]", "<s>", "</s>", "<|endoftext|>", "</script>", "<!--", "]]>", "&amp;", "&#0;",
    '"', "'", "`", "\\", "\\n", "${x}", "{{x}}", "%s", "=cmd()", "+1", "@x", "|", "*b*", "#", "$x$", "^", "~",
    "x" * 300, "1" * 50, "-", "--help", "…", "—", "“", "ÿ", "\u2028", "\u2029",
)  # fmt: skip
MODELS = ((AGREEMENT, ()), (MASKED, ()), (CLASSIFIER, ()), (DECODER, ()), (LLAMA, ("--threads", 1)))
OPTIONS = (
    [], [], [], ["--words"], ["--view", "matrix"], ["--view", "heatmap"], ["--view", "strip"], ["--view", "graph"],
    ["--output-token", "all"], ["--keep-attention"], ["--top-k", 3], ["--truncate"], ["--mixing", "attention"],
    ["--normalize", "row"], ["--method", "raw"],
)  # fmt: skip


def text_of(random: Random) -> str:
    pieces = [random.choice(PIECES) for _ in range(random.choice((1, 1, 2, 4, 8)))]
    if random.random() < 0.05:
        pieces *= random.choice((50, 2000))
    return random.choice(("", " ")).join(pieces)


def bytes_of(random: Random) -> bytes:
    """Mostly UTF-8."""
    text = text_of(random).encode()
    if random.random() < 0.15:
        at = random.randrange(len(text) + 1)
        text = (
            text[:at]
            + random.choice((b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"))
            + text[at:]
        )
    return text


def check_tokens(document: dict, text: str) -> None:
    """A token with offsets must be at them: offsets count bytes of the text as it is in the document."""
    given = document["input"]["text"].encode()
    pair = document["input"]["text_pair"].encode()
    if document["input"]["text"] != text:
        raise wrong(f"the document's text is another: {document['input']['text'][:200]!r}")
    for token in document["input"]["tokens"]:
        if "begin" in token:
            begin, end = token["begin"], token["end"]
            size = len(pair if token["segment"] else given)
            if not 0 <= begin <= end <= size:
                raise wrong(f"a token stands at {begin} to {end} of {size} bytes")


def ask_model(random: Random, runner: Runner) -> None:
    model, more = random.choice(MODELS)
    runner.link(model, "m.gguf" if model.suffix == ".gguf" else "model")
    name = "m.gguf" if model.suffix == ".gguf" else "model"
    text = bytes_of(random)
    by_pipe = random.random() < 0.5 or b"\0" in text or text.startswith(b"-") or len(text) > 100000
    ending = random.choice(ENDINGS)
    arguments = ["explain", "-" if by_pipe else text, "--model", name, *random.choice(OPTIONS), *more]
    if model in (CLASSIFIER, MASKED) and random.random() < 0.2 and b"\0" not in text:
        arguments += ["--pair=" + text_of(random).replace("\0", "")]
    done = runner.run(
        *arguments, "-o", f"out{ending}", "-o", "also.json", outputs=(f"out{ending}", "also.json") if ending != ".json"
        else ("out.json", "also.json"), stdin=text if by_pipe else None,
    )  # fmt: skip
    if done.code == DONE and "--truncate" not in arguments:
        document = json.loads(runner.path("also.json").read_bytes())
        said = text.decode()
        # A trailing newline belongs to how the text was given, not to the text.
        if by_pipe:
            said = said.removesuffix("\n").removesuffix("\r") if said.endswith("\r\n") else said.removesuffix("\n")
        check_tokens(document, said)
    if done.code == UNSUPPORTED:
        raise wrong(f"a text made the model unsupported: {done.said[-300:]!r}")


def generate(random: Random, runner: Runner) -> None:
    model, more = random.choice(((DECODER, ()), (LLAMA, ("--threads", 1))))
    name = "m.gguf" if model.suffix == ".gguf" else "model"
    runner.link(model, name)
    ending = random.choice(ENDINGS)
    runner.run(
        "generate", "-", "--model", name, "-n", 2, *more, "-o", f"out{ending}", outputs=(f"out{ending}",),
        stdin=bytes_of(random),
    )  # fmt: skip


def tokens_of_a_file(random: Random, runner: Runner) -> None:
    """Every text as a token of an attention file, which no tokenizer has processed."""
    import numpy as np

    array = stack(random, tokens=random.randint(1, 6))
    tokens = np.array([text_of(random)[:400].rstrip("\0") for _ in range(array.shape[-1])])
    runner.write("a.npz", npz_bytes({"attention.npy": npy_bytes(array), "tokens.npy": npy_bytes(tokens)}, False))
    endings = random.sample(ENDINGS, 3)
    names = tuple(f"out{i}{ending}" for i, ending in enumerate(endings))
    arguments = [word for name in names for word in ("-o", name)]
    view = random.choice(("answer", "overview", "graph", "heatmap", "strip", "matrix"))
    runner.run("explain", "--attention", "a.npz", "--view", view, *arguments, "--threads", 1, outputs=names)
    printed = runner.run("explain", "--attention", "a.npz", "--threads", 1)
    if printed.code == DONE and (b"\x1b" in printed.out or b"\0" in printed.out):
        raise wrong("the table lets a control character of a token through to the terminal")
    printed.out.decode()
    document = runner.run("explain", "--attention", "a.npz", "--json", "--threads", 1)
    if document.code == DONE:
        found = [token["text"] for token in results.check_json(document.out)["input"]["tokens"]]
        if found != list(tokens):
            raise wrong(f"tokens of the document are {found!r}")


def case(random: Random, runner: Runner) -> None:
    random.choices((tokens_of_a_file, ask_model, generate), (5, 4, 1))[0](random, runner)
