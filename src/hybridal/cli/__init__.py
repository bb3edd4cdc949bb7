"""The command line: each command only parses and prints."""

from __future__ import annotations

from hybridal.system.exit import exit_on_ctrl_c

__all__ = ["main"]


def main() -> None:
    """Entry point. The commands are imported here, because users press Ctrl-C during the import."""
    with exit_on_ctrl_c("hybridal: stopped.\n"):
        from hybridal.cli.main_app import answer
    answer()
