"""Wrong and hostile option values, repeated and contradictory options; the options are read from the program's own
help."""

import functools
import re
import subprocess
from random import Random

import numpy as np
from running import DONE, PROGRAM, USAGE, Runner, wrong
from samples import CLASSIFIER, DECODER, FASHION, npy_bytes, npz_bytes

VALUES = (
    "", " ", "0", "1", "-1", "2", "0.5", "-0.5", "1e-300", "1e308", "1e400", "nan", "inf", "-inf", "0x10", "1_000", "１",
    "99999999999999999999", "18446744073709551615", "9223372036854775808", "4294967296", "1,2", "1-", "-", "--", "1-2-3",
    "3-1", "1,,2", "1-99999999", ",", "all", "none", "auto", "raw", "rollout", "flow", "raw,raw", "flow,rollout", "cls",
    "mask", "last", "first", "special", "mean", "max", "min", "row", "receptive-field", "graph", "../x", "/", "/dev/null",
    "a" * 3000, "é", "\x01", "\x1b[2J", b"\xff\xfe", "%s%s%n", "$(id)", "[", "(", "a{1,99999}", "(a+)+$", "0,0", "5,5", "cls,5",
    "cpu", "cuda", "cuda:99", "cuda:-1", "en", "1e", ".5", "5.", "+1", " 1", "1 ", "true", "no", "NaN", "0.99999999999",
    "alti", "gradient", "relevance", "blank-out", "logit", "norm",
)  # fmt: skip
# Valid values of these need unbounded work, files, or a port.
LEFT_OUT = {"--help", "--version", "--output", "--model", "--attention"}
WORK = {  # valid but enormous values
    "--tokens": ("0", "1", "2", "-1", "x", "", "1e3", "99999999999999999999"),
    "--integration-steps": ("0", "1", "2", "-1", "x", "", "1e3", "99999999999999999999"),
    "--threads": ("0", "1", "2", "-1", "x", "", "1.5", "99999999999999999999", "1000000"),
}


@functools.cache
def options_of(command: str) -> tuple[tuple[str, bool], ...]:
    """(name, whether it takes a value) for each option in the command's help."""
    said = subprocess.run([PROGRAM, *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
    found = []
    for line in said.splitlines():
        match = re.match(r"  (?:-\w,)?(--[\w-]+)( .*)?$", line)
        if match and match[1] not in LEFT_OUT:
            # A flag's explanation is in the explanation column; a value's name follows immediately.
            rest = match[2] or ""
            found.append((match[1], bool(rest) and not rest.startswith("  ")))
    assert found, said
    return tuple(found)


COMMANDS = (
    ("explain", ["explain", "--attention", "a.npz"], 6),
    ("explain", ["explain", "the key", "--model", "classifier"], 2),
    ("image", ["image", "p.png"], 1),
    ("generate", ["generate", "The", "-n", "1", "--model", "decoder"], 2),
    ("evaluate sentences", ["evaluate", "sentences", "d.csv", "--model", "classifier"], 1),
    ("evaluate evidence", ["evaluate", "evidence", "--data", "e.csv", "--model", "decoder"], 1),
    ("model", ["model", "classifier"], 1),
    ("serve", ["serve", "--port", "http"], 1),  # a port that does not exist: it ends
)


def inputs(runner: Runner) -> None:
    numbers = np.random.default_rng(3)
    array = numbers.dirichlet(np.ones(5), (3, 2, 5)).astype(np.float32)
    runner.write("a.npz", npz_bytes({"attention.npy": npy_bytes(array)}, False))
    runner.write("d.csv", b"text,label\nthe key,0\na key,1\n")
    runner.write("e.csv", b"prefix,good,bad,evidence\nThe author,is,are,author\n")
    runner.link(FASHION / "example_bag.png", "p.png")
    runner.link(CLASSIFIER, "classifier")
    runner.link(DECODER, "decoder")


def case(random: Random, runner: Runner) -> None:
    inputs(runner)
    name, arguments, _ = random.choices(COMMANDS, [weight for _, _, weight in COMMANDS])[0]
    arguments = list(arguments)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
        option, takes = random.choice(options_of(name))
        value = random.choice(WORK.get(option, VALUES))
        match random.randrange(8):
            case 0:
                arguments += [option]  # a flag, or an option without its value
            case 1 if isinstance(value, str):
                arguments += [f"{option}={value}"]
            case 2:
                arguments += [option, value, option, random.choice(WORK.get(option, VALUES))]
            case 3:
                arguments += [random.choice((option[:-1], option + "s", option.upper(), "-" + option)), value]
            case _:
                arguments += [option, value] if takes else [option]
    if random.random() < 0.1:
        arguments += [random.choice(VALUES)]
    written = ()
    if name in ("explain", "image", "generate") and random.random() < 0.7:
        written = ("out.json",)
        if random.random() < 0.5:
            runner.write("out.json", b"what was here before")
        arguments += ["-o", "out.json"]
    if any(b"\0" in (word if isinstance(word, bytes) else word.encode()) for word in arguments):
        return
    done = runner.run(*arguments, outputs=written)
    if done.code == USAGE and done.out:
        raise wrong(f"a usage error printed {done.out[:200]!r} on standard output")
    if name == "serve" and done.code == DONE:
        raise wrong("the server was told a port that there is not, and ended well")
