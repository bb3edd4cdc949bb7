"""The LLM as annotator: what is decided about it, what it does, and whether it may be trusted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request
from pydantic import Field

from hybridal.app.llm.annotator import (
    LlmPlan,
    LlmSettings,
    Routing,
    api_key,
    llm_annotator,
    load_settings,
    save_settings,
)
from hybridal.app.llm.job import LlmWorker
from hybridal.app.llm.llm_client import check_address
from hybridal.app.llm.llm_evaluation import evaluate_llm
from hybridal.app.llm.records import llm_counts, spent_tokens
from hybridal.app.llm.trial import try_llm
from hybridal.app.web.auth import CurrentProject, Owner
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Items, Schema


@asynccontextmanager
async def at_work(app: FastAPI) -> AsyncIterator[None]:
    """What was at work when the last process ended goes on with this one."""
    worker = app.state.llm = LlmWorker(app.state.project)
    worker.resume()
    yield
    worker.close()


def worker_of(request: Request) -> LlmWorker:
    """The worker of the project that this app serves."""
    if not hasattr(request.app.state, "llm"):
        request.app.state.llm = LlmWorker(request.app.state.project)
    worker: LlmWorker = request.app.state.llm
    return worker


router = Router(prefix="/api/llm", lifespan=at_work)
Working = Annotated[LlmWorker, Depends(worker_of)]


class LlmState(Schema):
    """What it does now: `stopped`, `working`, `waiting`, `spent` (its budget) or `failed`, and why."""

    phase: str
    error: str


class LlmSchema(LlmPlan):
    """The plan, whether there is a key, and how far it has come."""

    has_key: bool
    state: LlmState
    asked: int
    unusable: int
    labels: int
    spent_tokens: int


class LlmChange(Schema):
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
def get_llm(_: Owner, project: CurrentProject, worker: Working) -> LlmSchema:
    """What is decided, and what it does."""
    with project.reads() as session:
        plan, outcomes, spent = load_settings(session), llm_counts(session), spent_tokens(session)
    decided = plan.model_dump(exclude={"running", "shown"})
    now = {"has_key": bool(api_key()), "state": worker.state, "spent_tokens": spent, **outcomes}
    return LlmSchema.model_validate({**decided, **now})


@router.put("")
def change_llm(changes: LlmChange, user: Owner, project: CurrentProject, worker: Working) -> LlmSchema:
    """Change the plan. A job that is under way goes on with it; one that has ended does not start by itself."""
    if changes.base_url:
        check_address(changes.base_url, bool(api_key()))
    with project.sessions.begin() as session:
        before = load_settings(session)
        plan = LlmSettings.model_validate({**before.model_dump(), **changes.model_dump(exclude_none=True)})
        save_settings(session, plan)
    if worker.active:
        worker.start()
    return get_llm(user, project, worker)


@router.post("/start")
def start(_: Owner, worker: Working) -> LlmState:
    """Puts it to work."""
    worker.start()
    return LlmState(**worker.state)


@router.post("/stop")
def stop(_: Owner, worker: Working) -> LlmState:
    """Stops it; what it has said stays."""
    worker.stop()
    return LlmState(**worker.state)


class TrialSchema(Schema):
    """What it says of a text; without a class, `problem` says why."""

    text: str
    class_: str | None = Field(validation_alias="class_name", serialization_alias="class")
    confidence: float | None
    reason: str
    problem: str


@router.post("/trial")
def trial(_: Owner, project: CurrentProject) -> Items[TrialSchema]:
    """Asks it about five texts; nothing of it is kept."""
    return Items(items=[TrialSchema.model_validate(answer) for answer in try_llm(project)])


@router.get("/evaluation")
def get_evaluation(
    _: Owner, project: CurrentProject, epsilon: Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)] = 0.2
) -> dict[str, Any]:
    """The alternative-annotator test of this LLM against people, and Cohen's κ with each of them."""
    with project.reads() as session:
        return evaluate_llm(session, llm_annotator(session, load_settings(session)), epsilon)
