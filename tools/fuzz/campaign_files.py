"""Damaged and hostile files of every kind that the program reads."""

import json
import os
from random import Random

import numpy as np
from mutations import ODD_NUMBERS, ODD_TEXTS, damage, damage_json, damage_value
from running import Runner, wrong
from samples import (
    AGREEMENT,
    CLASSIFIER,
    DECODER,
    DECODERS,
    ENCODERS,
    ENDINGS,
    FASHION,
    GGUF,
    LLAMA,
    MASKED,
    PICTURES,
    VISION,
    npy_bytes,
    npz_bytes,
    safetensors_bytes,
    split_safetensors,
    stack,
)  # fmt: skip

ATTENTION_OPTIONS = (
    [], [], ["--renormalize"], ["--any-weights"], ["--method", "raw"], ["--method", "flow", "--output-token", "all"],
    ["--heads", "max"], ["--discard", "0.5"], ["--keep-attention"], ["--mask-columns", "first"], ["--residual", "0"],
)  # fmt: skip


def outputs(random: Random, runner: Runner, endings: tuple = ENDINGS) -> list[str]:
    """A file to write, which in half of the cases exists already."""
    name = "out" + random.choice(endings)
    if random.random() < 0.5:
        runner.write(name, b"what was here before")
    return [name]


def explain_file(random: Random, runner: Runner, name: str) -> None:
    written = outputs(random, runner)
    options = random.choice(ATTENTION_OPTIONS)
    runner.run("explain", "--attention", name, *options, "-o", written[0], "--threads", 1, outputs=tuple(written))


def odd_stack(random: Random) -> np.ndarray:
    """Attention with valid bytes but wrong values, or with another shape or type."""
    array = stack(random)
    match random.randrange(7):
        case 0:
            flat = array.reshape(-1)
            flat[random.randrange(flat.size)] = random.choice((np.nan, np.inf, -np.inf, -1, 1e38, 1e-45, -0.0, 2))
        case 1:
            array = array * random.choice((0, 1e-30, 1e30, -1, 3))
        case 2:
            array = array[random.choice((0, slice(0, 0)))]
        case 3:
            array = np.asfortranarray(array)
        case 4:
            array = array.astype(random.choice(("f2", ">f4", ">f8", "i4", "u1", "?", "c8", "S3", "U2", "M8[s]", "i8")))
        case 5:
            array = array[..., : random.randrange(array.shape[-1] + 1)]
        case _:
            array = np.zeros([random.choice((0, 1, 2, 3)) for _ in range(random.randrange(7))], np.float32)
    return array


def npy(random: Random, runner: Runner) -> None:
    content = npy_bytes(odd_stack(random) if random.random() < 0.4 else stack(random))
    if random.random() < 0.7:
        content = damage(random, content)
    runner.write("a.npy", content)
    explain_file(random, runner, "a.npy")


def npz(random: Random, runner: Runner) -> None:
    array = odd_stack(random) if random.random() < 0.3 else stack(random)
    entries = {"attention.npy": npy_bytes(array)}
    n = array.shape[-1] if array.ndim else 1
    if random.random() < 0.5:
        tokens = np.array([random.choice(("a", "##b", "", "é", "😀", *ODD_TEXTS[4:6])) for _ in range(n)] or ["x"])
        entries["tokens.npy"] = npy_bytes(tokens)
    if random.random() < 0.3:
        entries["special.npy"] = npy_bytes(np.array([random.random() < 0.3 for _ in range(n)], bool))
    if random.random() < 0.2:
        entries[random.choice(("", "../x", "a" * 300, "attention", "é.npy"))] = b"x"
    if random.random() < 0.5:  # an intact zip file around a damaged array
        name = random.choice(list(entries))
        entries[name] = damage(random, entries[name])
    content = npz_bytes(entries, random.random() < 0.5)
    if random.random() < 0.4:
        content = damage(random, content)
    runner.write("a.npz", content)
    explain_file(random, runner, "a.npz")


def safetensors(random: Random, runner: Runner) -> None:
    array = stack(random).astype(np.float32)
    data = np.ascontiguousarray(array).tobytes()
    header = {"attention": {"dtype": "F32", "shape": list(array.shape), "data_offsets": [0, len(data)]}}
    length = None
    if random.random() < 0.5:
        header = damage_value(random, header)
    if random.random() < 0.1:
        length = random.choice((0, 1, 2**63, 2**64 - 1, 2**40))
    content = safetensors_bytes(header, data, length)
    if random.random() < 0.4:
        content = damage(random, content)
    runner.write("a.safetensors", content)
    explain_file(random, runner, "a.safetensors")


