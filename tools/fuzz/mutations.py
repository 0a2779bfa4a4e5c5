"""Damage to bytes, to JSON and to the values in it, all drawn from the given generator."""

import json
from random import Random

ODD_BYTES = (b"\0", b"\xff", b"\x7f", b"\x80", b"\n", b'"', b"{", b"}", b"-", b"9" * 20, b"\xff" * 8, b"\0" * 8)
ODD_INTEGERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
ODD_TEXTS = (
    "", " ", "\0", "\ud800", "a" * 5000, "\u202e\u0007", "../../etc/passwd", "%s%n", "😀" * 50, "NaN", "null", "-1", "0x10",
)  # fmt: skip
ODD_NUMBERS = (
    0, -1, 1, 2, 3, 255, 65536, 2**31, -(2**31), 2**53, 2**63, 2**64, 10**40, 0.5, -0.0, 1e-320, 1e308, -1e308, 1e400,
)  # fmt: skip


def damage(random: Random, content: bytes, times: int | None = None) -> bytes:
    """A few changes anywhere, most of them near the front, where headers are."""
    data = bytearray(content)
    for _ in range(times or random.choice((1, 1, 1, 2, 4, 16))):
        size = len(data)
        at = min(int(random.random() ** random.choice((1, 3)) * (size + 1)), size)
        match random.randrange(8):
            case 0 if at < size:
                data[at] ^= 1 << random.randrange(8)
            case 1 if at < size:
                data[at] = random.randrange(256)
            case 2:
                del data[at:]
            case 3:
                del data[at : at + random.choice((1, 2, 4, 8, 100))]
            case 4:
                data[at:at] = random.choice(ODD_BYTES)
            case 5:
                piece = data[at : at + random.choice((1, 4, 16, 200))]
                to = random.randrange(len(data) + 1)
                data[to:to] = piece
            case 6:
                width = random.choice((1, 2, 4, 8))
                data[at : at + width] = (random.choice(ODD_INTEGERS) % (1 << 8 * width)).to_bytes(
                    width, random.choice(("little", "big"))
                )
            case _:
                data += random.randbytes(random.choice((1, 7, 1000)))
    return bytes(data)


def odd_value(random: Random):
    match random.randrange(10):
        case 0:
            return None
        case 1:
            return random.choice((True, False))
        case 2 | 3 | 4:
            return random.choice(ODD_NUMBERS)
        case 5 | 6:
            return random.choice(ODD_TEXTS)
        case 7:
            return random.choice(([], {}, [[]], [None], [1, "a"], {"a": {}}))
        case 8:
            nested: object = 0
            for _ in range(random.choice((5, 100, 400))):
                nested = [nested]
            return nested
        case _:
            return [random.choice(ODD_NUMBERS) for _ in range(random.choice((1, 3, 100)))]


def places(value, found: list | None = None, depth: int = 50) -> list[tuple]:
    """(container, key) of every value inside, down to some depth."""
    found = [] if found is None else found
    if depth == 0:
        return found
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value[:40]))
    else:
        return found
    for key, inner in items:
        found.append((value, key))
        places(inner, found, depth - 1)
    return found


def damage_value(random: Random, value):
    """Changes a few values in a JSON value; large tables make up one in forty."""
    for _ in range(random.choice((1, 1, 2, 3))):
        where = places(value)
        if not where:
            return odd_value(random)
        # Outer levels first, so that settings are hit as often as vocabularies of thousands.
        container, key = random.choice(where if random.random() < 0.3 else where[: max(1, len(where) // 20)])
        match random.randrange(6):
            case 0:
                del container[key]
            case 1 if isinstance(container, dict):
                container[random.choice(ODD_TEXTS)] = container.pop(key)
            case 2 if isinstance(container[key], (int, float)) and not isinstance(container[key], bool):
                container[key] = random.choice(
                    (-container[key], container[key] + 1, container[key] * 2, container[key] / 2)
                )
            case _:
                container[key] = odd_value(random)
    return value


def damage_json(random: Random, text: bytes) -> bytes:
    """The same document with other values, or its text with other bytes."""
    if random.random() < 0.25:
        return damage(random, text)
    value = damage_value(random, json.loads(text))
    changed = json.dumps(value, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    if random.random() < 0.1:
        changed = random.choice((b"\xef\xbb\xbf" + changed, changed + b"\0", changed + changed, b"[" * 3000 + changed))
    return changed
