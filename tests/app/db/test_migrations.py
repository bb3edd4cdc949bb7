from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import inspect, select, text

from hybridal.app.db.connect import connect
from hybridal.app.db.migrations import MIGRATIONS, migrate
from hybridal.app.db.schema import Base, Person
from hybridal.app.db.search import INDEX
from hybridal.errors import UserError


def in_the_schema(_object: object, name: str | None, *_: object) -> bool:
    """The search index is not declared in the schema."""
    return not (name or "").startswith(INDEX)


def test_migrations_create_the_tables_of_the_schema(db: str | None, tmp_path: Path) -> None:
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


def test_partial_indexes_are_the_same_in_migrations_and_schema(db: str | None, tmp_path: Path) -> None:
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


def test_rows_of_the_first_version_are_kept(db: str | None, tmp_path: Path) -> None:
    engine = connect(db or f"sqlite:///{tmp_path}/x.db")
    with engine.begin() as connection:
        steps = {"fn": lambda revision, _: MIGRATIONS._upgrade_revs("1", revision)}
        context = MigrationContext.configure(connection, opts=steps)
        with Operations.context(context):
            context.run_migrations()
        columns = "name, kind, role, active, joined"
        connection.execute(text(f"INSERT INTO people ({columns}) VALUES ('Ada', 'person', 'owner', true, 1.5)"))
    migrate(engine)
    with engine.connect() as connection:
        assert connection.execute(select(Person.name, Person.joined, Person.own_keys)).all() == [("Ada", 1.5, None)]
    engine.dispose()


@pytest.mark.parametrize(
    ("revision", "sentence"), [("from the future", "newer version of hybridal"), ("012", "before its first release")]
)
def test_a_database_of_another_version_is_refused(db: str | None, tmp_path: Path, revision: str, sentence: str) -> None:
    engine = connect(db or f"sqlite:///{tmp_path}/x.db")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": revision})
    with pytest.raises(UserError, match=sentence):
        migrate(engine)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()


def test_the_migrations_have_one_head() -> None:
    assert len(MIGRATIONS.get_heads()) == 1