def ask_encoder(random: Random, runner: Runner) -> None:
    written = outputs(random, runner)
    runner.run(
        "explain", random.choice(("the [MASK] is", "a", "the key to the cabinets")), "--model", "model", "-o", written[0],
        "--threads", 1, outputs=tuple(written),
    )  # fmt: skip


def ask_decoder(random: Random, runner: Runner) -> None:
    written = outputs(random, runner)
    command = random.choice(
        (["explain", "The author"], ["generate", "The", "-n", 2], ["generate", "Hi", "-n", 1, "--chat"])
    )
    runner.run(*command, "--model", "model", "-o", written[0], "--threads", 1, outputs=tuple(written))


def ask_vision(random: Random, runner: Runner) -> None:
    written = outputs(random, runner)
    runner.link(FASHION / "example_bag.png", "p.png")
    runner.run("image", "p.png", "--model", "model", "-o", written[0], "--threads", 1, outputs=tuple(written))


FOLDERS = (
    (ENCODERS, ask_encoder), (DECODERS, ask_decoder), ([FASHION, *VISION], ask_vision), ([AGREEMENT], ask_encoder)
)  # fmt: skip


def json_of_model(random: Random, runner: Runner) -> None:
    """config.json, tokenizer.json and the other settings of a model folder."""
    models, ask = random.choice(FOLDERS)
    model = runner.copy_model(random.choice(models))
    names = [path for path in sorted(model.glob("*.json")) if path.name != "training.json"]
    path = random.choice(names)
    path.write_bytes(damage_json(random, path.read_bytes()))
    if random.random() < 0.2:
        runner.run("model", "model", seconds=90)
    ask(random, runner)


def weights(random: Random, runner: Runner) -> None:
    models, ask = random.choice(FOLDERS)
    model = runner.copy_model(random.choice(models))
    path = random.choice(sorted(model.glob("*.safetensors")))
    content = path.read_bytes()
    match random.randrange(4):
        case 0:
            content = damage(random, content)
        case 1:
            header, data = split_safetensors(content)
            content = safetensors_bytes(damage_value(random, header), data)
        case 2:
            header, data = split_safetensors(content)
            values = np.frombuffer(data, np.uint8).copy()
            values[: values.size // 4 * 4].view(np.float32)[random.randrange(values.size // 4) :: 1001] = random.choice(
                (np.nan, np.inf, 1e38, -1e38, 1e-45)
            )
            content = safetensors_bytes(header, values.tobytes())
        case _:
            header, data = split_safetensors(content)
            names = [name for name in header if name != "__metadata__"]
            changed = header.pop(random.choice(names))
            if random.random() < 0.5:
                header["another." + random.choice(names)] = changed
            content = safetensors_bytes(header, data)
    path.write_bytes(content)
    ask(random, runner)


def vocabulary(random: Random, runner: Runner) -> None:
    """vocab.txt, or vocab.json and merges.txt, of a folder without tokenizer.json."""
    models = [model for model in ENCODERS if any(model.glob("vocab.*"))]
    model = runner.copy_model(random.choice(models))
    path = random.choice(sorted((*model.glob("vocab.*"), *model.glob("merges.txt"))))
    path.write_bytes(damage(random, path.read_bytes()))
    ask_encoder(random, runner)


def tables(random: Random, runner: Runner) -> None:
    ending = random.choice(("csv", "tsv", "jsonl", "txt"))
    texts = [
        random.choice(("the key", "a, b", 'say "x"', "the keys are", *ODD_TEXTS[:4]))
        for _ in range(random.randint(1, 4))
    ]
    if ending == "jsonl":
        lines = [json.dumps({"text": text, "label": random.choice((0, 1, "0", None, -1))}) for text in texts]
    elif ending == "txt":
        lines = texts
    else:
        comma = "," if ending == "csv" else "\t"
        lines = [comma.join(("text", "label"))] + [
            comma.join(('"' + text.replace('"', '""') + '"', str(random.choice((0, 1, "x", ""))))) for text in texts
        ]
    content = random.choice(("\n", "\r\n")).join([*lines, ""]).encode("utf-8", "surrogatepass")
    if random.random() < 0.7:
        content = damage(random, content)
    runner.write(f"d.{ending}", content)
    written = outputs(random, runner, (".json", ".csv", ".md"))
    runner.link(CLASSIFIER, "model")
    runner.run(
        "evaluate", "sentences", f"d.{ending}", "--model", "model", "--targets", "logit:predicted", "-o", written[0],
        "--threads", 1, outputs=tuple(written),
    )  # fmt: skip


