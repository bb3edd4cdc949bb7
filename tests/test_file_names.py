"""A stack trace or an editor tab that shows a file name names one module."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "hybridal"


def test_no_two_modules_have_files_of_the_same_name() -> None:
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if not path.name.startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []
