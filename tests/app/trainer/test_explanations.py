"""Explanations of predictions are requested by pages and computed by the trainer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, update

from hybridal.app.db.schema import Explanation, Prediction, Text
from hybridal.app.insight.prediction_reasons import similar_labelled, words_of
from hybridal.app.project import Project
from hybridal.app.trainer import explanations as module
from hybridal.app.trainer.cycle import Cycle
from hybridal.app.trainer.pending_work import has_work, read_state
from hybridal.app.vectors import stamp_of

from ..copies import copied
from ..made_up import me
from .projects import label, label_some, made, unlabelled


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


def learnt(project: Project, rounds: int) -> Cycle:
    cycle = Cycle(project)
    cycle.start()
    for at in range(rounds):
        label_some(project, 6, 0 if at else 6)
        assert cycle.turn()
    return cycle


def request(project: Project, id: str) -> Explanation | None:
    with project.sessions.begin() as session:
        return words_of(session, session.scalars(select(Text).where(Text.id == id)).one())


def predicted(project: Project) -> str:
    """A text with a prediction of the newest model."""
    with project.reads() as session:
        found = select(Text.id).join(Prediction, Prediction.text_row == Text.row).order_by(Prediction.round.desc())
        return session.scalars(found).first() or ""


@pytest.mark.parametrize("rounds", [1, 2], ids=["a probe", "a trained model"])
def test_the_trainer_explains_the_text_that_a_page_shows(project: Project, rounds: int) -> None:
    cycle = learnt(project, rounds)
    id = predicted(project)
    waiting = request(project, id)
    assert waiting is not None
    assert waiting.round is None
    assert not cycle.turn()
    assert cycle.explain()
    assert not cycle.turn()
    assert not cycle.explain()
    found = request(project, id)
    assert found is not None
    assert found.found is not None
    assert cycle.chapter is not None
    assert found.round == rounds
    with project.reads() as session:
        body = session.scalars(select(Text.body).where(Text.id == id)).one()
    wanted = cycle.chapter.learner.explain(body)
    assert [tuple(span) for span in found.found["spans"]] == [*wanted.spans]
    by_class = {one["number"]: one for one in found.found["classes"]}
    for column, number in enumerate(cycle.chapter.spec.classes):
        assert by_class[number]["weights"] == pytest.approx(wanted.weights[:, column].tolist(), abs=1e-3)
    likeliest = found.found["classes"][0]
    assert likeliest["probability"] == pytest.approx(float(wanted.probabilities.max()), abs=1e-3)


def test_a_newer_model_is_explained_afresh(project: Project) -> None:
    cycle = learnt(project, 1)
    id = predicted(project)
    request(project, id)
    cycle.turn()
    cycle.explain()
    with project.sessions.begin() as session:
        session.execute(update(Prediction).values(round=2))
    found = request(project, id)
    assert found is not None
    assert (found.round, found.found) == (None, None)


def test_a_text_without_a_prediction_has_no_explanation(project: Project) -> None:
    assert request(project, "train-0") is None
    with project.reads() as session:
        assert session.scalars(select(Explanation)).all() == []


def test_a_failure_is_answered_so_that_no_trainer_starts_for_it_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = learnt(project, 1)
    while cycle.score():
        pass
    id, last = predicted(project), read_state(project)
    assert not has_work(project, last)
    request(project, id)
    assert has_work(project, last)
    monkeypatch.setattr(module, "read_texts", lambda *_: 1 / 0)
    cycle.turn()
    assert cycle.explain()
    found = request(project, id)
    assert found is not None
    assert (found.round, found.found) == (1, None)
    assert not has_work(project, last)


def test_the_request_of_a_closed_page_is_removed(project: Project) -> None:
    cycle = learnt(project, 1)
    with project.sessions.begin() as session:
        session.add_all([Explanation(text_row=1, asked=0.0), Explanation(text_row=2)])
    cycle.turn()
    assert cycle.explain()
    with project.reads() as session:
        assert [one.text_row for one in session.scalars(select(Explanation))] == [2]


def test_the_most_similar_labelled_texts_are_listed(project: Project) -> None:
    with project.reads() as session:
        rows = dict(session.execute(select(Text.row, Text.digest)).all())
    vectors = np.random.default_rng(0).normal(size=(len(rows), 4))
    project.embeddings.begin({"backbone": "tiny"}, 4)
    project.embeddings.write([*rows], vectors, [stamp_of(digest) for digest in rows.values()])
    label(project, unlabelled(project, "pool", 8))
    with project.reads() as session:
        kept = project.embeddings.read()
        assert kept is not None
        text = session.scalars(select(Text).where(Text.vote_count == 0)).first()
        assert text is not None
        labelled = [*session.scalars(select(Text.row).where(Text.vote_count > 0))]
        unit = {row: kept.values[row].astype(float) / np.linalg.norm(kept.values[row].astype(float)) for row in rows}
        wanted = sorted(labelled, key=lambda row: -unit[row] @ unit[text.row])[:3]
        found = similar_labelled(session, project, text, None)
        assert found is not None
        assert [*found] == wanted
        assert [*found.values()] == pytest.approx([unit[row] @ unit[text.row] for row in wanted], abs=1e-3)
        assert similar_labelled(session, project, text, me(project).number) == found
        assert similar_labelled(session, project, text, 999) == {}
