from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from hybridal.errors import UserError
from hybridal.tasks import sheet_reader
from hybridal.tasks.reader_process import reader_output
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


def test_formulas_give_their_cached_value(tmp_path: Path) -> None:
    table = joined(read_xlsx(book(tmp_path / "x.xlsx", ["text"], ["=1+1"], ["a"]), ["text"]))
    assert table.columns["text"] == ["a"]  # never computed by a spreadsheet, so there is nothing to read


def test_damaged_file_gets_one_sentence(tmp_path: Path) -> None:
    path = book(tmp_path / "x.xlsx", ["text"], ["a"])
    broken = tmp_path / "broken.xlsx"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(broken, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content[: len(content) // 2] if "sheet1" in name else content)
    with pytest.raises(UserError, match=r"broken\.xlsx: not a whole Excel file \(.*\); save it again"):
        joined(read_xlsx(broken, ["text"]))


def sheet(path: Path, *rows: str) -> Path:
    """A file whose sheet is written by hand."""
    plain = book(path.with_suffix(".plain"), ["text"])
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    made = f'<worksheet xmlns="{space}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, made if "sheet1" in name else source.read(name))
    return path


def text(letters: str) -> str:
    return f'<row><c t="inlineStr"><is><t>{letters}</t></is></c></row>'


def test_a_small_file_that_unpacks_to_very_much_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sheet(tmp_path / "bomb.xlsx", text("text"), text("a" * 20_000_000))
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(subprocess, "Popen", None)  # no process is started for it
    with pytest.raises(UserError, match=r"bomb\.xlsx: the file is too large .* unpacks to 20 MB\); save it as"):
        joined(read_xlsx(path, ["text"]))


def test_declared_size_is_not_trusted(tmp_path: Path) -> None:
    """No more of a member is unpacked than the archive declares."""
    path = sheet(tmp_path / "liar.xlsx", text("text"), text("a" * 1_000_000))
    with zipfile.ZipFile(path) as archive:
        entry = next(one for one in archive.infolist() if "sheet1" in one.filename)
        true_size, declared = entry.file_size.to_bytes(4, "little"), (1000).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(true_size, declared))
    with pytest.raises(UserError, match="not a whole Excel file"):
        joined(read_xlsx(path, ["text"]))


@pytest.mark.parametrize(("limit", "most"), [("MOST_CELLS", 30_000), ("MOST_LETTERS", 100)])
def test_one_row_cannot_stand_for_millions_of_cells(
    limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sheet(tmp_path / "wide.xlsx", text("text"), *['<row><c r="XFD1" t="b"><v>1</v></c></row>'] * 100)
    monkeypatch.setattr(sheet_reader, limit, most)
    sheet_reader.print_sheet(str(path))
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"too_large": sheet_reader.TOO_LARGE}


def test_exhausted_memory_is_reported(tmp_path: Path) -> None:
    path = sheet(tmp_path / "long.xlsx", text("text"), text("a" * 9_000_000))
    with reader_output(sheet_reader.__file__, str(path), memory=45 << 20, seconds=120) as printed:
        assert json.loads(printed.read()) == {"too_large": sheet_reader.TOO_MUCH_MEMORY}


def test_reader_that_is_stopped_leaves_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "x.xlsx", ["text"], ["a"])
    (tmp_path / "ended.py").write_text("import os; os.abort()")
    monkeypatch.setattr(sheet_reader, "__file__", str(tmp_path / "ended.py"))
    with pytest.raises(UserError, match="more than 120 seconds, or too much memory"):
        joined(read_xlsx(path, ["text"]))


def test_threads_read_side_by_side_and_leave_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "x.xlsx", ["text"], *[[f"row {n}"] for n in range(5000)])
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    with ThreadPoolExecutor(3) as threads:
        tables = [*threads.map(lambda _: joined(read_xlsx(path, ["text"])), range(3))]
    assert [len(table.places) for table in tables] == [5000] * 3
    unfinished = read_xlsx(path, ["text"])
    next(unfinished)
    unfinished.close()  # type: ignore[attr-defined]
    assert len(started) == 4
    assert all(one.returncode is not None for one in started)


def test_sheets_that_are_not_read_are_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = book(tmp_path / "x.xlsx", ["text"], ["a"])
    made = openpyxl.load_workbook(path)
    made.create_sheet("More")
    made.create_sheet("Notes")
    made.save(path)
    for _ in range(2):
        assert joined(read_xlsx(path, ["text"])).columns["text"] == ["a"]
    expected = f"{path}: only the first sheet, 'Sheet', is read, not 'More', 'Notes'; to read another"
    assert [message.startswith(expected) for message in caplog.messages] == [True]
