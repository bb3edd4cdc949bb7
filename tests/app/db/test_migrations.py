from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Engine, inspect, text

from hybridal.app.db import migrations, search
from hybridal.app.db.connect import connect, writing
from hybridal.app.db.migrations import STEPS, migrate, v002_digests, v004_search_and_scoring
from hybridal.app.db.schema import Base, fold, text_digest
from hybridal.app.db.search import INDEX, containing
from hybridal.errors import UserError


def in_the_schema(_object: object, name: str | None, *_: object) -> bool:
    """Each database has its own way to find parts of words."""
    return not (name or "").startswith(INDEX)


def test_the_steps_lead_to_the_tables_of_the_schema(db: str | None, tmp_path: Path) -> None:
    engine = connect(db or f"sqlite:///{tmp_path}/x.db")
    migrate(engine)
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_object": in_the_schema}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []
        for name, table in Base.metadata.tables.items():
            kept = {index["name"] for index in inspect(connection).get_indexes(name)}
            assert {index.name for index in table.indexes} <= kept
    migrate(engine)  # nothing is left to do
    engine.dispose()


def test_partial_indexes_are_the_same_in_the_steps_and_in_the_schema(db: str | None, tmp_path: Path) -> None:
    engine = connect(db or f"sqlite:///{tmp_path}/x.db")
    which = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    if db:
        which = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    found = []
    for make in (migrate, Base.metadata.create_all):
        make(engine)
        with engine.begin() as connection:
            rows = connection.execute(text(which)).all()
            kept = [(name, sql) for name, sql in rows if "alembic" not in name and not name.startswith(INDEX)]
            found.append({name: " ".join(sql.replace('"', "").split()) for name, sql in kept})
        Base.metadata.drop_all(engine)
    assert found[0] == found[1]
    engine.dispose()


def test_a_database_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path}/x.db")
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'from the future'"))
    with pytest.raises(UserError, match="newer version of hybridal"):
        migrate(engine)
    engine.dispose()


def test_there_is_one_way_through_the_steps() -> None:
    assert len(STEPS.get_heads()) == 1


def go_to(engine: Engine, revision: str) -> None:
    """Takes the steps of an earlier version."""
    with engine.begin() as connection:
        context = MigrationContext.configure(
            connection, opts={"fn": lambda current, _: STEPS._upgrade_revs(revision, current)}
        )
        with Operations.context(context):
            context.run_migrations()


def test_texts_of_the_first_version_are_kept_and_found_by_their_words(
    db: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(v002_digests, "AT_ONCE", 2)
    monkeypatch.setattr(v004_search_and_scoring, "AT_ONCE", 2)
    engine = connect(db or f"sqlite:///{tmp_path}/x.db")
    go_to(engine, "001")
    bodies = {1: "one", 2: "zwölf", 7: "", 8: "one", 9: "x" * 9000}
    columns = "row, id, body, split, place, wanted, answered, open, added"
    insert = text(f"INSERT INTO texts ({columns}) VALUES (:row, :id, :body, 'pool', 0.5, 1, 0, :open, 0)")
    with engine.begin() as connection:
        rows = [{"row": row, "id": f"t{row}", "body": body, "open": True} for row, body in bodies.items()]
        connection.execute(insert, rows)
    migrate(engine)
    with engine.connect() as connection:
        found = connection.execute(text("SELECT row, body, digest, folded FROM texts ORDER BY row")).all()
    kept = [(row, body, digest, folded.removesuffix("\n\n")) for row, body, digest, folded in found]
    assert kept == [(row, body, text_digest(body), fold(body)) for row, body in bodies.items()]
    with writing(engine)() as session:
        assert session.scalars(containing(session, "ZWOLF")).all() == [2]
    engine.dispose()


def test_what_takes_long_tells_how_far_it_is_and_finds_every_text(
    db: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(migrations, "AT_ONCE", 3)
    monkeypatch.setattr(migrations, "SILENCE", 0.0)
    engine = connect(db or f"sqlite:///{tmp_path}/x.db")
    go_to(engine, "010")
    columns = "row, id, body, split, place, wanted, answered, open, added, digest, folded, context"
    insert = text(
        f"INSERT INTO texts ({columns}) VALUES (:row, :id, 'x', 'pool', 0.5, 1, 0, :open, 0, '', :folded, '{{}}')"
    )
    with engine.begin() as connection:
        rows = [{"row": row, "id": f"t{row}", "open": True, "folded": f"word{row} ab"} for row in (1, 2, 3, 7, 8)]
        connection.execute(insert, rows)
        if db:  # an index that earlier versions made
            connection.execute(text(f"CREATE INDEX {INDEX} ON texts (folded)"))
    migrate(engine)
    assert [record.getMessage().rpartition(" ")[2] for record in caplog.records] == ["33%.", "67%.", "100%."]
    if not db:
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO text_search (text_search) VALUES ('integrity-check')"))
    for common in (-1.0, 1.0):
        monkeypatch.setattr(search, "COMMON", common)
        with writing(engine)() as session:
            assert session.scalars(containing(session, "word7")).all() == [7]
            assert sorted(session.scalars(containing(session, "b"))) == [1, 2, 3, 7, 8]
    engine.dispose()


def test_a_setting_that_got_another_name_keeps_its_value(db: str | None, tmp_path: Path) -> None:
    engine = connect(db or f"sqlite:///{tmp_path}/x.db")
    go_to(engine, "002")
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO settings (name, value) VALUES ('show_guesses', 'true')"))
    migrate(engine)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT name FROM settings")).scalars().all() == ["show_predictions"]
    engine.dispose()
