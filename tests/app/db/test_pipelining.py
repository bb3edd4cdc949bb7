from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import DBAPIError

from hybridal.app.db.pipelining import PIPELINED
from hybridal.app.db.schema import Lease, Tally

from ..made_up import make, me

pytestmark = pytest.mark.postgres


def test_pipelined_writes_commit_or_fail_as_a_whole(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    more = update(Tally).values(texts=Tally.texts + 1).execution_options(**PIPELINED)
    lease = insert(Lease).execution_options(**PIPELINED)
    mine = {"person_number": me(project).number, "until": 1.0}
    with project.sessions.begin() as session:
        session.execute(more)
        session.connection().execute(lease, [{"text_row": row, **mine} for row in (1, 2)])
        assert session.scalar(select(Tally.texts)) == 21, "a query waits for the statements before it"
        session.execute(more)

    def fail(row: int, then: str) -> None:
        with project.sessions.begin() as session:
            session.execute(more)
            session.connection().execute(lease, {"text_row": row, **mine})
            session.execute(more)
            if then:
                session.execute(text(then))

    for row, then in ((2, "SELECT 1"), (2, ""), (3, "SELECT 1 / 0")):
        with pytest.raises(DBAPIError, match="division" if row == 3 else "duplicate key"):
            fail(row, then)
    with project.sessions.begin() as session:
        assert session.scalar(select(Tally.texts)) == 22
        assert session.scalars(select(Lease.text_row).order_by(Lease.text_row)).all() == [1, 2]
    project.close()
