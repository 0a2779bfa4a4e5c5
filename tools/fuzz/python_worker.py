"""Some calls of the attnflow package with arguments drawn from a seed: python_worker.py SEED CALLS.

Exits with status 1 if a call raises anything but attnflow.Error or TypeError, or returns a non-finite number. The
messages of all errors go to standard error.
"""

import gc
import sys
import warnings
from random import Random

import numpy as np
from mutations import damage_json

import attnflow

ODD = (
    None, True, -1, 0, 1, 2, 3.5, 1e308, float("nan"), float("inf"), 10**40, -(10**40), "", "a", "\0", "\ud800", "😀", b"x",
    (), [], {}, [[]], {"a": 1}, [1, "a"], "raw", "flow,flow", "1-", "99999999999999999999", object(), int, lambda: 0,
    np.float32(2), np.zeros(0), np.array("x"), range(3), 1j, slice(1), ...,
)  # fmt: skip
OPTIONS = (
    "method", "heads", "residual", "discard", "discard_keep_special", "mask_columns", "layers", "start_layer", "output_token",
    "normalize", "words", "flow_tolerance", "top_k", "renormalize", "any_weights", "threads", "mixing", "target", "nothing",
)  # fmt: skip
FINE = {
    "method": ("raw", "rollout", "flow", ["raw", "flow"]), "heads": ("max", "min", 0), "residual": (0, 0.3, 1), "discard": (0.5,),
    "layers": ("1", [1]), "start_layer": (0,), "output_token": ("all", 0), "normalize": ("row", "receptive-field"),
    "renormalize": (True,), "any_weights": (True,), "mask_columns": ("first", [0]), "threads": (1, 2),
}  # fmt: skip


class Strange:
    """An object that answers array protocols with something different each time."""

    def __init__(self, random: Random):
        self.random = random

    @property
    def __array_interface__(self):
        return self.random.choice((
            None, {}, {"version": 3, "shape": (2, 2), "typestr": "<f4", "data": (0, True)}, {"version": 3, "shape": (-1,)},
        ))  # fmt: skip

    def __array__(self, *_, **__):
        return self.random.choice((None, 1, np.ones((1, 1, 1, 1)), "a"))

    def __len__(self):
        return self.random.choice((0, 1, 2**40))

    def __getitem__(self, index):
        if self.random.random() < 0.5:
            raise IndexError(index)
        return np.ones((1, 1, 1))


def attention(random: Random):
    """Valid in half of the cases."""
    numbers = np.random.default_rng(random.randrange(2**63))
    layers, heads, n = random.randint(1, 3), random.randint(1, 3), random.randint(1, 6)
    good = numbers.dirichlet(np.ones(n), (layers, heads, n)).astype(random.choice((np.float32, np.float64)))
    match random.randrange(14):
        case 0:
            good.reshape(-1)[random.randrange(good.size)] = random.choice((np.nan, np.inf, -1, 1e38))
        case 1:
            return good.astype(random.choice(("f2", ">f8", "i4", "u1", "?", "c8", "O", "U3", "S3", "M8[s]", "V4")))
        case 2:
            return np.lib.stride_tricks.as_strided(good, (2, 2, 3, 3), (0, 0, 0, 0))
        case 3:
            return good[..., ::-1, ::-1].transpose(random.sample(range(4), 4))
        case 4:
            return random.choice(ODD)
        case 5:
            return [random.choice((layer, layer[0], layer[None], random.choice(ODD))) for layer in good]
        case 6:
            return Strange(random)
        case 7:
            return np.zeros([random.choice((0, 1, 2)) for _ in range(random.randrange(8))])
        case 8:
            return {
                random.choice(("attentions", "blocks.0.attn.hook_pattern", 1, "x")): random.choice(
                    (good, None, good[0])
                )
            }
        case 9:
            return memoryview(good) if random.random() < 0.5 else good.tolist()
    return good


def options(random: Random) -> dict:
    asked = {}
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        name = random.choice(OPTIONS)
        asked[name] = random.choice(FINE[name] if name in FINE and random.random() < 0.6 else ODD)
    if "threads" in asked and isinstance(asked["threads"], int) and asked["threads"] > 64:
        del asked["threads"]
    return asked


def use(random: Random, report) -> None:
    """Reads, writes, compares and reads back."""
    for method in report.methods:
        if not np.isfinite(getattr(report, method)).all():
            raise AssertionError(f"{method} holds a value that is not finite")
    match random.randrange(6):
        case 0:
            ending = random.choice(("json", "csv", "html", "npz", "safetensors", "svg", "png", "pdf"))
            path = random.choice((f"out.{ending}", "out.x", "", "no/such/folder/x", "a" * 300, "/dev/full", *ODD))
            # Only open() accepts a number as a descriptor.
            getattr(report, f"to_{ending}")(path)
        case 1:
            figure = {random.choice(("view", "layer", "method", "width", "top_k", "x")): random.choice(("graph", *ODD))}
            getattr(report, random.choice(("to_svg", "to_png")))(**figure)
        case 2:
            attnflow.Report.from_json(damage_json(random, report.to_json().encode()).decode("utf-8", "surrogateescape"))
        case 3:
            attnflow.compare(report, random.choice((report, report, *ODD)))
        case 4:
            assert attnflow.Report.from_json(report.to_json()).to_json() == report.to_json()
        case _:
            for name in random.sample(dir(report), 3):
                getattr(report, name)
            str(report), repr(report), report.columns


def call(random: Random) -> None:
    what = random.choice((attnflow.attribute, attnflow.attribute, attnflow.raw, attnflow.rollout, attnflow.flow))
    given = attention(random)
    more = options(random)
    if what is attnflow.attribute:
        if random.random() < 0.3:
            more["tokens"] = random.choice((["a", "b"], ["😀"] * 3, ["\ud800"], *ODD))
        if random.random() < 0.2:
            more["special"] = random.choice(([True], [False] * 4, *ODD))
        use(random, what(given, **more))
    elif not np.isfinite(what(given, **more)).all():
        raise AssertionError("a value is not finite")


def main(seed: int, calls: int) -> None:
    warnings.simplefilter("ignore")
    for number in range(calls):
        random = Random(f"{seed}/{number}")
        try:
            call(random)
        except (attnflow.Error, TypeError) as error:
            print(
                f"call {number}: {type(error).__name__}: {error}".encode("utf-8", "replace")[:600].decode(),
                file=sys.stderr,
            )
        except BaseException:
            print(f"call {number} of seed {seed}:", file=sys.stderr)
            raise
    gc.collect()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
