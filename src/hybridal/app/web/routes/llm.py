"""The LLM as annotator: what is decided about it, what it does, and whether it may be trusted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from pydantic import Field

from hybridal.app.llm import book
from hybridal.app.llm.address import check_address
from hybridal.app.llm.annotator import annotator
from hybridal.app.llm.plan import Plan, Routing, keep, key, load
from hybridal.app.llm.trial import trial
from hybridal.app.llm.worker import Worker
from hybridal.app.web.access import Opened, Owner
from hybridal.app.web.shapes import Shape


@asynccontextmanager
async def at_work(app: FastAPI) -> AsyncIterator[None]:
    """What was at work when the last process ended goes on with this one."""
    worker = app.state.llm = Worker(app.state.project)
    worker.resume()
    yield
    worker.close()


def the_worker(request: Request) -> Worker:
    """The worker of the project that this app serves."""
    if not hasattr(request.app.state, "llm"):
        request.app.state.llm = Worker(request.app.state.project)
    worker: Worker = request.app.state.llm
    return worker


router = APIRouter(prefix="/api/llm", lifespan=at_work)
Working = Annotated[Worker, Depends(the_worker)]


class State(Shape):
    """What it does now: `stopped`, `working`, `waiting`, `spent` (its budget) or `failed`, and why."""

    phase: str
    error: str


class LlmShape(Shape):
    """The plan, whether there is a key, and how far it has come."""

    base_url: str
    model: str
    budget_tokens: int
    routing: Routing
    examples: int
    per_minute: int
    parallel: int
    timeout: float
    has_key: bool
    state: State
    asked: int
    unusable: int
    labels: int
    spent_tokens: int


class Changes(Shape):
    """What of the plan shall change."""

    base_url: str | None = Field(None, max_length=500)
    model: str | None = Field(None, max_length=200)
    budget_tokens: int | None = Field(None, ge=0, le=10**12)
    routing: Routing | None = None
    examples: int | None = Field(None, ge=0, le=10)
    per_minute: int | None = Field(None, ge=1, le=100_000)
    parallel: int | None = Field(None, ge=1, le=64)
    timeout: float | None = Field(None, ge=1, le=600)


@router.get("")
def look(_: Owner, project: Opened, worker: Working) -> LlmShape:
    """What is decided, and what it does."""
    with project.reads() as session:
        plan, outcomes, spent = load(session), book.outcomes(session), book.spent(session)
    decided = plan.model_dump(exclude={"running", "shown"})
    now = {"has_key": bool(key()), "state": worker.state, "spent_tokens": spent, **outcomes}
    return LlmShape.model_validate({**decided, **now})


@router.put("")
def change(changes: Changes, visitor: Owner, project: Opened, worker: Working) -> LlmShape:
    """Decides some of it anew; a worker goes on under the new plan."""
    if changes.base_url:
        check_address(changes.base_url, bool(key()))
    with project.sessions.begin() as session:
        before = load(session)
        plan = Plan.model_validate({**before.model_dump(), **changes.model_dump(exclude_none=True)})
        keep(session, plan)
    if before.running:
        worker.start()
    return look(visitor, project, worker)


@router.post("/start")
def start(_: Owner, worker: Working) -> State:
    """Puts it to work."""
    worker.start()
    return State(**worker.state)


@router.post("/stop")
def stop(_: Owner, worker: Working) -> State:
    """Stops it; what it has said stays."""
    worker.stop()
    return State(**worker.state)


@router.get("/trial")
def put_to_the_test(
    _: Owner, project: Opened, epsilon: Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)] = 0.2
) -> dict[str, Any]:
    """The alternative-annotator test of this LLM against people, and Cohen's κ with each of them."""
    with project.reads() as session:
        return trial(session, annotator(session, load(session)), epsilon)
