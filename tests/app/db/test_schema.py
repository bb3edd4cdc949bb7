from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from hybridal.app.db.schema import Text, text_digest
from hybridal.app.labelling.texts import add

from ..made_up import make


def test_a_text_is_found_by_its_words_also_where_the_database_could_not_keep_them(
    tmp_path: Path, db: str | None
) -> None:
    project = make(tmp_path / "p", db=db)
    with project.sessions.begin() as session:
        add(session, [("nul", "a\0b", None), ("long", "x" * 9000, None)])
        session.add(Text(id="alone", body="added\0alone", random_order=0.5))
    with project.reads() as session:
        for id, body in (("nul", "a\0b"), ("nul", "a\ufffdb"), ("long", "x" * 9000), ("alone", "added\0alone")):
            assert session.scalars(select(Text.id).where(Text.digest == text_digest(body))).all() == [id]
    project.close()
