"""The components that docs/extending.md shows pass the checks that it names."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def test_documented_components_pass_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("my_package")  # pickling finds the classes there
    monkeypatch.setitem(sys.modules, "my_package", module)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec("\n".join(blocks), module.__dict__)
    module.test_ours()
