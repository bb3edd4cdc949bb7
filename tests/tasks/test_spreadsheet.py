from __future__ import annotations

import sys
import zipfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from hybridal.errors import UserError
from hybridal.tasks.spreadsheet import read_xlsx
from hybridal.tasks.table import joined


def book(path: Path, *rows: Sequence[Any]) -> Path:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    made.save(path)
    return path


def test_rows_are_counted_as_excel_does_and_blank_ones_are_none(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        [None],
        ["text", "when", None, "n"],
        ["a", datetime(2024, 5, 1, 9, 30), "x", 1.0],
        [],
        [" "],
        ["b"],
    ]
    table = joined(read_xlsx(book(tmp_path / "x.xlsx", *rows), ["text"], others=True))
    assert table.columns == {"text": ["a", "b"], "when": ["2024-05-01T09:30:00", ""], "n": ["1", ""]}
    assert table.at(1).endswith("x.xlsx, row 6")


def test_formulas_give_what_they_last_came_to(tmp_path: Path) -> None:
    table = joined(read_xlsx(book(tmp_path / "x.xlsx", ["text"], ["=1+1"], ["a"]), ["text"]))
    assert table.columns["text"] == ["a"]  # never computed by a spreadsheet, so there is nothing to read


def test_damage_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = book(tmp_path / "x.xlsx", ["text"], ["a"])
    broken = tmp_path / "broken.xlsx"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(broken, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content[: len(content) // 2] if "sheet1" in name else content)
    with pytest.raises(UserError, match=r"broken\.xlsx: not a whole Excel file \(.*\); save it again"):
        joined(read_xlsx(broken, ["text"]))


def test_without_the_library_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "x.xlsx", ["text"], ["a"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UserError, match=r"needs openpyxl; install `hybridal\[app\]`"):
        joined(read_xlsx(path, ["text"]))
