"""The command line: each verb parses and prints, nothing else."""

from __future__ import annotations

from hybridal.system.exit import left_by_ctrl_c

__all__ = ["main"]


def main() -> None:
    """The entry point. Importing the verbs takes long enough to press Ctrl-C, so it is done where that is answered."""
    with left_by_ctrl_c("hybridal: stopped.\n"):
        from hybridal.cli.main_app import answer
    answer()
