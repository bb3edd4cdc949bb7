from __future__ import annotations

import statistics
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from hybridal.app.db.schema import Annotation
from hybridal.app.insight.activity import LONGEST, activity, duration
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.project import Project

from ..made_up import make, me, merge_classes, people

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()


@given(st.lists(st.floats(0.3, 300), min_size=10, max_size=40))
def test_the_duration_has_median_and_quartiles(seconds: list[float]) -> None:
    found = duration(seconds)
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
    assert (found.low, found.median, found.high) == pytest.approx((low, median, high))
    assert found.timed == len(seconds)


@pytest.fixture
def project(tmp_path: Path, db: str | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    made = make(tmp_path / "p", texts=40, db=db)
    monkeypatch.setattr("hybridal.app.insight.activity.now", lambda: NOON)
    yield made
    made.close()


def label(project: Project, times: list[float], drawn: str | None = None, name: str = "a", first: int = 0) -> None:
    with project.sessions.begin() as session:
        owner = me(project)
        for at, seconds in enumerate(times, first):
            annotate(session, owner, f"t{at}", "label", class_name=name, key=f"k{at}", drawn=drawn)
            session.execute(update(Annotation).where(Annotation.key == f"k{at}").values(at=NOON + seconds))


def test_texts_are_counted_by_person_and_day_of_the_time_zone(project: Project) -> None:
    label(project, [-86400 * 40, -86400, -13 * 3600, -11 * 3600, 0])
    (ann,) = people(project, 1)
    with project.sessions.begin() as session:
        annotate(session, ann, "t0", "label", class_name="a", key="ann")
        annotate(session, ann, "t0", "label", class_name="b", key="corrected")
        annotate(session, ann, "t1", "skip", key="skipped")
        session.execute(update(Annotation).where(Annotation.person_number == ann.number).values(at=NOON))
    with project.reads() as session:
        found = activity(session, 3)
        assert found.days == ("2026-03-08", "2026-03-09", "2026-03-10")
        by_day = {one.name: one.by_day for one in found.people}
        assert by_day == {me(project).name: (0, 2, 2), ann.name: (0, 0, 1)}
        east = {one.name: one.by_day for one in activity(session, 3, offset=120).people}
        assert east[me(project).name] == (0, 1, 3)
        assert [one.name for one in activity(session, 3, by=ann.number).people] == [ann.name]


def test_pauses_bounces_and_bulk_labels_have_no_time(project: Project) -> None:
    label(project, [3.0 * at for at in range(12)])
    label(project, [40 + LONGEST, 40 + LONGEST + 0.1], first=12)
    label(project, [400, 410, 420], drawn="bulk", first=14)
    with project.reads() as session:
        (found,) = activity(session, 1).people
    assert (found.texts, found.duration.timed, found.duration.median) == (17, 11, 3.0)


def test_an_undone_label_counts_in_the_time_of_the_next(project: Project) -> None:
    label(project, [0])
    with project.sessions.begin() as session:
        undo(session, me(project), "undone")
        session.execute(update(Annotation).where(Annotation.key == "undone").values(at=NOON + 5))
    label(project, [7.0], first=1)
    with project.reads() as session:
        (found,) = activity(session, 1).people
    assert found.duration.timed == 1


def test_classes_have_their_times_and_merged_ones_that_of_their_successor(project: Project) -> None:
    label(project, [2.0 * at for at in range(6)])
    label(project, [10 + 4.0 * at for at in range(1, 7)], name="b", first=6)
    with project.reads() as session:
        assert [(one.name, one.duration.timed) for one in activity(session, 1).classes] == [("a", 5), ("b", 6)]
    with project.sessions.begin() as session:
        merge_classes(session, 2, 1)
    with project.reads() as session:
        (found,) = activity(session, 1).classes
    assert (found.name, found.duration.timed, found.duration.median) == ("a", 11, 4.0)
