"""How the model has come along: what the page of progress draws, from the facts of all chapters."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Verdict
from hybridal.app.insight.believed import calibration, measured
from hybridal.app.insight.proportion import wilson
from hybridal.app.insight.saving import saving
from hybridal.app.project import Project
from hybridal.app.trainer.runs import Told, folders, told
from hybridal.core.facts import Round
from hybridal.core.rules import Rules
from hybridal.evidence.history import changes, detector_of, t_star
from hybridal.loop.stopping import advise


def progress(project: Project) -> dict[str, Any]:
    """The learning curve, the signal and the switch of the newest chapter, calibration, saving and balance.

    Rounds are counted through all chapters. Accuracy has its Wilson 95% interval; NLL and ECE are those of
    calibrated probabilities, the ones that people see. Their temperature is fitted on the same validation texts, so
    ECE and the calibration plot flatter the model a little.
    """
    chapters = told(folders(project.runs))
    newest = chapters[-1] if chapters else None
    found = detector_of(newest.schedule) if newest else None
    switch = t_star(newest.schedule, newest.history) if newest else None
    with project.reads() as session:
        bins, classes = calibration(measured(session)), balance(session)
    return {
        "rounds": [row for chapter in chapters for row in rows(chapter)],
        "switch": newest.before + switch if newest and switch else None,
        "signal": {"name": found[0], "epsilon": found[1].epsilon} if found else None,
        "calibration": bins,
        "saved": saving(
            [fact for chapter in chapters for fact in chapter.history], newest.rules if newest else Rules()
        ),
        "balance": classes,
        "advice": advise(newest.history, len(classes)).sentence if newest and newest.history else None,
    }


def rows(chapter: Told) -> list[dict[str, Any]]:
    """A row for each round; `stable` says whether the signal moved by less than ε."""
    found = detector_of(chapter.schedule)
    epsilon = found[1].epsilon if found else None
    moved = changes(chapter.history, found[0]) if found else [None] * len(chapter.history)
    return [
        {
            "round": chapter.before + fact.round,
            "update": fact.update,
            "reason": fact.reason,
            "labels": fact.labels,
            **_measures(fact),
            "seconds": sum(fact.seconds.values()),
            "signal": change,
            "stable": change is not None and epsilon is not None and change < epsilon,
            "epsilon": epsilon,
        }
        for fact, change in zip(chapter.history, moved, strict=True)
    ]


def balance(session: Session) -> list[dict[str, Any]]:
    """How many labels each active class has, in the order in which classes are shown."""
    given = func.count(Verdict.text_row)
    counts = (
        select(Class.name, given)
        .outerjoin(Verdict, Verdict.class_number == Class.number)
        .where(Class.became.is_(None))
        .group_by(Class.number, Class.name, Class.position)
        .order_by(Class.position, Class.number)
    )
    return [{"class": name, "n": n} for name, n in session.execute(counts)]


def _measures(fact: Round) -> dict[str, float | None]:
    found = fact.validation
    if found is None:
        return dict.fromkeys(("accuracy", "low", "high", "f1", "nll", "ece"))
    low, high = wilson(found.right, found.n)
    return {
        "accuracy": found.accuracy,
        "low": low,
        "high": high,
        "f1": found.f1,
        "nll": found.nll_scaled,
        "ece": found.ece_scaled,
    }
