"""Exceptions that end a program, with their exit codes."""

from __future__ import annotations


class Failure(Exception):
    """The program ran and failed. The message names the problem, its place and the next step."""

    exit_code = 1


class BadInput(Failure):
    """The command line, or a file that it names, is invalid."""

    exit_code = 2
