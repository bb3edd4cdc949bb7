"""Try a language model on a few texts before a job, without storing anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from hybridal.annotators.llm.ask_label import LlmResult, ask_label, in_parallel, unusable_reason
from hybridal.annotators.llm.chat_client import ChatClient, UnavailableError
from hybridal.annotators.llm.llm_address import api_key, check_server
from hybridal.annotators.llm.llm_budget import Budget
from hybridal.app.llm.annotator import llm_annotator, llm_candidates, load_settings
from hybridal.app.llm.records import spent_tokens
from hybridal.app.project import Project
from hybridal.errors import UserError
from hybridal.sentences import translatable

TRIAL_TEXTS = 5


@dataclass(frozen=True)
class TrialAnswer:
    """The answer for a text; without a class, or `classes` if it may have several, `problem` says why."""

    text: str
    class_name: str | None
    confidence: float | None
    reason: str
    problem: str
    classes: list[str] | None = None


def try_llm(project: Project) -> list[TrialAnswer]:
    """Ask about the texts that a job would start with."""
    with project.reads() as session:
        plan, spent = load_settings(session), spent_tokens(session)
        llm = llm_annotator(session, plan).validated()
        texts = [text.body for text in llm_candidates(session, llm, TRIAL_TEXTS)]
    if not plan.base_url or not plan.model:
        raise UserError(translatable("Enter the address of the LLM server and the name of the model first."))
    check_server(plan.base_url, with_key=bool(api_key()), by_operator=project.owner_is_operator)
    budget = Budget(plan.budget_tokens, spent)
    # An owner waits for the result, so report the first failure instead of retrying.
    client = ChatClient(
        plan.base_url,
        plan.model,
        api_key(),
        by_operator=project.owner_is_operator,
        timeout=plan.timeout,
        per_minute=6000,
        on_retry=_give_up,
    )
    try:
        return [
            _answer(text, found)
            for text, found in in_parallel(lambda text: ask_label(client, llm.instructions, budget, text), texts)
        ]
    finally:
        client.close()


def _give_up(reason: str) -> NoReturn:
    raise UnavailableError(reason.replace("; retrying", ""))


def _answer(text: str, found: LlmResult | Exception | None) -> TrialAnswer:
    if isinstance(found, Exception) and not isinstance(found, UserError):
        raise found
    if isinstance(found, UserError):
        return TrialAnswer(text, None, None, "", str(found))
    if found is None:
        return TrialAnswer(text, None, None, "", "The remaining token budget is too small.")
    if found.label is None:
        return TrialAnswer(text, None, None, "", found.refused or unusable_reason(found.raw_reply))
    given, sure, why = found.label.answer, found.label.confidence, found.label.reason
    if isinstance(given, str):
        return TrialAnswer(text, given, sure, why, "")
    return TrialAnswer(text, None, sure, why, "", sorted(given))
