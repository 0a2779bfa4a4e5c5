"""Places of tokens whose white space a tokenizer leaves out."""

from __future__ import annotations

import unittest
from typing import Any

from attnflow.text import Encoded, _end_of_text, encode


class _Encoding(dict[str, Any]):
    def word_ids(self) -> list[int | None]:
        return list(range(len(self["input_ids"])))

    def sequence_ids(self) -> list[int | None]:
        return [0] * len(self["input_ids"])


class _Tokenizer:
    """A fast tokenizer that gives every text these offsets."""

    is_fast = True
    added_tokens_decoder: dict[int, Any] = {}

    def __init__(self, offsets: list[tuple[int, int]]) -> None:
        self.offsets = offsets

    def __call__(self, **_: Any) -> _Encoding:
        return _Encoding(input_ids=list(range(len(self.offsets))), offset_mapping=self.offsets)

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [str(one) for one in ids]


class Places(unittest.TestCase):
    def test_white_space_belongs_to_its_own_token(self) -> None:
        rows = [
            ("a   b", [(0, 1), (2, 2), (3, 3), (4, 5)], [(0, 1), (1, 2), (2, 3), (4, 5)]),
            ("a  b", [(0, 1), (3, 3), (3, 4)], [(0, 1), (1, 3), (3, 4)]),
            ("  a ", [(1, 1), (2, 2), (2, 3), (4, 4)], [(0, 1), (1, 2), (2, 3), (3, 4)]),
        ]
        for text, offsets, places in rows:
            ((_, found),) = encode(_Tokenizer(offsets), text).texts
            self.assertEqual([place and place[:2] for place in found], places, text)

    def test_a_text_ends_before_what_the_tokenizer_adds(self) -> None:
        alone = _Tokenizer([(0, 1), (1, 2)])  # 0 and 1
        for ids, end in (([7, 0, 1, 9], 3), ([0, 1], 2), ([7, 0, 9, 9], 2)):
            special = [one > 6 for one in ids]
            self.assertEqual(_end_of_text(alone, "ab", Encoded(ids, list("abcd")[: len(ids)], special)), end)


if __name__ == "__main__":
    unittest.main()
