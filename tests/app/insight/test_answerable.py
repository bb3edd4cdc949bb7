"""How many texts the model can answer alone, from what the app has stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sqlalchemy import select

from hybridal.app.db.schema import Class, Prediction, Text
from hybridal.app.insight.answerable import answerable, in_sentences
from hybridal.app.labelling.annotations import annotate
from hybridal.app.project import Project
from hybridal.measures.selective import planned_share, promise

from ..made_up import make, me


def random_rows(project: Project, split: str) -> list[tuple[int, str]]:
    with project.reads() as session:
        found = select(Text.row, Text.id).where(Text.split == split).order_by(Text.row)
        return [(row, id) for row, id in session.execute(found)]


def test_it_counts_the_texts_above_the_promised_threshold(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=1500, validation_first=300, validation_share=0.0, db=db)
    validation, pool = random_rows(project, "validation"), random_rows(project, "pool")
    sure = {row: (0.999 if at % 5 else 0.5) for at, (row, _) in enumerate([*validation, *pool])}
    with project.sessions.begin() as session:
        owner = me(project)
        for row, id in validation:
            annotate(session, owner, id, "label", class_name="a" if sure[row] > 0.9 else "b", key=id)
        session.add_all(
            Prediction(text_row=row, class_number=1, probability=p, entropy=0.1, round=1) for row, p in sure.items()
        )
    with project.reads() as session:
        sentences = answerable(session, project, several=False)
    assert sentences[0].startswith(
        "The model can answer 960 of the 1,200 texts without a label: at most 2% of them are"
    )
    project.close()


def test_without_predictions_it_says_nothing(tmp_path: Path) -> None:
    for several in (False, True):
        project = make(tmp_path / str(several), multi_label=several)
        with project.reads() as session:
            assert answerable(session, project, several) == []
        project.close()


def test_with_several_classes_a_whole_set_must_be_right(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=1500, validation_first=300, validation_share=0.0, multi_label=True)
    validation, pool = random_rows(project, "validation"), random_rows(project, "pool")
    rows = [row for row, _ in [*validation, *pool]]
    wrong = {row for at, row in enumerate(rows) if at % 4 == 0}
    shares = np.array([[0.6, 0.001, 0.001] if row in wrong else [0.999, 0.999, 0.001] for row in rows])
    project.probabilities.begin({"classes": [1, 2, 3]}, 3)
    project.probabilities.write(rows, shares, [1] * len(rows))
    with project.sessions.begin() as session:
        for one in session.scalars(select(Class)):
            one.threshold = 0.5
        owner = me(project)
        for row, id in validation:
            names = ["a", "c"] if row in wrong else ["a", "b"]  # each text has one right class
            annotate(session, owner, id, "label", class_names=names, key=id)
    with project.reads() as session:
        sentences = answerable(session, project, several=True)
    assert sentences[0].startswith("The model can answer 900 of the 1,200 texts without a label")
    project.close()


def test_too_few_or_wrong_labels_are_explained() -> None:
    sure, unsure = np.full(300, 0.999), np.full(300, 0.6)
    assert "it takes about 154 random labels; there are 40." in in_sentences(sure[:40], sure[:40] > 0, sure)[0]
    assert "not sure enough" in in_sentences(unsure, np.arange(300) % 3 > 0, unsure)[0]
    assert "wrong too often" in in_sentences(sure, np.arange(300) % 5 > 0, sure)[0]


def test_more_labels_are_planned_by_what_they_would_allow() -> None:
    """Two wrong answers of 270 do not rule out 2%, and two of 360 do."""
    unlabelled = np.repeat([0.9999, 0.985, 0.5], [600, 300, 100])
    labelled = np.repeat([0.9999, 0.985, 0.5], [180, 90, 30])
    right = np.arange(300) < 268
    assert promise(labelled, right, unlabelled, 0.02).share == 0.6
    assert planned_share(labelled, right, unlabelled, 100, 0.02) == 0.9
    sentences = in_sentences(labelled, right, unlabelled)
    assert sentences[0].startswith("The model can answer 600 of the 1,000 texts")
    assert sentences[1] == "With 100 more random labels it will be about 900."
    assert len(in_sentences(labelled, labelled > 0.9, unlabelled)) == 1, "more labels would not bring more"
