#!/usr/bin/env python3
"""Makes the attention stacks for the flow benchmark: real models reading real prose.

    tools/bench/stacks.py [--out DIR] [--program ATTNFLOW] [NAME...]

A NAME is enc-N (MiniLM, 6 layers of 12 heads, bidirectional) or dec-N (SmolLM2-135M, 30 layers of 9 heads, causal),
with N the number of tokens; without a NAME, all of them are made. DIR (default: .cache/bench/flow in the repository)
gets NAME.npy: float32 [layer, head, query, key], each row the model's softmax, without the residual. An existing file
with the right shape is kept.

The text is the beginning of prose.txt, cut such that the model sees exactly N tokens: for MiniLM whole words, between
[CLS] and [SEP]; for SmolLM2 the first N tokens, without a chat template. Needs network access the first time (both
models, about 200 MB in all, and the packages of requirements.txt) and, for MiniLM, the built program (./dev build).
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / ".cache" / "bench" / "flow"
PROGRAM = ROOT / "build" / "release" / "bin" / "attnflow"
MINILM = ROOT / ".cache" / "models" / "minilm"
SMOLLM2 = ROOT / ".cache" / "models" / "smollm2"
PROSE = HERE / "prose.txt"

LENGTHS = {"enc": (16, 32, 64, 128, 256, 512), "dec": (16, 32, 64, 128, 256)}
LAYERS_AND_HEADS = {"enc": (6, 12), "dec": (30, 9)}
NAMES = [f"{kind}-{length}" for kind, lengths in LENGTHS.items() for length in lengths]
# Rows of a float32 softmax deviate from 1 by about 1e-7; a larger deviation means a wrong stack.
ROW_SUM_TOLERANCE = 1e-5
# A single token in any context: fills the text if the prose's next word has more tokens than fit.
FILLER = "and"
# SmolLM2's loss on the first 128 tokens of the prose is 3.47 nats. With pairs rotated in halves it is 4.83, without
# rotation 5.22, with the key and value heads in another order 12.9; the first two still answer " Paris".
LOSS_TOKENS, LOSS_LIMIT = 128, 4.0


class StackError(Exception):
    pass


def shape_of(name):
    kind, length = name.split("-")
    return (*LAYERS_AND_HEADS[kind], int(length), int(length))


def problem(name, stack):
    """What is wrong with the values of a new stack, or None."""
    import numpy as np

    if stack.shape != shape_of(name) or stack.dtype != np.float32:
        return f"expected float32 {shape_of(name)}, found {stack.dtype} {stack.shape}"
    if not np.isfinite(stack).all() or stack.min() < 0:
        return "expected finite weights of at least 0"
    miss = np.abs(stack.sum(axis=-1, dtype=np.float64) - 1).max()
    if miss > ROW_SUM_TOLERANCE:
        return f"expected rows that sum to 1 within {ROW_SUM_TOLERANCE}, found one that misses by {miss:.3g}"
    if name.startswith("dec") and np.triu(stack, 1).any():
        return "expected no weight on later tokens"
    return None


def is_there(name, path):
    """Whether `path` holds a stack of the right shape; reads only its header."""
    import numpy as np

    if not path.exists():
        return False
    try:
        header = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError):
        return False
    return header.shape == shape_of(name) and header.dtype == np.float32


def save(name, stack, path):
    """Writes `path` completely or not at all."""
    import numpy as np

    if (wrong := problem(name, stack)) is not None:
        raise StackError(f"{name}: {wrong}")
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.save(file, np.ascontiguousarray(stack))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def text_of(tokenizer, length):
    """The beginning of the prose, in whole words, that has `length` tokens including [CLS] and [SEP]."""

    def count(words):
        return len(tokenizer.encode(" ".join(words)).ids)

    words, rest = [], PROSE.read_text(encoding="utf-8").split()
    low, high = 0, len(rest)  # the first `low` words fit
    while low < high:
        middle = (low + high + 1) // 2
        if count(rest[:middle]) <= length:
            low = middle
        else:
            high = middle - 1
    if low == len(rest) and count(rest) < length:
        raise StackError(f"{PROSE.name} is {count(rest)} tokens long; {length} were wanted: make it longer")
    words = rest[:low]
    words += [FILLER] * (length - count(words))
    if (found := count(words)) != length:
        raise StackError(f"expected to cut {PROSE.name} to {length} tokens, found {found}")
    return " ".join(words)


def encoder_stacks(lengths, program):
    """Yields (length, stack) for MiniLM, as computed by attnflow itself."""
    import numpy as np
    import tokenizers

    if not program.is_file():
        raise StackError(f"{program} is not built; run ./dev build, or name one by --program")
    command = [sys.executable, ROOT / "tools" / "fetch_minilm", MINILM]
    if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode != 0:
        raise StackError("MiniLM could not be fetched; see the message above")
    tokenizer = tokenizers.Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for length in lengths:
        with tempfile.TemporaryDirectory() as scratch:
            output = Path(scratch) / "attention.npz"
            # One thread, so that sums are taken in a fixed order.
            command = [program, "explain", "-", "--model", MINILM, "--method", "raw", "--keep-attention"]
            command += ["--threads", "1", "-o", output]
            text = text_of(tokenizer, length)
            result = subprocess.run(command, input=text, capture_output=True, text=True)
            if result.returncode != 0:
                raise StackError(f"enc-{length}: {program.name} explain failed: {result.stderr.strip()}")
            with np.load(output, allow_pickle=False) as archive:
                if "attention" not in archive:
                    raise StackError(f"enc-{length}: expected an array named attention, found {archive.files}")
                yield length, archive["attention"]


def decoder_stacks(lengths):
    """Yields (length, stack) for SmolLM2. No token sees a later one: the longest stack contains the others."""
    import numpy as np
    import smollm2

    try:
        model = smollm2.SmolLM2(smollm2.fetch(SMOLLM2))
    except smollm2.ModelError as error:
        raise StackError(str(error)) from error
    prose = PROSE.read_text(encoding="utf-8")
    if not (loss := model.loss(prose, LOSS_TOKENS)) <= LOSS_LIMIT:
        raise StackError(f"SmolLM2 on {PROSE.name}: expected a loss of at most {LOSS_LIMIT}, found {loss:.3f}")
    tokens = model.tokens(prose)
    longest = max(lengths)
    if len(tokens) < longest:
        raise StackError(f"{PROSE.name} is {len(tokens)} tokens long; {longest} were wanted: make it longer")
    attention, _ = model.forward(tokens[:longest])
    for length in lengths:
        yield length, attention[:, :, :length, :length].astype(np.float32)


def make(names=NAMES, out=OUT, program=PROGRAM):
    """Makes the stacks in `names` that are not in `out`; returns the path of each. Runs in the environment."""
    paths = {name: out / f"{name}.npy" for name in names}
    out.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if not is_there(name, paths[name])]
    for kind in LENGTHS:
        lengths = [shape_of(name)[-1] for name in missing if name.startswith(kind)]
        if not lengths:
            continue
        for length, stack in encoder_stacks(lengths, program) if kind == "enc" else decoder_stacks(lengths):
            name = f"{kind}-{length}"
            save(name, stack, paths[name])
            print(f"stacks: {name} made", file=sys.stderr)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="enc-16 to enc-512, dec-16 to dec-256")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR")
    parser.add_argument("--program", type=Path, default=PROGRAM, metavar="ATTNFLOW")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in NAMES]:
        parser.error(f"no stack is named {', '.join(unknown)}; there are {', '.join(NAMES)}")
    try:
        if Path(sys.prefix).resolve() != environment.VENV.resolve():
            return subprocess.run([environment.python(), __file__, *sys.argv[1:]]).returncode
        paths = make(list(dict.fromkeys(arguments.names)) or NAMES, arguments.out, arguments.program)
    except (StackError, environment.EnvironmentProblem, OSError) as error:
        print(f"stacks: {error}", file=sys.stderr)
        return 1
    for path in paths.values():
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
