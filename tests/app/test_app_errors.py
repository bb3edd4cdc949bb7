from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import hybridal.app

SOURCES = sorted(Path(hybridal.app.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_sentence_names_an_option_of_the_command_line(path: Path) -> None:
    """A person who reads it on a page has typed no command; the command line adds the names of its options itself."""
    written = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
    assert not [words for words in written if isinstance(words, str) and re.search(r"(?<![\w-])--[a-z]", words)]
