"""The command line: each command only parses and prints."""

from __future__ import annotations

from hybridal.system.exit import exit_on_ctrl_c

__all__ = ["main"]

STOPPED = "hybridal: stopped.\n"


def main() -> None:
    """Entry point. The commands are imported here, because users press Ctrl-C during the import."""
    with exit_on_ctrl_c(STOPPED):
        from hybridal.cli.main_app import answer
        from hybridal.system.background_imports import exit_during_imports
    exit_during_imports(STOPPED)
    answer()
