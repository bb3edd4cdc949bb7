"""What the trainer teaches of a language model's answers: the same as `teach(..., by="model")`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from hybridal import ActiveLearner
from hybridal.app.db.schema import LlmAnswer, Person, Text, Vote
from hybridal.app.labelling.annotations import annotate, withdraw
from hybridal.app.people import machine_annotator
from hybridal.app.project import Project
from hybridal.app.trainer.chapter import Chapter, ModelSpec, begin, continue_with, learner_options, newest
from hybridal.app.trainer.first_model import FirstModel
from hybridal.app.trainer.label_pool import label_pool
from hybridal.app.trainer.snapshot import Snapshot, snapshot, task_of
from hybridal.core.observer import Observer
from hybridal.core.pool import Pool
from hybridal.measures.model_errors import model_errors, pool_weights

from ..copies import copied
from .projects import TRUTH, label, label_some, made, unlabelled

_keys = count()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    label_some(project, 6, 6)
    project.runs.mkdir()
    yield project
    project.close()


def wrong(id: str) -> str:
    return "food" if TRUTH[id] == "sport" else "sport"


def guess(project: Project, ids: Iterable[str]) -> list[str]:
    """A language model labels these texts, rightly."""
    done = list(ids)
    with project.sessions.begin() as session:
        llm = machine_annotator(session, "(small)", "llm")
        for id in done:
            annotate(session, llm, id, "label", class_name=TRUTH[id], key=f"llm-{next(_keys)}", drawn="llm")
    return done


def answer(project: Project, ids: Iterable[str], confidence: float = 1.0) -> None:
    """A language model answers, wrongly, without giving labels."""
    with project.sessions.begin() as session:
        for id in ids:
            row = session.scalars(select(Text.row).where(Text.id == id)).one()
            found = {"question": f"q{next(_keys)}", "model": "small 1", "text_row": row}
            session.add(LlmAnswer(**found, class_name=wrong(id), confidence=confidence))


def undo(project: Project, id: str, kind: str) -> None:
    """Withdraw the votes of a kind of annotators on a text."""
    with project.sessions.begin() as session:
        votes = select(Person, Vote.text_row).join(Vote).join(Text).where(Text.id == id, Person.kind == kind)
        for person, row in session.execute(votes).all():
            withdraw(session, person, row, f"undo-{next(_keys)}")


def require_people(project: Project, ids: Iterable[str]) -> None:
    with project.sessions.begin() as session:
        for text in session.scalars(select(Text).where(Text.id.in_([*ids]))):
            text.required_votes = 2


def taken(project: Project) -> Snapshot:
    with project.reads() as session:
        return snapshot(session)


def learner_of(project: Project) -> ActiveLearner:
    with project.reads() as session:
        return ActiveLearner(task_of(session, "toys", snapshot(session)), **learner_options(project))


def synced(project: Project) -> Chapter:
    now = taken(project)
    chapter = begin(project.runs, ModelSpec.of(now, project), learner_of(project))
    chapter.sync_labels(now)
    return chapter


def state(pool: Pool) -> tuple[list[int], ...]:
    kept = (pool.labels, pool.order, pool.by_model, pool.model_labels)
    return (*(values.tolist() for values in kept), [pool.newest, pool.corrected, pool.withdrawn])


def by_model(chapter: Chapter) -> list[str]:
    return [chapter.learner.experiment.task.train.ids[row] for row in chapter.learner.pool.by_model]


def test_labels_of_a_language_model_are_taught_as_such(project: Project) -> None:
    guessed = guess(project, unlabelled(project, "pool", 5))
    both = label(project, guessed[:2])  # people overrule the model, and show its errors
    now, taught = taken(project), learner_of(project)
    taught.teach({id: TRUTH[id] for id in now.pool if id not in guessed[2:]}, update=False)
    taught.teach({id: TRUTH[id] for id in now.pool if id in guessed}, update=False, by="model")
    pool = synced(project).learner.pool
    assert state(pool) == state(taught.pool)
    assert (len(pool.by_model), len(pool.compared()[0])) == (3, len(both))


def test_a_label_changes_hands(project: Project) -> None:
    one, other = guess(project, unlabelled(project, "pool", 2))
    chapter = synced(project)
    assert {*by_model(chapter)} == {one, other}
    chapter.learn(Observer())
    label(project, [one])  # a person confirms it: it is no new label
    undo(project, other, "llm")
    chapter.sync_labels(taken(project))
    changes = chapter.learner.label_changes
    assert (by_model(chapter), changes.added, changes.corrected, changes.withdrawn) == ([], 0, 0, 1)
    assert chapter.learner.model_errors.texts == 1
    undo(project, one, "person")  # the model's answer is all that is left
    chapter.sync_labels(taken(project))
    assert (by_model(chapter), chapter.learner.model_errors.texts) == ([one], 0)
    assert other not in chapter.learner.labels


def test_answers_to_texts_that_people_label_in_any_case_show_its_errors(project: Project) -> None:
    shared, unsure, left = [*taken(project).pool][:3]
    require_people(project, [shared, unsure])
    answer(project, [shared, left])  # people got the last one because the model's answer was not accepted
    answer(project, [unsure], confidence=0.5)
    guess(project, unlabelled(project, "pool", 1))
    learner = synced(project).learner
    assert (learner.model_errors.texts, learner.model_errors.alike) == (1, 0)
    answer(project, [left, *taken(project).validation], confidence=1.0)
    assert synced(project).learner.model_errors == learner.model_errors


def test_the_pool_of_a_snapshot_compares_and_weights_as_the_learner_does(project: Project) -> None:
    guess(project, unlabelled(project, "pool", 4))
    label(project, guess(project, unlabelled(project, "pool", 2)))
    require_people(project, some := [*taken(project).pool][:3])
    answer(project, some)
    now, learner = taken(project), synced(project).learner
    pool, objective = label_pool(now)
    assert model_errors(*pool.compared(), objective) == learner.model_errors
    assert learner.model_errors.texts == 5
    weights, learnt = (pool_weights(one, objective) for one in (pool, learner.pool))
    assert weights is not None
    assert learnt is not None
    assert sorted(weights.ravel()) == sorted(learnt.ravel())


def test_a_restart_and_a_further_chapter_have_the_same_labels(project: Project) -> None:
    guess(project, unlabelled(project, "pool", 3))
    label(project, guess(project, unlabelled(project, "pool", 1)))
    chapter = synced(project)
    chapter.learn(Observer())
    chapter.save()
    before = state(chapter.learner.pool)
    assert len(by_model(chapter)) == 3
    chapter.sync_labels(taken(project))
    assert state(chapter.learner.pool) == before
    again = newest(project.runs)
    assert again is not None
    again.sync_labels(taken(project))
    assert state(again.learner.pool) == before
    further = continue_with(chapter, project.runs, chapter.spec, learner_of(project))
    further.sync_labels(taken(project))
    assert state(further.learner.pool) == before


def test_a_chapter_that_learnt_them_like_labels_by_people_goes_on(project: Project) -> None:
    guessed = guess(project, unlabelled(project, "pool", 3))
    chapter = synced(project)
    chapter.learner.withdraw(guessed)
    chapter.learner.teach({id: TRUTH[id] for id in guessed})
    chapter.sync_labels(taken(project))
    assert {*by_model(chapter)} == {*guessed}


def test_the_first_model_is_the_probe_of_the_round_that_follows(project: Project) -> None:
    guess(project, unlabelled(project, "pool", 3))
    require_people(project, some := [*taken(project).pool][:2])
    answer(project, some)
    chapter, now = synced(project), taken(project)
    assert (len(by_model(chapter)), chapter.learner.model_errors.texts) == (3, 2)
    first = FirstModel(chapter, [*now.pool, *now.validation])
    first.learn(now, 4)
    chapter.learn(Observer())
    probe = chapter.probe()
    assert probe is not None
    assert first.probe._fitted is not None
    np.testing.assert_allclose(first.probe._fitted.probe.weight, probe.weight, atol=1e-6)
