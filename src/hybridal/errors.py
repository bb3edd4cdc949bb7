"""The errors that users see, each one clear sentence."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

# Line ends, terminal escapes, lone surrogates, and marks that change the direction of the text after them.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    r"""Escape characters that would break a line, control a terminal or not be encodable.

    Error messages quote names and values from files, and are shown in terminals, pages and logs.

    Args:
        text: Any text.

    Returns:
        The text with a backslash escape in place of each such character.

    >>> print(one_line("no column 'a\nb\x1b[31m'"))
    no column 'a\nb\x1b[31m'
    """
    escaped = _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return text if escaped == text else escaped  # a `Sentence` stays one


class UserError(ValueError):
    """Bad input, or a situation that the user can fix.

    The message is one sentence on one line (see `one_line`) that names the file, row, column or argument and tells
    what to do. It quotes arguments in backquotes, which the command line replaces by its options. The command line
    prints the message without a traceback and exits with `exit_code`. The app shows a `Sentence` in the language of
    the page; it is `args[0]`.

    Attributes:
        field: The argument or setting that is wrong, or None; `protocol.NAME` for a field of the protocol.
        exit_code: The exit code of the command line.

    Example:
        >>> UserError("`max_words` must be at least 1, not 0.", field="max_words").field
        'max_words'
    """

    exit_code = 2

    def __init__(self, message: str, *, field: str | None = None) -> None:
        """Create the error.

        Args:
            message: The sentence.
            field: The argument or setting that is wrong.
        """
        super().__init__(one_line(message))
        self.field = field


class RunError(UserError):
    """A run could not continue (full disk, damaged checkpoint, second process); its recorded rounds are safe.

    Example:
        >>> RunError("The disk is full; free some space and resume the run.").exit_code
        3
    """

    exit_code = 3


def reason(error: Exception) -> str:
    """Return the first line of an error's message, to be quoted in a sentence.

    >>> reason(OSError("no route to host.")), reason(TimeoutError())
    ('no route to host', 'TimeoutError')
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def located(error: BaseException) -> str:
    """Describe an error of another package in one line: its type, its message, and where it was raised.

    Args:
        error: The error.

    Returns:
        A description such as "KeyError: 'oops' (mine.py, line 12)".

    Example:
        >>> located(ZeroDivisionError("division by zero"))
        'ZeroDivisionError: division by zero'
    """
    message = str(error).strip().splitlines()
    text = type(error).__name__ + (f": {message[0].rstrip('.')}" if message else "")
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else text
