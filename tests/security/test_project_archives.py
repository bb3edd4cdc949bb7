"""Exports of projects may come from strangers: hostile ones are refused with a sentence, and leave nothing behind."""

from __future__ import annotations

import io
import json
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect

from hybridal.app.exchange import archive_reader
from hybridal.app.exchange.archive_export import archive_parts
from hybridal.app.exchange.project_archive import import_project
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.comments import begin_thread
from hybridal.app.people import User
from hybridal.app.project import Project
from hybridal.errors import UserError

from ..app.made_up import make, me

Entries = dict[str, bytes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Entries:
    """The entries of a valid export."""
    with closing(make(tmp_path_factory.mktemp("export") / "p", texts=3)) as project:
        with project.sessions.begin() as session:
            annotate(session, me(project), "t1", "label", class_name="a", key="1")
            begin_thread(session, User(me(project), "", ""), "t1", None, "why?", "1")
        content = b"".join(archive_parts(project))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, entries: Entries) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def changed(whole: Entries, table: str, change: Callable[[list[str], list[Any]], None]) -> Entries:
    """The entries with another first row of a table; `change` receives the columns and the row."""
    name = f"tables/{table}.jsonl"
    head, row, *rest = whole[name].decode().splitlines()
    columns, values = json.loads(head), json.loads(row)
    change(columns, values)
    return {**whole, name: "\n".join([head, json.dumps(values), *rest, ""]).encode()}


def with_value(whole: Entries, table: str, column: str, value: Any) -> Entries:
    def change(columns: list[str], values: list[Any]) -> None:
        values[columns.index(column)] = value

    return changed(whole, table, change)


def with_setting(whole: Entries, name: str, value: Any) -> Entries:
    rows = [line for line in whole["tables/settings.jsonl"].decode().splitlines() if not line.startswith(f'["{name}"')]
    return {**whole, "tables/settings.jsonl": "\n".join([*rows, json.dumps([name, value]), ""]).encode()}


def refused(path: Path, folder: Path, match: str, db: str | None = None) -> None:
    with pytest.raises(UserError, match=match):
        import_project(path, folder / "new", db, title="new", encoders=["auto"])
    assert not (folder.parent / "escaped").exists()


def test_the_whole_export_is_accepted(whole: Entries, tmp_path: Path) -> None:
    import_project(packed(tmp_path / "x.zip", whole), tmp_path / "new", title="new", encoders=["auto"])


