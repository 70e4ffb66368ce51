"""What ends a program early, and the exit code that follows from it."""

from __future__ import annotations


class Failure(Exception):
    """It ran and failed. The message says what, where and what to do next."""

    exit_code = 1


class BadInput(Failure):
    """The command line, or a file that it names, asks for what can't be done."""

    exit_code = 2
