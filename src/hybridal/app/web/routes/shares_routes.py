"""Routes for shares of classes that may be published, and for drawing the random labels that they take."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Annotation, Person, Text, clean
from hybridal.app.insight.project_shares import NoSharesError, project_shares
from hybridal.app.labelling.random_draws import draw_labels
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.web.auth import CurrentProject, Owner, Reviewer
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Schema
from hybridal.app.web.translations import Texts
from hybridal.errors import UserError
from hybridal.measures.shares.share_methods import methods
from hybridal.measures.shares.share_sentences import (
    gain_sentence,
    missing_sentences,
    plan_sentence,
    sentence,
)
from hybridal.measures.shares.share_table import ShareTable

router = Router(prefix="/api")

MAX_DRAWN = 100_000
By = Annotated[
    str,
    Query(
        max_length=300,
        description="A column of the texts: `column`, `month:column` (year, quarter, week, day) or `number:column`.",
    ),
]
Classes = Annotated[list[str], Query(alias="class", description="Only these classes.")]
Points = Annotated[float, Query(gt=0, lt=100, description="Half of the width of the intervals that is planned for.")]


class RandomLabels(Schema):
    """How many more random labels people shall be asked for."""

    n: int = Field(ge=1, le=MAX_DRAWN)


class Drawn(Schema):
    """How many texts were drawn, and how many that were drawn wait for a label."""

    drawn: int
    waiting: int


@router.get("/shares")
def get_shares(
    _: Reviewer,
    project: CurrentProject,
    texts: Texts,
    by: By = "",
    classes: Classes = [],  # noqa: B006
    points: Points = 2.0,
) -> dict[str, Any]:
    """The share of each class among all texts with 95% intervals, of groups too, their differences and trend.

    Each line has the naive count, the estimate from random labels alone, and that with the model's predictions, which
    is valid whatever the model's errors are. `problem` says why there is none. `more_labels` is how many more random
    labels it takes for intervals of ± `points`.
    """
    with project.reads() as session:
        about = {"columns": [*read(session)["columns"]], "waiting": waiting(session), "problem": "", "lines": []}
        try:
            table = _table(session, project, by, classes)
        except UserError as error:
            problem = error.sentence if isinstance(error, NoSharesError) else str(error)
            return {**about, "problem": texts.sentence(problem)}
    lines = [
        {**line, "sentence": texts.sentence(sentence(one, table))}
        for line, one in zip(table.to_json()["lines"], table.lines, strict=True)
    ]
    return {
        **about,
        "lines": lines,
        "groups": [*table.groups],
        "classes": [*table.classes],
        "confidence": table.confidence,
        "labels": table.basis.labels,
        "texts": table.basis.texts,
        "gain": texts.sentence(gain_sentence(table)),
        "missing": [texts.sentence(one) for one in missing_sentences(table)],
        "methods": methods(table),
        "plan": texts.sentence(plan_sentence(table, points / 100)),
        "more_labels": table.more_labels(points / 100),
    }


@router.get("/shares/file.{kind}", response_class=Response)
def get_shares_file(
    kind: Literal["csv", "md", "svg", "png"],
    _: Reviewer,
    project: CurrentProject,
    by: By = "",
    classes: Classes = [],  # noqa: B006
) -> Response:
    """The same as a table (CSV, Markdown with the methods paragraph) or as a figure (SVG, PNG)."""
    from hybridal.reports.share_report import content_of

    with project.reads() as session:
        table = _table(session, project, by, classes)
    name = {"Content-Disposition": f'attachment; filename="shares.{kind}"'}
    return Response(content_of(table, kind), media_type=_TYPES[kind], headers=name)


_TYPES = {"csv": "text/csv", "md": "text/markdown", "svg": "image/svg+xml", "png": "image/png"}


@router.post("/shares/draw")
def draw_random_labels(given: RandomLabels, _: Owner, project: CurrentProject) -> Drawn:
    """Draw texts at random, so that people are asked next for this many more random labels.

    Texts that were drawn before and wait for a label are among them. The model never learns their labels.
    """
    with project.sessions.begin() as session:
        drawn = draw_labels(session, given.n)
        return Drawn(drawn=drawn, waiting=waiting(session))


def waiting(session: Session) -> int:
    """Count the texts that were drawn at random and have neither labels nor skips."""
    seen = select(Annotation.text_row).join(Person).where(Person.kind != "llm")
    unseen = (Text.split == "validation", Text.deleted.is_(None), Text.row.not_in(seen))
    return session.scalar(select(func.count()).select_from(Text).where(*unseen)) or 0


def _table(session: Session, project: Project, by: str, classes: list[str]) -> ShareTable:
    return project_shares(session, project.probabilities.read(), clean(by), [*map(clean, classes)])
