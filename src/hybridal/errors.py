"""What went wrong, said to a person in one sentence."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

# Line ends, terminal escapes, lone surrogates, and marks that turn the direction of what follows.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """Escape what would break a line, control a terminal or not be encodable.

    Names and values of foreign files stand in sentences that a terminal, a page or a log shows.

    Args:
        text: Any text.

    Returns:
        The text with a backslash escape in place of each such character.

    >>> print(one_line("no column 'a\\nb\\x1b[31m'"))
    no column 'a\\nb\\x1b[31m'
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class UserError(ValueError):
    """Bad input or a bad situation that its user can mend.

    The message is one clear sentence on one line (see `one_line`) that names the file, row, column or argument and says
    what to do. `field` is the argument or setting that it is about, by its own name, or None; one of the protocol is
    `protocol.NAME`. Such a message writes arguments in backquotes, so that the command line can put its options there.
    The command line prints the sentence without a traceback and exits with `exit_code`.

    >>> UserError("`max_words` must be at least 1, not 0.", field="max_words").field
    'max_words'
    """

    exit_code = 2

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(one_line(message))
        self.field = field


class RunError(UserError):
    """A run could not go on (full disk, damaged checkpoint, second process); what is recorded is safe."""

    exit_code = 3


def reason(error: Exception) -> str:
    """What another package's error says, to be put into a sentence.

    >>> reason(OSError("no route to host.")), reason(TimeoutError())
    ('no route to host', 'TimeoutError')
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def located(error: BaseException) -> str:
    """An error of foreign code in one line: its kind, its message, and where it was raised.

    Args:
        error: An error that was caught.

    Returns:
        Such as "KeyError: 'oops' (mine.py, line 12)".

    Example:
        >>> located(ZeroDivisionError("division by zero"))
        'ZeroDivisionError: division by zero'
    """
    message = str(error).strip().splitlines()
    text = type(error).__name__ + (f": {message[0].rstrip('.')}" if message else "")
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else text
