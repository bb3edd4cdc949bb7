"""What went wrong, said to a person in one sentence."""


class UserError(Exception):
    """Bad input or a bad situation that its user can mend.

    The message is one clear sentence that names the file, row, column or option and says what to do.
    The command line prints it without a traceback and exits with `exit_code`.
    """

    exit_code = 2


class RunError(UserError):
    """A run could not go on (full disk, damaged checkpoint, second process); what is recorded is safe."""

    exit_code = 3
