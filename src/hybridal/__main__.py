"""`python -m hybridal` is the command line."""

from hybridal.cli import main

main()
