from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from hybridal.app.db.connect import connect
from hybridal.app.db.migrate import STEPS, migrate
from hybridal.app.db.schema import Base
from hybridal.errors import UserError


def test_the_steps_lead_to_the_tables_of_the_schema(db: str | None, tmp_path: Path) -> None:
    engine = connect(db or f"sqlite:///{tmp_path}/x.db")
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
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
            found.append({name: " ".join(sql.replace('"', "").split()) for name, sql in rows if "alembic" not in name})
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
