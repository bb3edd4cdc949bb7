from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from hybridal.annotators.llm.prompt import LlmLabel
from hybridal.app.llm.llm_evaluation import alt_test, evaluate_llm, labels_of_llm
from hybridal.app.web.translations import translation

from .projects import llm_of, made, recorded, says, text

TRUTH = {f"t{at}": str(at * 7 % 4) for at in range(120)}
People = dict[str, dict[str, str]]


def noisy(seed: int, share: float, seen: float = 1.0) -> dict[str, str]:
    """Annotations that equal the truth on a share of the seen texts."""
    rng = np.random.default_rng(seed)
    return {
        text: str(rng.integers(4)) if rng.random() < share else name
        for text, name in TRUTH.items()
        if rng.random() < seen
    }


def straightforward(llm: dict[str, str], people: People, epsilon: float) -> tuple[list[float], float, float]:
    """The procedure as its authors describe it, with the tests of scipy and statsmodels."""
    p_values, advantages = [], []
    for left_out in people:
        behind, wins = [], []
        for id in people[left_out]:
            others = [labels[id] for person, labels in people.items() if person != left_out and id in labels]
            if others and id in llm:
                llm_score = np.mean([llm[id] == other for other in others])
                person_score = np.mean([people[left_out][id] == other for other in others])
                behind.append(int(person_score >= llm_score) - int(llm_score >= person_score))
                wins.append(llm_score >= person_score)
        if len(behind) >= 30:
            p_values.append(float(stats.ttest_1samp(behind, epsilon, alternative="less").pvalue))
            advantages.append(float(np.mean(wins)))
    rejected = multipletests(p_values, alpha=0.05, method="fdr_by")[0]
    return p_values, float(np.mean(rejected)), float(np.mean(advantages))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.1, 0.2])
def test_alternative_annotator_test_equals_scipy_and_statsmodels(seed: int, epsilon: float) -> None:
    people = {name: noisy(10 * seed + at, 0.1 + 0.1 * at, 0.7) for at, name in enumerate(["Ann", "Bo", "Cy", "Di"])}
    llm = noisy(10 * seed + 9, [0.05, 0.3, 0.6][seed % 3], 0.9)
    found = alt_test(llm, people, epsilon)
    p_values, winning_rate, advantage = straightforward(llm, people, epsilon)
    assert [person.p for person in found.people] == pytest.approx(p_values)
    assert (found.winning_rate, found.advantage) == pytest.approx((winning_rate, advantage))
    assert found.passes == (winning_rate >= 0.5)


def test_an_llm_as_good_as_people_passes_and_one_that_guesses_fails() -> None:
    people = {name: noisy(at, 0.15) for at, name in enumerate(["Ann", "Bo", "Cy"])}
    assert alt_test(noisy(3, 0.1), people).passes is True
    guessing = alt_test(noisy(4, 1.0), people)
    assert guessing.passes is False
    assert guessing.winning_rate == 0
    assert all(person.llm_wins < person.person_wins for person in guessing.people)


def test_texts_with_one_annotation_are_ignored() -> None:
    people = {name: noisy(at, 0.2) for at, name in enumerate(["Ann", "Bo", "Cy"])}
    llm = noisy(3, 0.2)
    alone = {**people, "Ann": people["Ann"] | {f"only {at}": "0" for at in range(50)}}
    assert alt_test(llm | {f"only {at}": "1" for at in range(50)}, alone) == alt_test(llm, people)


def test_without_any_spread_the_mean_decides() -> None:
    same = alt_test(TRUTH, {"Ann": TRUTH, "Bo": TRUTH})
    assert [person.p for person in same.people] == [0, 0]
    wrong = alt_test(dict.fromkeys(TRUTH, "never"), {"Ann": TRUTH, "Bo": TRUTH})
    assert [person.p for person in wrong.people] == [1, 1]
    assert "three" in same.note


def test_missing_requirements_are_named() -> None:
    few = dict(list(TRUTH.items())[:29])
    for people in ({}, {"Ann": TRUTH}, {"Ann": few, "Bo": few}):
        found = alt_test(TRUTH, people)
        assert (found.passes, found.winning_rate, found.people) == (None, None, ())
        assert found.note.endswith("now there is none.")
    enough = dict(list(TRUTH.items())[:30])
    assert alt_test(TRUTH, {"Ann": enough, "Bo": enough}).passes is True
    some = dict(list(TRUTH.items())[:20])
    one = alt_test(TRUTH, {"Ann": TRUTH, "Bo": some, "Cy": dict(list(TRUTH.items())[20:45])})
    assert one.note.endswith("now there is one.")


def test_only_texts_that_went_to_people_anyway_are_compared(tmp_path: Path) -> None:
    project = made(tmp_path, 6)
    with project.sessions.begin() as session:
        llm = llm_of(session)
        text(session, "t1").split = "validation"
        text(session, "t2").required_votes = text(session, "t4").required_votes = 2
        session.flush()
        for id in ("t0", "t1", "t2"):
            recorded(session, llm, id, LlmLabel("bug", 0.5))
        recorded(session, llm, "t4", None)
        assert labels_of_llm(session, llm) == {"t1": "bug", "t2": "bug"}
        everything = llm_of(session, routing={"overlap": 1.0})
        assert set(labels_of_llm(session, everything)) == {"t0", "t1", "t2"}
        assert labels_of_llm(session, llm_of(session, model="large")) == {}


def test_annotators_count_and_decisions_do_not(tmp_path: Path) -> None:
    project = made(tmp_path, 6)
    with project.sessions.begin() as session:
        says(session, "Ann", "t1", "bug")
        says(session, "Bo", "t1", "idea")
        says(session, "Cy", "t1", "bug", decides=True)
        llm = llm_of(session, routing={"overlap": 1.0})
        recorded(session, llm, "t1", LlmLabel("bug", 0.9))
        assert [one["person"] for one in evaluate_llm(session, llm)["kappas"]] == ["Ann", "Bo"]


def test_with_people_enough_the_test_is_made(tmp_path: Path) -> None:
    project = made(tmp_path, 40)
    with project.sessions.begin() as session:
        llm = llm_of(session, routing={"overlap": 1.0})
        for at in range(40):
            name = "bug" if at % 3 else "idea"
            recorded(session, llm, f"t{at}", LlmLabel(name, 0.9))
            for who in ("Ann", "Bo", "Cy"):
                says(session, who, f"t{at}", "bug" if who == "Cy" and at < 6 else name)
        found = evaluate_llm(session, llm)
        assert (found["passes"], found["winning_rate"], found["advantage"]) == (True, 1.0, 1.0)
        assert [one["person"] for one in found["people"]] == ["Ann", "Bo", "Cy"]
        assert [one["kappa"] for one in found["kappas"]][:2] == [1.0, 1.0]
        assert found["kappas"][2]["agreed"] == 38 / 40


def test_with_one_person_there_is_kappa_and_what_is_missing(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, 10, db)
    with project.sessions.begin() as session:
        llm = llm_of(session, routing={"overlap": 1.0})
        for at in range(10):
            recorded(session, llm, f"t{at}", LlmLabel("bug" if at % 2 else "idea", 0.9))
            says(session, "Ann", f"t{at}", "bug" if at % 2 else "idea")
        found = evaluate_llm(session, llm)
        assert found["passes"] is None
        assert translation("de").sentence(found["note"]).startswith("Der Test braucht zwei Personen")
        assert found["kappas"] == [{"person": "Ann", "kappa": 1.0, "low": 1.0, "high": 1.0, "texts": 10, "agreed": 1.0}]
        assert evaluate_llm(session, llm_of(session))["kappas"] == []
