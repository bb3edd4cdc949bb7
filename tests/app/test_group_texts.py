from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from hybridal.app import group_texts as module
from hybridal.app.db.schema import Text
from hybridal.app.group_texts import group_texts
from hybridal.app.project_settings import write

from .labelling.test_look_alike_groups import groups, made


def test_a_process_finds_the_same_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TEXTS_HERE", 3)
    project = made(tmp_path / "p")
    before = groups(project)
    with project.sessions.begin() as session:
        session.execute(update(Text).values(look_alike_of=None))
    group_texts(project)
    assert {*groups(project).values()} == {None}, "no text was added since"
    with project.sessions.begin() as session:
        write(session, {"grouped": -1})
    group_texts(project)
    assert groups(project) == before
    project.close()
