"""The command line: each verb parses and prints, nothing else."""

from hybridal.cli.app import main

__all__ = ["main"]
