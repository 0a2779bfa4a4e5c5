"""Errors that users can act on."""

from __future__ import annotations


class Error(Exception):
    """What was expected, what was found and what to do, in the words of the program.

    kind: "usage" (an option or argument with a wrong value), "bad_input" (arrays that are no attention, texts without tokens),
    "unsupported_model", "input_too_long" or "other".
    """

    def __init__(self, message: str, *, kind: str = "other") -> None:
        super().__init__(message)
        self.kind = kind
