from __future__ import annotations

import subprocess
import sys

import pytest

from hybridal.system.ahead import import_beside


def test_what_is_needed_soon_is_there_when_it_returns_and_the_rest_comes() -> None:
    """In a process of its own, where nothing is imported yet."""
    script = """
import sys
from hybridal.system.ahead import import_beside
soon, later = ["xml.dom.minidom", "no.such.module", "wave"], ["no_such_module", "this"]
assert not {"colorsys", "wave", "xml.dom.minidom", "this"} & sys.modules.keys()
import_beside("colorsys", soon, later)
assert {"colorsys", "wave", "xml.dom.minidom"} <= sys.modules.keys()
"""
    ended = subprocess.run([sys.executable, "-c", script], check=True, timeout=60, capture_output=True, text=True)
    assert "Beautiful is better than ugly" in ended.stdout  # `this` prints a poem


def test_nothing_is_imported_beside_what_is_there_already() -> None:
    import_beside("sys", ["this"], ["antigravity"])
    assert not {"this", "antigravity"} & sys.modules.keys()


def test_what_cannot_be_imported_says_so() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_beside("no_such_module", [])
