from __future__ import annotations

import subprocess
import sys

import pytest

from hybridal.system.ahead import import_beside


def test_others_are_there_when_it_returns() -> None:
    """In a process of its own, where nothing is imported yet."""
    script = """
import sys
from hybridal.system.ahead import import_beside
others = ["xml.dom.minidom", "no.such.module", "wave"]
assert not {"colorsys", "wave", "xml.dom.minidom"} & sys.modules.keys()
import_beside("colorsys", others)
assert {"colorsys", "wave", "xml.dom.minidom"} <= sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_nothing_is_imported_beside_what_is_there_already() -> None:
    import_beside("sys", ["this"])  # which would print a poem
    assert "this" not in sys.modules


def test_what_cannot_be_imported_says_so() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_beside("no_such_module", [])
