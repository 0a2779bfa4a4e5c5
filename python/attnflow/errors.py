"""Errors that users can act on."""

from __future__ import annotations


class Error(Exception):
    """An error that says what was expected, what was found and what to do, in the words of the program.

    kind: "usage" (a wrong value of an option or argument), "bad_input" (an array is not attention, a text has no
        tokens), "unsupported_model", "input_too_long" or "other".
    """

    def __init__(self, message: str, *, kind: str = "usage") -> None:
        super().__init__(message)
        self.kind = kind


def bad_input(message: str) -> Error:
    return Error(message, kind="bad_input")


def unsupported(message: str) -> Error:
    return Error(message, kind="unsupported_model")