def evidence(random: Random, runner: Runner) -> None:
    content = b"prefix,good,bad,evidence\nThe author,is,are,author\nThe keys,are,is,keys\n"
    runner.write("e.csv", damage(random, content))
    runner.link(DECODER, "model")
    written = outputs(random, runner, (".json", ".csv", ".md"))
    runner.run(
        "evaluate", "evidence", "--model", "model", "--data", "e.csv", "-o", written[0], "--threads", 1,
        outputs=tuple(written),
    )  # fmt: skip


def pictures(random: Random, runner: Runner) -> None:
    source = random.choice(PICTURES)
    name = "p" + random.choice((source.suffix, source.suffix, ".png", ""))
    runner.write(name, damage(random, source.read_bytes()))
    written = outputs(random, runner)
    runner.run("image", name, "-o", written[0], "--method", "raw,rollout", "--threads", 1, outputs=tuple(written))


def gguf(random: Random, runner: Runner) -> None:
    source = random.choice((LLAMA, *GGUF))
    runner.write("m.gguf", damage(random, source.read_bytes()))
    match random.randrange(3):
        case 0:
            runner.run("model", "m.gguf")
        case 1:
            written = outputs(random, runner, (".json", ".npz"))
            runner.run("explain", "The", "--model", "m.gguf", "--threads", 1, "-o", written[0], outputs=tuple(written))
        case _:
            runner.run("generate", "The", "-n", 1, "--model", "m.gguf", "--threads", 1, "--json")


def special(random: Random, runner: Runner) -> None:
    """Pipes that nobody writes to, devices that never end, empty files, files that claim to be huge."""
    name, command = random.choice((
        ("a.npy", ["explain", "--attention", "a.npy"]),
        ("a.npz", ["explain", "--attention", "a.npz"]),
        ("a.safetensors", ["explain", "--attention", "a.safetensors"]),
        ("p.png", ["image", "p.png"]),
        ("d.csv", ["evaluate", "sentences", "d.csv", "--model", "classifier"]),
        ("d.jsonl", ["evaluate", "sentences", "d.jsonl", "--model", "classifier"]),
        ("m.gguf", ["model", "m.gguf"]),
        ("m.gguf", ["explain", "a", "--model", "m.gguf", "--threads", 1]),
        ("model/config.json", ["explain", "a", "--model", "model"]),
        ("model/tokenizer.json", ["explain", "a", "--model", "model"]),
        ("model/tokenizer_config.json", ["explain", "a", "--model", "model"]),
        ("model/model.safetensors", ["explain", "a", "--model", "model"]),
        ("model/README.md", ["model", "model", "--card"]),
    ))  # fmt: skip
    runner.link(CLASSIFIER, "classifier")
    runner.copy_model(MASKED)
    path = runner.path(name)
    path.unlink(missing_ok=True)
    kind = random.choice(("pipe", "zero", "full", "folder", "empty", "huge", "loop", "unreadable"))
    if kind == "pipe":
        os.mkfifo(path)
    elif kind in ("zero", "full"):
        path.symlink_to(f"/dev/{kind}")
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    else:
        path.touch()
        if kind == "huge":
            os.truncate(path, random.choice((1 << 31, 20 << 30)))
        elif kind == "unreadable":
            path.chmod(0)
    written = outputs(random, runner, (".json",)) if command[0] in ("explain", "image") else []
    more = ["-o", written[0]] if written else []
    done = runner.run(*command, *more, outputs=tuple(written))
    # The superuser may read unreadable files, but this one is empty; everything else is no file of this kind.
    if done.code == 0 and name not in ("model/tokenizer_config.json", "model/README.md"):
        raise wrong(f"{name}, {kind}: taken as if it were well")


def numbers_in_config(random: Random, runner: Runner) -> None:
    """A number in config.json that contradicts the weights must not be trusted over them."""
    models, ask = random.choice(FOLDERS)
    model = runner.copy_model(random.choice(models))
    path = model / "config.json"
    config = json.loads(path.read_text())
    keys = [key for key, value in config.items() if isinstance(value, (int, float)) and not isinstance(value, bool)]
    config[random.choice(keys)] = random.choice(ODD_NUMBERS)
    path.write_text(json.dumps(config))
    ask(random, runner)


# Arrays start in milliseconds, models in a second: arrays are used more often.
KINDS = (
    (npy, 6), (npz, 8), (safetensors, 6), (json_of_model, 5), (numbers_in_config, 2), (weights, 3), (vocabulary, 1),
    (tables, 3), (evidence, 1), (pictures, 4), (gguf, 3), (special, 3),
)  # fmt: skip


def case(random: Random, runner: Runner) -> None:
    kind = random.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])[0]
    kind(random, runner)
