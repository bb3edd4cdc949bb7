from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hybridal.annotators.llm.llm_address import api_key
from hybridal.annotators.llm.prompt import LlmLabel
from hybridal.app.db.schema import Lease, QueuedText, now
from hybridal.app.labelling import classes
from hybridal.app.labelling.llm_answers import Routing
from hybridal.app.llm.annotator import (
    LlmSettings,
    ModelPrediction,
    choose_examples,
    llm_annotator,
    llm_candidates,
    load_settings,
    queue_rank,
    route,
    save_settings,
)
from hybridal.errors import UserError

from ..made_up import merge_classes
from .projects import llm_of, made, person, recorded, says, text

SHARE = st.floats(0, 1)
ANSWER = st.builds(LlmLabel, st.sampled_from(["bug", "idea"]), SHARE) | st.none()
GUESS = st.builds(ModelPrediction, st.sampled_from(["bug", "idea"]), SHARE) | st.none()
RULE = st.builds(Routing, threshold=SHARE, contradiction=SHARE, overlap=SHARE)


@given(RULE, ANSWER, GUESS, st.booleans())
def test_only_confident_uncontradicted_answers_are_accepted(
    rule: Routing, label: LlmLabel | None, prediction: ModelPrediction | None, shared: bool
) -> None:
    sure = label is not None and label.confidence >= rule.threshold
    contradicted = (
        prediction is not None
        and label is not None
        and prediction.class_name != label.answer
        and prediction.probability >= rule.contradiction
    )
    assert (route(rule, label, prediction, shared) == "accepted") == (sure and not contradicted and not shared)


def test_routing_gives_its_reason() -> None:
    sure, rule = LlmLabel("bug", 0.9), Routing(threshold=0.9, contradiction=0.8)
    assert route(rule, None, None, False) == "unusable"
    assert route(rule, LlmLabel("bug", 0.89), None, False) == "unsure"
    assert route(rule, sure, ModelPrediction("idea", 0.8), False) == "contradicted"
    assert route(rule, sure, ModelPrediction("idea", 0.79), False) == "accepted"
    assert route(rule, sure, ModelPrediction("bug", 1.0), False) == "accepted"
    assert route(rule, sure, None, True) == "shared"


@given(SHARE, SHARE)
def test_people_first_get_the_texts_that_the_llm_is_least_sure_of(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert queue_rank(None) <= queue_rank(LlmLabel("bug", less)) <= queue_rank(LlmLabel("bug", more)) < 0


def test_plan_survives_the_database(tmp_path: Path) -> None:
    project = made(tmp_path)
    plan = LlmSettings.model_validate(
        {"base_url": "http://localhost/v1", "model": "small", "routing": {"threshold": 0.7}}
    )
    with project.sessions.begin() as session:
        save_settings(session, plan)
    with project.reads() as session:
        assert load_settings(session) == plan
    assert plan.routing == Routing(threshold=0.7)


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget_tokens": -1},
        {"routing": {"threshold": 1.1}},
        {"routing": {"threshold": float("nan")}},
        {"per_minute": 0},
        {"parallel": 1000},
        {"key": "secret"},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LlmSettings.model_validate(wrong)


def test_the_key_comes_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_KEY", raising=False)
    assert api_key() == ""
    monkeypatch.setenv("HYBRIDAL_LLM_KEY", " secret\n")
    assert api_key() == "secret"
    assert "secret" not in LlmSettings().model_dump_json()


def test_prompt_has_active_classes_and_examples(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        bug, _ = classes.active(session)
        classes.describe(session, bug.number, "something is broken", "It crashes.\n\nIt hangs.")
        says(session, "me", "t3", "idea")
        found = llm_of(session, shown=("t3", "gone"))
    assert found.instructions.classes == (("bug", "something is broken"), ("idea", ""))
    assert found.instructions.examples == (("It crashes.", "bug"), ("It hangs.", "bug"), ("text 3", "idea"))


def test_other_instructions_make_another_annotator(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        names = {llm_of(session).name, llm_of(session, model="large").name}
        bug, _ = classes.active(session)
        classes.describe(session, bug.number, "something is broken")
        names.add(llm_of(session).name)
        says(session, "me", "t3", "idea")
        assert llm_of(session).name in names
        names.add(llm_of(session, shown=("t3",)).name)
    assert len(names) == 4


def test_annotator_without_classes_is_refused(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        bug, idea = classes.active(session)
        merge_classes(session, bug.number, idea.number)
        with pytest.raises(UserError, match="two classes"):
            llm_annotator(session, LlmSettings(model="small")).validated()


def test_examples_are_the_first_texts_that_people_labelled(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        for id, name in (("t5", "bug"), ("t1", "bug"), ("t2", "bug"), ("t4", "idea")):
            says(session, "me", id, name)
        says(session, "me", "t6", "bug")
        says(session, "you", "t6", "idea")
        assert choose_examples(session, 0) == ()
        assert choose_examples(session, 1) == ("t5", "t4")
        assert choose_examples(session, 2) == ("t5", "t1", "t4")


def test_the_models_queue_comes_before_the_random_order(tmp_path: Path) -> None:
    project = made(tmp_path, 10)
    with project.sessions.begin() as session:
        session.add_all(
            QueuedText(text_row=text(session, f"t{at}").row, rank=rank, round=1) for rank, at in enumerate([7, 2])
        )
        session.flush()
        found = llm_candidates(session, llm_of(session), 100)
        assert [one.id for one in found[:2]] == ["t7", "t2"]
        assert sorted(one.id for one in found) == [f"t{at}" for at in range(10)]
        places = [one.random_order for one in found[2:]]
        assert places == sorted(places)


def test_labelled_leased_and_seen_texts_are_left_out(tmp_path: Path) -> None:
    project = made(tmp_path, 6)
    with project.sessions.begin() as session:
        says(session, "me", "t0", "bug")
        me = person(session, "me").number
        session.add(Lease(text_row=text(session, "t1").row, person_number=me, until=now() + 60))
        session.add(Lease(text_row=text(session, "t2").row, person_number=me, until=now() - 60))
        llm = llm_of(session, shown=("t5",))
        recorded(session, llm, "t3", LlmLabel("bug", 0.2))
        found = {one.id for one in llm_candidates(session, llm, 100)}
        assert found == {"t2", "t4"}
        assert "t3" in {one.id for one in llm_candidates(session, llm_of(session, model="large"), 100)}


def test_validation_texts_are_asked_when_people_labelled_them_and_first_of_all(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, 6, db)
    with project.sessions.begin() as session:
        for id in ("t1", "t2"):
            text(session, id).split = "validation"
        text(session, "t3").required_votes = 2
        session.flush()
        says(session, "me", "t2", "bug")
        says(session, "me", "t3", "bug")
        found = [one.id for one in llm_candidates(session, llm_of(session), 100)]
        assert set(found[:2]) == {"t2", "t3"}
        assert set(found[2:]) == {"t0", "t4", "t5"}
        assert len(llm_candidates(session, llm_of(session), 3)) == 3
