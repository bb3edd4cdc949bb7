"""The language model in a project in which a text may have several classes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.annotators.llm.ask_label import LlmResult
from hybridal.annotators.llm.prompt import Instructions, LlmLabel, Reply, parse_label, with_retry_request
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.consensus import settled_by_text
from hybridal.app.labelling.stored_class_sets import answer_of, class_names
from hybridal.app.llm.annotator import LlmSettings, choose_examples, llm_annotator, save_settings
from hybridal.app.llm.llm_evaluation import evaluate_llm
from hybridal.app.llm.records import cached_result, queue_for_people, withdraw_contradicted
from hybridal.app.llm.trial import try_llm
from hybridal.app.project import Project

from ...helpers.chat_server import chat_server, in_turn
from ...helpers.chat_server import says as replies
from ..made_up import check_books, make
from .projects import llm_of, person, prediction, queue, recorded, text

CLASSES = ("bug", "idea", "a, b", '["bug"]')
RULES = Instructions((("bug", "broken"), ("idea", "")), (("Slow and ugly.", frozenset(["idea", "bug"])),), several=True)
BOTH, NONE = LlmLabel(frozenset(["a", "b"]), 0.95, "Why."), LlmLabel(frozenset(), 0.95)


@pytest.fixture
def project(tmp_path: Path, db: str | None) -> Iterator[Project]:
    made = make(tmp_path / "p", db=db, multi_label=True, validation_first=0, validation_share=0.0)
    with made.sessions.begin() as session:
        save_settings(session, LlmSettings.model_validate({"model": "small", "routing": {"overlap": 0.0}}))
    yield made
    made.close()


def test_the_prompt_asks_for_a_list() -> None:
    system = RULES.messages("hello")[0]["content"]
    assert '"classes": a list of the names' in system
    assert '{"text": "Slow and ugly.", "classes": ["bug", "idea"]}' in system
    properties = RULES.answer_format()["json_schema"]["schema"]["properties"]
    assert properties["classes"] == {"type": "array", "items": {"type": "string", "enum": ["bug", "idea"]}}
    assert '"classes"' in with_retry_request(RULES.messages("hello"), RULES.several)[-1]["content"]
    assert RULES.fingerprint != Instructions(RULES.classes, RULES.examples).fingerprint


@given(st.frozensets(st.sampled_from(CLASSES)), st.floats(0, 1))
def test_a_list_is_parsed_in_any_wrapping(names: frozenset[str], confidence: float) -> None:
    answer = json.dumps({"reason": "so", "classes": sorted(names) * 2, "confidence": confidence})
    known = LlmLabel(names, confidence, "so")
    assert parse_label(Reply(f"Here:\n```json\n{answer}\n```"), CLASSES, several=True) == known


@pytest.mark.parametrize(
    "classes",
    [None, "bug", '["bug"]', ["Bug"], ["bug", "spam"], ["bug", None], ["bug", ["idea"]], {"bug": True}, [""], 3, True],
)
def test_other_values_are_no_list_of_classes(classes: Any) -> None:
    assert parse_label(Reply(json.dumps({"classes": classes, "confidence": 0.9})), CLASSES, several=True) is None


@pytest.mark.parametrize(
    "content",
    [
        '{"class": "bug", "confidence": 0.9}',
        '{"classes": ["bug"]}',
        '{"classes": ["bug"], "confidence": 2}',
        '{"classes": ["bug"], "classes": [], "confidence": 0.9}',
        '{"classes": ["bug"], "confidence": 0.9} {"classes": [], "confidence": 0.9}',
        '{"classes": ' + "[" * 9_000,
        '["bug"]',
    ],
)
def test_nonsense_is_no_answer(content: str) -> None:
    assert parse_label(Reply(content), CLASSES, several=True) is None


@given(st.text() | st.text(st.sampled_from('{}[]":, abclses')))
def test_any_content_parses_to_an_answer_or_none(content: str) -> None:
    assert parse_label(Reply(content), CLASSES, several=True) is None or content.count("{")


def test_the_confidence_is_that_of_the_whole_list() -> None:
    names = (('["', -0.1), ("bug", -0.2), ('", "', -0.3), ("idea", -0.4), ('"]', -0.5))
    parts = (('{"classes": ', -9.0), *names, (', "confidence": 1}', -9.0))
    reply = Reply("".join(token for token, _ in parts), None, parts)
    found = parse_label(reply, CLASSES, several=True)
    assert found is not None
    assert found.answer == frozenset(["bug", "idea"])
    assert found.confidence == pytest.approx(math.exp(-1.5))


def settled(project: Project) -> dict[str, tuple[Any, str]]:
    with project.reads() as session:
        rows, names = {text(session, f"t{at}").row: f"t{at}" for at in range(20)}, class_names(session)
        found = settled_by_text(session, [*rows])
        return {rows[row]: (answer_of(one.label, names), one.source) for row, one in found.items()}  # type: ignore[arg-type]


def test_answers_become_sets_and_fill_what_people_left_open(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        says_set(session, "Ann", "t2", decisions={"a": False})
        says_set(session, "Ann", "t3", class_names=["c"])
        given = {"t0": BOTH, "t1": NONE, "t2": BOTH, "t3": BOTH}
        assert [recorded(session, llm, id, label) for id, label in given.items()] == ["accepted"] * 4
        assert cached_result(session, llm, "text 0") == LlmResult(BOTH, 0)
        assert cached_result(session, llm, "text 1") == LlmResult(NONE, 0)
        check_books(session)
    assert settled(project) == {
        "t0": (frozenset("ab"), "llm"),
        "t1": (frozenset(), "llm"),
        "t2": (frozenset("b"), "people"),
        "t3": (frozenset("c"), "people"),
    }


def says_set(session: Any, who: str, id: str, **label: Any) -> None:
    annotate(session, person(session, who), id, "label", key=f"{who}-{id}", **label)


def test_a_likely_class_that_the_answer_lacks_contradicts_it(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        for id, name in (("t0", "a"), ("t1", "c")):
            prediction(session, id, name, 0.9)
        ways = [recorded(session, llm, id, BOTH) for id in ("t0", "t1", "t2")]
        assert ways == ["accepted", "contradicted", "accepted"]
        prediction(session, "t2", "c", 0.9)
        assert withdraw_contradicted(session, llm) == 1
        queue_for_people(session, llm)
        assert {*queue(session)} == {"t1", "t2"}
        check_books(session)
    assert settled(project).keys() == {"t0"}


def test_examples_are_whole_sets_that_people_gave(project: Project) -> None:
    with project.sessions.begin() as session:
        says_set(session, "Ann", "t1", class_names=["a", "b"])
        says_set(session, "Ann", "t2", decisions={"c": True})
        says_set(session, "Ann", "t3", class_names=["b"])
        assert choose_examples(session, 1) == ("t1",)
        assert choose_examples(session, 2) == ("t1", "t3")
        llm = llm_annotator(session, LlmSettings(model="small", shown=("t1", "t2", "t3")))
        assert llm.instructions.examples == (("text 1", frozenset("ab")), ("text 3", frozenset("b")))
        assert llm.instructions.several


def test_the_llm_is_compared_with_people_on_each_class(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session, routing={"overlap": 1.0})
        for at in range(4):
            recorded(session, llm, f"t{at}", BOTH if at % 2 else NONE)
            says_set(session, "Ann", f"t{at}", class_names=["a"] if at % 2 else [])
        recorded(session, llm, "t4", BOTH)
        says_set(session, "Ann", "t4", decisions={"c": True})
        found = evaluate_llm(session, llm)
        assert found["kappas"][0]["texts"] == 4
        a, b, c = found["classes"]
        assert (a["class"], a["kappa"], a["texts"], a["llm"], a["people"], a["both"]) == ("a", 1.0, 4, 2, 2, 2)
        assert (b["agreed"], b["llm"], b["people"], b["both"]) == (0.5, 2, 0, 0)
        assert (c["texts"], c["llm"], c["people"]) == (5, 0, 1)


def test_with_people_enough_the_test_counts_how_far_sets_agree(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=40, multi_label=True, validation_first=0)
    with project.sessions.begin() as session:
        llm = llm_of(session, routing={"overlap": 1.0})
        for at in range(40):
            recorded(session, llm, f"t{at}", BOTH)
            for who in ("Ann", "Bo", "Cy"):  # Cy is farther from the others than the LLM is
                says_set(session, who, f"t{at}", class_names=["c"] if who == "Cy" else ["a"] if at % 4 else ["a", "b"])
        found = evaluate_llm(session, llm)
        wins = {one["person"]: (one["llm_wins"], one["person_wins"]) for one in found["people"]}
        assert wins["Cy"] == (1.0, 0.0)
        assert wins["Ann"] == (0.25, 1.0)
    project.close()


def test_a_trial_shows_the_classes(project: Project) -> None:
    project.owner_is_operator = True
    good = replies(json.dumps({"reason": "so", "classes": ["c", "a"], "confidence": 0.9}))
    with chat_server(in_turn(replies("no"), replies("no"), good)) as server:
        with project.sessions.begin() as session:
            save_settings(session, LlmSettings(base_url=server.url, model="small"))
        found = try_llm(project)
        assert all('"classes"' in body["messages"][0]["content"] for body in server.asked)
    assert {(one.class_name, *(one.classes or ())) for one in found} >= {(None, "a", "c")}
