"""Run the command line with `python -m hybridal`."""

from hybridal.cli import main

main()
