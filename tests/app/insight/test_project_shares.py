"""Estimates of a project rest on the draws that are on record, and only on labels of people."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Draw, Text
from hybridal.app.insight.project_shares import ProjectTexts, project_shares, project_texts, usable_draws
from hybridal.app.labelling.annotations import annotate, withdraw
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.random_draws import draw_labels
from hybridal.app.labelling.removal import delete_texts
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import Row, add
from hybridal.app.people import machine_annotator
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.errors import UserError
from hybridal.measures.shares.estimators import estimate, share_of
from hybridal.measures.shares.labelled_texts import LabelledTexts
from hybridal.measures.shares.share_table import ShareTable

from ..made_up import make, me


def truth(row: int) -> str:
    """Every third text is an a, all others b; c does not occur."""
    return "a" if row % 3 == 0 else "b"


def predict(project: Project, rows: Iterable[int], right: float = 0.8) -> None:
    """Store predictions of which this share of the mass is right."""
    rows = [*rows]
    values = np.full((len(rows), 3), (1 - right) / 2, dtype=np.float32)
    values[np.arange(len(rows)), ["abc".index(truth(row)) for row in rows]] = right
    with project.reads() as session:
        texts = dict(session.execute(select(Text.row, Text.id)).all())
    project.probabilities.begin({"classes": [1, 2, 3]}, 3)
    project.probabilities.write(rows, values, [2] * len(rows))
    assert texts.keys() >= {*rows}


def label(project: Project, rows: Iterable[int], drawn: str | None = None) -> None:
    with project.sessions.begin() as session:
        owner = me(project)
        for row in rows:
            id = session.get_one(Text, row).id
            annotate(session, owner, id, "label", class_name=truth(row), key=f"k{row}", drawn=drawn)


def serve(project: Project, n: int) -> list[int]:
    """Label the next texts of the queue; return their rows."""
    with project.sessions.begin() as session:
        rows = [text.row for text in lease_texts(session, me(project), n, read(session)).texts]
    label(project, rows, "random")
    return rows


def reserved_rows(project: Project) -> list[int]:
    with project.reads() as session:
        return [*session.scalars(select(Text.row).where(Text.split == "validation").order_by(Text.row))]


def found(project: Project, by: str = "", classes: list[str] | None = None) -> ShareTable:
    with project.reads() as session:
        return project_shares(session, project.probabilities.read(), by, classes)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make(tmp_path / "p", texts=200, validation_first=40, validation_share=0.0)
    predict(made, range(1, 201))
    return made


def test_the_texts_set_aside_are_a_random_sample_of_all(project: Project) -> None:
    rows = reserved_rows(project)
    label(project, rows)
    table = found(project)
    assert (table.basis.texts, table.basis.labels, table.basis.draws) == (200, 40, 1)
    line = table.of("share", "", "a")[0]
    targets = np.full((200, 1), np.nan)
    targets[[row - 1 for row in rows], 0] = [truth(row) == "a" for row in rows]
    predicted = np.array([[0.8 if truth(row) == "a" else 0.1] for row in range(1, 201)], dtype=np.float32)
    from hybridal.core.provenance import RandomDraw

    everything = np.ones(200, dtype=bool)
    draw = RandomDraw(everything, np.array(rows) - 1)
    expected = estimate(LabelledTexts(targets, predicted > 0.5, predicted[None], [draw]), share_of(everything))
    assert line.estimate is not None
    assert line.estimate.value == pytest.approx(expected.value[0], abs=1e-6)
    assert line.estimate.low == pytest.approx(expected.low[0], abs=1e-6)
    assert line.count == pytest.approx(np.mean([truth(row) == "a" for row in range(1, 201)]))
    project.close()


def test_other_labels_count_and_stand_for_no_others(project: Project) -> None:
    rows = reserved_rows(project)
    label(project, rows)
    chosen = [row for row in range(1, 201) if row not in rows][:60]
    label(project, chosen)
    table = found(project)
    assert (table.basis.labels, table.basis.others) == (40, 60)
    assert table.basis.picked == 40  # `label` opens each text by itself
    assert "40 of the random labels were given out of turn" in str(_methods(table))
    project.close()


def _methods(table: ShareTable) -> str:
    from hybridal.measures.shares.share_methods import methods

    return methods(table)


def test_labels_of_a_language_model_are_none(project: Project) -> None:
    label(project, reserved_rows(project))
    with project.sessions.begin() as session:
        machine = machine_annotator(session, "(model)", "llm")
        for row in [row for row in range(1, 201) if row not in reserved_rows(project)][:50]:
            id = session.get_one(Text, row).id
            annotate(session, machine, id, "label", class_name="c", key=f"m{row}", drawn="llm")
    assert (found(project).basis.labels, found(project).basis.others) == (40, 0)
    project.close()


def test_more_labels_are_drawn_and_asked_for(project: Project, db: str | None) -> None:
    if db is not None:
        project = make(Path(str(project.folder) + "-pg"), texts=200, db=db, validation_first=40, validation_share=0.0)
    label(project, reserved_rows(project)[:10])
    with project.sessions.begin() as session:
        assert draw_labels(session, 50) == 20, "30 that were drawn before wait for a label"
    assert len(reserved_rows(project)) == 60
    with project.sessions.begin() as session:
        assert draw_labels(session, 50) == 0, "the same request again draws no more"
        assert read(session)["random_labels"] == 60
    served = serve(project, 30)
    assert {*served} <= {*reserved_rows(project)}
    with project.reads() as session:
        draws = dict(session.execute(select(Text.row, Text.draw)).all())
    assert {draws[row] for row in served} == {1}, "the draw before comes first"
    assert {draws[row] for row in serve(project, 20)} == {2}
    project.close()


def test_a_later_draw_counts_once_the_one_before_is_labelled(project: Project) -> None:
    rows = reserved_rows(project)
    label(project, rows[:30])
    with project.sessions.begin() as session:
        draw_labels(session, 30)
    later = [row for row in reserved_rows(project) if row not in rows]
    assert len(later) == 20
    label(project, later)
    assert found(project).basis.labels == 30
    label(project, rows[30:])
    assert found(project).basis.labels == 60
    assert found(project).basis.draws == 2
    project.close()


def test_a_drawn_text_that_was_skipped_does_not_stop_later_draws(project: Project) -> None:
    rows = reserved_rows(project)
    label(project, rows[:-1])
    with project.sessions.begin() as session:
        annotate(session, me(project), session.get_one(Text, rows[-1]).id, "skip", key="skip")
        draw_labels(session, 20)
    label(project, [row for row in reserved_rows(project) if row not in rows])
    table = found(project)
    assert (table.basis.labels, table.basis.unanswered, table.basis.uncovered) == (59, 1, 0)
    project.close()


def test_texts_of_another_upload_have_a_draw_of_their_own(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=200, validation_first=40, validation_share=0.0)
    with project.sessions.begin() as session:
        add(session, [(f"n{number}", f"new {number}", None) for number in range(100)])
    predict(project, range(1, 301))
    rows = reserved_rows(project)
    first, second = [row for row in rows if row <= 200], [row for row in rows if row > 200]
    assert (len(first), len(second)) == (40, 20)
    label(project, first)
    assert (found(project).basis.labels, found(project).basis.uncovered) == (40, 100)
    label(project, second)
    joined = found(project).basis
    assert (joined.labels, joined.draws, joined.uncovered) == (60, 1, 0), "a fifth of both uploads: one draw"
    with project.sessions.begin() as session:
        for row in second[:10]:
            withdraw(session, me(project), row, f"w{row}")
    apart = found(project).basis
    assert (apart.labels, apart.draws) == (50, 2)
    project.close()


def test_deleted_texts_are_none_of_the_texts(project: Project) -> None:
    rows = reserved_rows(project)
    label(project, rows)
    with project.sessions.begin() as session:
        delete_texts(session, [*{rows[0], 1, 2}], 1.0)
    assert found(project).basis.texts == 200 - len({rows[0], 1, 2})
    project.close()


def test_groups_are_columns_of_the_texts(tmp_path: Path) -> None:
    rows = [
        Row(f"t{number}", f"text {number}", None, {"branch": "ns"[number % 2], "sent": f"2024-0{1 + number % 3}-10"})
        for number in range(200)
    ]
    project = Project.create(Source("made up", rows, ("a", "b", "c")), tmp_path / "p", validation_first=100)
    predict(project, range(1, 201))
    label(project, reserved_rows(project))
    assert found(project, "branch", ["a"]).groups == ("n", "s")
    table = found(project, "month:sent", ["a"])
    assert table.groups == ("2024-01", "2024-02", "2024-03")
    assert [line.kind for line in table.lines] == ["share"] * 4 + ["difference"] + ["trend"]
    with pytest.raises(UserError, match="no column “region”"):
        found(project, "region")
    project.close()


def test_what_is_missing_is_said(project: Project, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There are 0 random labels, and an estimate takes at least 10"):
        found(project)
    other = make(tmp_path / "q", texts=200, validation_first=40, validation_share=0.0)
    label(other, reserved_rows(other))
    with pytest.raises(UserError, match="The model has not scored the texts yet"):
        found(other)
    other.close()
    project.close()


def test_several_classes_per_text_may_be_left_open(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=200, validation_first=40, validation_share=0.0, multi_label=True)
    predict(project, range(1, 201))
    with project.sessions.begin() as session:
        owner = me(project)
        for at, row in enumerate(reserved_rows(project)):
            given = {"class_names": {truth(row)}} if at < 25 else {"decisions": {"a": truth(row) == "a"}}
            annotate(session, owner, session.get_one(Text, row).id, "label", key=f"k{row}", **given)
    table = found(project)
    labels = {line.name: line.labels for line in table.of("share")}
    assert labels == {"a": 40, "b": 25, "c": 25}
    assert table.several
    project.close()


def test_intervals_hold_for_projects_with_chosen_labels_between_two_draws() -> None:
    """Draws, choices by the model and unanswered texts, as the database records them."""
    rng, held = np.random.default_rng(0), []
    size, labels = 1500, np.random.default_rng(1).random(1500) < 0.3
    score = np.clip(np.where(labels, 0.6, 0.25) + rng.normal(scale=0.2, size=size), 0.01, 0.99)
    for _ in range(60):
        draw, first = np.zeros(size, dtype=np.int64), np.full(size, np.iinfo(np.int64).max)
        one = rng.choice(size, 60, replace=False)
        draw[one], first[one] = 1, 5
        chosen = np.setdiff1d(np.argsort(-score)[:300], one)
        first[chosen] = 7
        rest = np.setdiff1d(np.arange(size), [*one, *chosen])
        two = rng.choice(rest, 60, replace=False)
        draw[two], first[two] = 2, 9
        known = first < np.iinfo(np.int64).max
        targets = np.where(known, labels, np.nan)[:, None]
        texts = ProjectTexts(np.arange(size), np.zeros(size), draw, first, np.full(size, "random"), targets)
        draws = [
            Draw(number=1, made=0.0, newest=0, upload=True, frame=size, size=60),
            Draw(number=2, made=1.0, newest=8, upload=False, frame=len(rest), size=60),
        ]
        usable = usable_draws(draws, texts)
        assert [int(one.frame.sum()) for one in usable] == [size, len(rest)]
        made = LabelledTexts(targets, (score > 0.5)[:, None], score[None, :, None], usable)
        interval = estimate(made, share_of(np.ones(size, dtype=bool)))
        held.append(interval.low[0] <= labels.mean() <= interval.high[0])
    assert np.mean(held) >= 0.87


def test_the_texts_are_read_in_the_order_of_their_rows(project: Project) -> None:
    label(project, [3, 5])
    with project.reads() as session:
        texts = project_texts(session, [1, 2, 3])
    assert texts.rows.tolist() == [*range(1, 201)]
    assert texts.labelled.nonzero()[0].tolist() == [2, 4]
    assert texts.targets[2].tolist() == [1.0, 0.0, 0.0]
    project.close()


def test_labels_of_a_file_that_has_some_are_no_random_sample(tmp_path: Path) -> None:
    """The file labels the texts that are easy to find; those of them that are set aside stand for no others."""
    rows = [(f"t{at}", f"text {at}", "a" if at < 100 else None) for at in range(300)]
    source = Source("made up", rows, ("a", "b", "c"))
    project = Project.create(source, tmp_path / "p", validation_first=60, validation_share=0.0)
    predict(project, range(1, 301))
    with pytest.raises(UserError, match="There are 0 random labels"):
        found(project)
    unknown = [row for row in reserved_rows(project) if row > 100]
    label(project, unknown, "random")
    basis = found(project).basis
    assert (basis.labels, basis.others, basis.uncovered) == (len(unknown), 100, 0)
    project.close()


def test_a_file_that_labels_all_texts_has_a_random_sample(tmp_path: Path) -> None:
    rows = [(f"t{at}", f"text {at}", truth(at + 1)) for at in range(300)]
    source = Source("made up", rows, ("a", "b", "c"))
    project = Project.create(source, tmp_path / "p", validation_first=60, validation_share=0.0)
    predict(project, range(1, 301))
    assert found(project).basis.labels == 60
    project.close()
