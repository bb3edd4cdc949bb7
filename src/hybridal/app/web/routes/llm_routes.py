"""Routes for the language model as annotator: its settings, its state, and its evaluation against people."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request
from pydantic import Field

from hybridal.annotators.llm.llm_address import api_key, check_server
from hybridal.app.labelling.llm_answers import Routing
from hybridal.app.llm.annotator import (
    LlmPlan,
    LlmSettings,
    llm_annotator,
    load_settings,
    save_settings,
)
from hybridal.app.llm.job import LlmWorker
from hybridal.app.llm.llm_evaluation import evaluate_llm
from hybridal.app.llm.records import llm_counts, spent_tokens
from hybridal.app.llm.trial import try_llm
from hybridal.app.web.auth import CurrentProject, Owner
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Items, Schema, only_several
from hybridal.app.web.translations import Texts


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Resume the job if it was running when the last process ended."""
    worker = app.state.llm = LlmWorker(app.state.project)
    worker.resume()
    yield
    worker.close()


def worker_of(request: Request) -> LlmWorker:
    """The worker of this app's project."""
    if not hasattr(request.app.state, "llm"):
        request.app.state.llm = LlmWorker(request.app.state.project)
    worker: LlmWorker = request.app.state.llm
    return worker


router = Router(prefix="/api/llm", lifespan=lifespan)
CurrentWorker = Annotated[LlmWorker, Depends(worker_of)]


class LlmState(Schema):
    """The phase of the job: `stopped`, `working`, `waiting`, `spent` (its token budget) or `failed`, and the error."""

    phase: str
    error: str


class LlmSchema(LlmPlan):
    """The settings, whether there is an API key, and the progress."""

    has_key: bool
    state: LlmState
    asked: int
    unusable: int
    labels: int
    spent_tokens: int


class LlmChange(Schema):
    """The settings to change."""

    base_url: str | None = Field(None, max_length=500)
    model: str | None = Field(None, max_length=200)
    budget_tokens: int | None = Field(None, ge=0, le=10**12)
    routing: Routing | None = None
    examples: int | None = Field(None, ge=0, le=10)
    per_minute: int | None = Field(None, ge=1, le=100_000)
    parallel: int | None = Field(None, ge=1, le=64)
    timeout: float | None = Field(None, ge=1, le=600)


@router.get("")
def get_llm(_: Owner, project: CurrentProject, worker: CurrentWorker) -> LlmSchema:
    """The settings and the state of the language model."""
    with project.reads() as session:
        plan, outcomes, spent = load_settings(session), llm_counts(session), spent_tokens(session)
    settings = plan.model_dump(exclude={"running", "shown"})
    status = {"has_key": bool(api_key()), "state": worker.state, "spent_tokens": spent, **outcomes}
    return LlmSchema.model_validate({**settings, **status})


@router.put("")
def change_llm(changes: LlmChange, user: Owner, project: CurrentProject, worker: CurrentWorker) -> LlmSchema:
    """Change the settings. A running job continues with them; one that has ended does not start again by itself."""
    if changes.base_url:
        check_server(changes.base_url, with_key=bool(api_key()), by_operator=project.owner_is_operator)
    with project.sessions.begin() as session:
        before = load_settings(session)
        plan = LlmSettings.model_validate({**before.model_dump(), **changes.model_dump(exclude_none=True)})
        save_settings(session, plan)
    if worker.active:
        worker.start()
    return get_llm(user, project, worker)


@router.post("/start")
def start(_: Owner, worker: CurrentWorker) -> LlmState:
    """Start the job."""
    worker.start()
    return LlmState(**worker.state)


@router.post("/stop")
def stop(_: Owner, worker: CurrentWorker) -> LlmState:
    """Stop the job; its labels are kept."""
    worker.stop()
    return LlmState(**worker.state)


class TrialSchema(Schema):
    """Its answer for a text; without a class, `problem` says why."""

    text: str
    class_: str | None = Field(validation_alias="class_name", serialization_alias="class")
    confidence: float | None
    reason: str
    problem: str
    classes: Annotated[list[str] | None, only_several("all classes of its answer.")] = None


@router.post("/trial")
def trial(_: Owner, project: CurrentProject) -> Items[TrialSchema]:
    """Let it label five texts; nothing is saved."""
    return Items(items=[TrialSchema.model_validate(answer) for answer in try_llm(project)])


@router.get("/evaluation")
def get_evaluation(
    _: Owner,
    project: CurrentProject,
    texts: Texts,
    epsilon: Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)] = 0.2,
) -> dict[str, Any]:
    """The alternative-annotator test of the language model against people, and Cohen's κ with each of them."""
    with project.reads() as session:
        found = evaluate_llm(session, llm_annotator(session, load_settings(session)), epsilon)
    return texts.sentences(found)
