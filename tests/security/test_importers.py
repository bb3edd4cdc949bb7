"""Importers read inputs that fuzzing found (`python -m bench.fuzz`), and XML, YAML and Markdown that attack parsers."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from bench.fuzz import check, read_in_this_process
from hybridal.app.exchange.label_studio import read_config
from hybridal.errors import UserError, one_line
from hybridal.lab.study.study import read_study
from hybridal.tasks.read import read_rows

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha"}">' for n in range(12))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_fuzzing_findings_are_read_or_refused_in_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_in_this_process(monkeypatch.setattr)
    check(path.stem.partition("--")[0], path.read_bytes())


def test_sentences_about_files_cannot_control_a_terminal() -> None:
    assert (
        one_line("a\r\x1b]0;title\x07\u202eb\u2028c\ud800 é漢") == "a\\r\\x1b]0;title\\x07\\u202eb\\u2028c\\ud800 é漢"
    )
    assert str(UserError("mail.csv\n: no 'a\x1b[2J'")) == "mail.csv\\n: no 'a\\x1b[2J'"


def workbook(sheet: str, prolog: str) -> bytes:
    """An Excel file with this text in the XML of each part."""
    import openpyxl

    book, whole, changed = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    book.active.append(["text"])
    book.active.append(["PLACE"])
    book.save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            part = old.read(name).decode().replace("PLACE", sheet)
            new.writestr(name, prolog + part.removeprefix('<?xml version="1.0"?>'))
    return changed.getvalue()


@pytest.mark.parametrize(
    "entities",
    ['<!ENTITY x SYSTEM "file://{}">', '<!ENTITY x SYSTEM "http://169.254.169.254/">', '<!ENTITY % x SYSTEM "{}"> %x;'],
)
def test_a_spreadsheets_xml_reads_no_other_file(entities: str, tmp_path: Path) -> None:
    """External entities in openpyxl (GHSA-chqf-hx79-gxc6)."""
    (tmp_path / "secret").write_text("hunter2")
    prolog = f"<!DOCTYPE x [{entities.format(tmp_path / 'secret')}]>"
    (tmp_path / "mail.xlsx").write_bytes(workbook("&x;", prolog))
    try:
        texts = "".join(read_rows(tmp_path / "mail.xlsx", "text", drop_empty=True).texts)
    except UserError as error:
        texts = str(error)
    assert "hunter2" not in texts


def test_a_labelling_configuration_has_no_entities() -> None:
    """A billion laughs in the XML of Label Studio's configuration, or a file of the server."""
    view = '<View><Text name="t" value="$&a11;"/><Choices name="c" toName="t"/></View>'
    assert read_config(f"<!DOCTYPE x [{LAUGHS}]>{view}") is None
    assert read_config(f'<!DOCTYPE x SYSTEM "file:///etc/passwd">{view}') is None
    assert read_config(f"<!doctype x [{LAUGHS}]>{view}") is None
    assert read_config("<View>" * 30_000) is None


def test_a_study_in_yaml_makes_no_objects(tmp_path: Path) -> None:
    """Label Studio read YAML with a loader that calls what it names (huntr, February 2021)."""
    path = tmp_path / "study.yaml"
    mark = tmp_path / "code ran"
    for content in (
        f"tasks: !!python/object/apply:os.mkdir [{str(mark)!r}]",
        f"tasks: !!python/object/new:os.mkdir [{str(mark)!r}]",
    ):
        path.write_text(content)
        with pytest.raises(UserError):
            read_study(path)
    assert not mark.exists()