@pytest.mark.parametrize(
    "name",
    ["../escaped", "/tmp/escaped", "tables/../../escaped", "..\\escaped", "C:\\escaped", "runs/1/x", "labels.db"],
)
def test_a_file_that_does_not_belong_there_is_refused(name: str, whole: Entries, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", {**whole, name: b"x"})
    refused(path, tmp_path, "does not belong there")
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_is_never_followed(whole: Entries, tmp_path: Path) -> None:
    """An entry may be marked as a symbolic link; its content is read as a table, and nothing is written to disk."""
    secret = tmp_path / "secret"
    secret.write_text('["name","value"]\n')
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name, content in whole.items():
            entry = zipfile.ZipInfo(name)
            if name == "tables/settings.jsonl":
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = str(secret).encode()
            archive.writestr(entry, content)
    refused(tmp_path / "x.zip", tmp_path, "cannot be read")


def test_a_table_that_is_there_twice_is_refused(whole: Entries, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", whole)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("tables/texts.jsonl", b"")
    refused(path, tmp_path, "does not belong there")


def test_a_bomb_is_refused_before_it_is_unpacked(
    whole: Entries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_reader, "ANY_RATIO_BYTES", 10_000_000)
    path = packed(tmp_path / "x.zip", {**whole, "tables/texts.jsonl": b" " * 50_000_000})
    assert path.stat().st_size < 200_000
    refused(path, tmp_path, "too large when it is unpacked")


def test_a_bomb_that_lies_about_its_size_is_refused(whole: Entries, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", {**whole, "tables/texts.jsonl": b"[" * 1_000_000})
    content = path.read_bytes()
    size = (1_000_000).to_bytes(4, "little")
    assert content.count(size) == 2  # in the header of the entry, and in the directory
    path.write_bytes(content.replace(size, (100).to_bytes(4, "little")))
    refused(path, tmp_path, "cannot be read")


def test_a_line_without_an_end_is_not_read_into_memory(
    whole: Entries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_reader, "MAX_LINE", 100)
    refused(packed(tmp_path / "x.zip", with_value(whole, "texts", "body", "x" * 200)), tmp_path, "cannot be read")


@pytest.mark.parametrize("deep", ["[" * 100_000, "1" * 5000, "NaN", '"\\ud800"'])
def test_json_that_breaks_parsers_is_refused(deep: str, whole: Entries, tmp_path: Path) -> None:
    entries = {**whole, "tables/settings.jsonl": f'["name","value"]\n["guidelines",{deep}]\n'.encode()}
    refused(packed(tmp_path / "x.zip", entries), tmp_path, r".")


@pytest.mark.parametrize(
    "about",
    [
        {"format": "hybridal project", "version": 2, "tables": "1"},
        {"format": "hybridal project", "version": 1, "tables": "99"},
        {"format": "hybridal project", "version": None},
        {"format": "another program", "version": 1, "tables": "1"},
        ["hybridal project"],
    ],
)
def test_other_versions_and_programs_are_refused(about: Any, whole: Entries, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", {**whole, "project.json": json.dumps(about).encode()})
    refused(path, tmp_path, r"another version of hybridal|not the export of a project")


def test_tables_with_other_columns_are_refused(whole: Entries, tmp_path: Path) -> None:
    for head in (b'["name"]\n', b'["name","value","password"]\n'):
        path = packed(tmp_path / "x.zip", {**whole, "tables/settings.jsonl": head})
        refused(path, tmp_path, "another version of hybridal")


def test_a_foreign_database_is_refused(whole: Entries, tmp_path: Path) -> None:
    database = tmp_path / "labels.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE settings (name, value)")
        connection.commit()
    refused(database, tmp_path / "x", "not the export")
    path = packed(tmp_path / "x.zip", {"labels.db": database.read_bytes(), "project.json": b"{}"})
    refused(path, tmp_path / "x", "does not belong there")
    # The name of a database in the archive is not used.
    about = {**json.loads(whole["project.json"]), "db": f"sqlite:///{tmp_path / 'escaped'}", "schema": "public"}
    path = packed(tmp_path / "x.zip", {**whole, "project.json": json.dumps(about).encode()})
    import_project(path, tmp_path / "new", title="new", encoders=["auto"])
    assert {*json.loads((tmp_path / "new" / "project.json").read_text())} == {"name", "key"}
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"PK\x05\x06" + b"\0" * 18, b"text,label\n", b"\0" * 1000])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    refused(tmp_path / "x.zip", tmp_path, "cannot be read|not the export of a project")


def test_damage_is_noticed(whole: Entries, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", whole)
    content = path.read_bytes()
    middle = content.index(b"tables/texts.jsonl") + 40
    path.write_bytes(
        content[:middle] + bytes(255 - byte for byte in content[middle : middle + 20]) + content[middle + 20 :]
    )
    refused(path, tmp_path, "cannot be read")
    path.write_bytes(content[: len(content) // 2])
    refused(path, tmp_path, "not the export")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schedule", "subprocess.Popen:true"),
        ("schedule", "hybrid:os.system"),
        ("prices", {"people": -1}),
        ("acquisition", "hybridal.testing.common.Own"),
        ("acquisition", "../own.py"),
        ("unknown", 1),
        ("budget", "many"),
        ("protocol", "worst"),
        ("multi_label", "yes"),
        ("overrides", {"validation": "nowhere"}),
    ],
)
def test_settings_name_no_code_and_are_valid(name: str, value: Any, whole: Entries, tmp_path: Path) -> None:
    refused(packed(tmp_path / "x.zip", with_setting(whole, name, value)), tmp_path, r".")


@pytest.mark.parametrize("value", ["/etc/passwd", "someone/model", "../model", 7])
def test_an_encoder_of_a_stranger_is_not_loaded(value: Any, whole: Entries, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", with_setting(whole, "backbone", value))
    import_project(path, tmp_path / "new", title="new", encoders=["auto", "minilm"])
    with closing(Project.open(tmp_path / "new")) as project:
        assert project.setting("backbone") == "auto"


def test_addresses_and_keys_of_a_language_model_are_not_taken_over(whole: Entries, tmp_path: Path) -> None:
    entries = with_setting(with_setting(whole, "llm", {"url": "http://169.254.169.254/"}), "key", "stolen")
    import_project(packed(tmp_path / "x.zip", entries), tmp_path / "new", title="new", encoders=["auto"])
    with closing(Project.open(tmp_path / "new")) as project:
        assert project.setting("llm") == {}
        assert project.key != "stolen"


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("people", "role", "god"),
        ("people", "role", "annotator"),
        ("people", "kind", "llm"),
        ("people", "number", "1; DROP TABLE people"),
        ("people", "number", True),
        ("people", "number", 10**30),
        ("people", "name", "\ud800"),
        ("people", "active", 1),
        ("people", "own_keys", ["s"]),
        ("people", "own_keys", {"s": {"x": 1}}),
        ("texts", "body", None),
        ("texts", "body", {"$gt": ""}),
        ("texts", "random_order", "soon"),
        ("texts", "split", "elsewhere"),
        ("texts", "suggestion", 99),
        ("annotations", "text_row", 99),
        ("annotations", "class_number", 99),
        ("annotations", "action", "delete"),
        ("comment_threads", "newest", 99),
        ("comment_threads", "to_person", 99),
        ("comments", "body", "x" * 2001),
        ("classes", "archived", "gone"),
        ("classes", "merged_into", 99),
    ],
)
def test_values_are_checked(table: str, column: str, value: Any, whole: Entries, tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", with_value(whole, table, column, value))
    refused(path, tmp_path, "was not imported|cannot be read")


@pytest.mark.postgres
def test_a_refused_export_leaves_no_table_in_postgresql(whole: Entries, tmp_path: Path, empty_postgres: str) -> None:
    engine = create_engine(empty_postgres)
    before = inspect(engine).get_schema_names()
    wrong = [("annotations", "class_number", 99), ("classes", "position", 2**40), ("texts", "suggestion", 99)]
    for table, column, value in wrong:
        path = packed(tmp_path / "x.zip", with_value(whole, table, column, value))
        refused(path, tmp_path, "was not imported|cannot be read", empty_postgres)
        assert inspect(engine).get_schema_names() == before
    engine.dispose()
