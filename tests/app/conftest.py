from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from sqlalchemy import create_engine, text

from hybridal.app.people import _unused_hash
from hybridal.app.project import Project

from . import postgres
from .made_up import make


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A PostgreSQL server."""
    if postgres.program("initdb") is None:
        pytest.skip("PostgreSQL is not installed: `apt-get install postgresql`")
    with postgres.server() as address:
        yield address


@pytest.fixture
def empty_postgres(server: str) -> str:
    """The address of an empty database: the same for all tests, since a new one takes ten times as long."""
    engine = create_engine(f"{server}postgres", isolation_level="AUTOCOMMIT")
    left = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    with engine.connect() as connection:
        connection.execute(text(f"{left} AND datname = current_database()"))
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return f"{server}postgres"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def db(request: pytest.FixtureRequest) -> str | None:
    """The address of an empty database: None is a project's own SQLite file."""
    return request.getfixturevalue("empty_postgres") if request.param == "postgres" else None


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A small project on SQLite."""
    made = make(tmp_path / "p")
    yield made
    made.close()


@pytest.fixture
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hashing is slow on purpose; that it is argon2 is tested in `test_people`."""
    monkeypatch.setattr("hybridal.app.people._hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    _unused_hash.cache_clear()
    yield
    _unused_hash.cache_clear()
