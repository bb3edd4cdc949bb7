"""A few texts, asked before a job: what an LLM would say, without a label and without a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from hybridal.app.llm.annotator import api_key, llm_annotator, llm_candidates, load_settings
from hybridal.app.llm.job import in_parallel, unusable
from hybridal.app.llm.llm_client import Budget, Client, LlmResult, UnavailableError, ask, check_address
from hybridal.app.llm.records import spent_tokens
from hybridal.app.project import Project
from hybridal.errors import UserError

TEXTS = 5


@dataclass(frozen=True)
class TrialAnswer:
    """What it says of a text; without a class, `problem` says why."""

    text: str
    class_name: str | None
    confidence: float | None
    reason: str
    problem: str


def try_llm(project: Project) -> list[TrialAnswer]:
    """Asks about the texts that a job would begin with."""
    with project.reads() as session:
        plan, spent = load_settings(session), spent_tokens(session)
        llm = llm_annotator(session, plan).insist()
        texts = [text.body for text in llm_candidates(session, llm, TEXTS)]
    if not plan.base_url or not plan.model:
        raise UserError("Give the address of the LLM's server and the name of the model first.")
    check_address(plan.base_url, bool(api_key()))
    budget = Budget(plan.budget_tokens, spent)
    # Somebody waits for it: at the first failure it is told, not tried again.
    client = Client(
        plan.base_url,
        plan.model,
        api_key(),
        by_operator=project.owner_is_operator,
        timeout=plan.timeout,
        per_minute=6000,
        complain=_give_up,
    )
    try:
        return [
            _answer(text, found)
            for text, found in in_parallel(lambda text: ask(client, llm.instructions, budget, text), texts)
        ]
    finally:
        client.close()


def _give_up(complaint: str) -> NoReturn:
    raise UnavailableError(complaint.replace("; retrying", ""))


def _answer(text: str, found: LlmResult | Exception | None) -> TrialAnswer:
    if isinstance(found, Exception) and not isinstance(found, UserError):
        raise found
    if isinstance(found, UserError):
        return TrialAnswer(text, None, None, "", str(found))
    if found is None:
        return TrialAnswer(text, None, None, "", "The token budget does not allow to ask.")
    if found.said is None:
        return TrialAnswer(text, None, None, "", found.refused or unusable(found.heard))
    return TrialAnswer(text, found.said.class_name, found.said.confidence, found.said.reason, "")
