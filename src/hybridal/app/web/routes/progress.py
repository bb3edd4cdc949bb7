"""How the model comes along, and what deserves a second look."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from hybridal.app.insight.doubts import doubts
from hybridal.app.insight.progress import progress
from hybridal.app.web.access import Annotator, Opened, Reviewer
from hybridal.app.web.excerpt import excerpt

router = APIRouter(prefix="/api")


@router.get("/progress")
def how_far(_: Annotator, project: Opened) -> dict[str, Any]:
    """The learning curve, calibration, the signal, what was saved, and the balance of the classes."""
    return progress(project)


@router.get("/doubts")
def doubtful(_: Reviewer, project: Opened) -> dict[str, list[dict[str, Any]]]:
    """Texts that the model is in doubt about, and labels that it contradicts."""
    with project.reads() as session:
        found = doubts(session)
    return {kind: [{**one, "text": excerpt(one["text"])} for one in some] for kind, some in found.items()}
