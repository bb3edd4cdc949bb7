import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from hybridal.app.insight.alt_test import alt_test, benjamini_yekutieli

TRUTH = {f"t{at}": str(at * 7 % 4) for at in range(120)}
People = dict[str, dict[str, str]]


def noisy(seed: int, share: float, seen: float = 1.0) -> dict[str, str]:
    """The truth, predicted on a share of the texts, on those of them that were seen."""
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
        for text in people[left_out]:
            others = [said[text] for person, said in people.items() if person != left_out and text in said]
            if others and text in llm:
                llm_score = np.mean([llm[text] == other for other in others])
                person_score = np.mean([people[left_out][text] == other for other in others])
                behind.append(int(person_score >= llm_score) - int(llm_score >= person_score))
                wins.append(llm_score >= person_score)
        if len(behind) >= 30:
            p_values.append(float(stats.ttest_1samp(behind, epsilon, alternative="less").pvalue))
            advantages.append(float(np.mean(wins)))
    rejected = multipletests(p_values, alpha=0.05, method="fdr_by")[0]
    return p_values, float(np.mean(rejected)), float(np.mean(advantages))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.1, 0.2])
def test_it_is_the_procedure_done_with_scipy_and_statsmodels(seed: int, epsilon: float) -> None:
    people = {name: noisy(10 * seed + at, 0.1 + 0.1 * at, 0.7) for at, name in enumerate(["Ann", "Bo", "Cy", "Di"])}
    llm = noisy(10 * seed + 9, [0.05, 0.3, 0.6][seed % 3], 0.9)
    found = alt_test(llm, people, epsilon)
    p_values, winning_rate, advantage = straightforward(llm, people, epsilon)
    assert [person.p for person in found.people] == pytest.approx(p_values)
    assert (found.winning_rate, found.advantage) == pytest.approx((winning_rate, advantage))
    assert found.passes == (winning_rate >= 0.5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_correction_is_that_of_statsmodels(p_values: list[float]) -> None:
    known = multipletests(p_values, alpha=0.05, method="fdr_by")[1]
    assert benjamini_yekutieli(p_values) == pytest.approx(known.tolist())


def test_an_llm_as_good_as_people_passes_and_one_that_guesses_fails() -> None:
    people = {name: noisy(at, 0.15) for at, name in enumerate(["Ann", "Bo", "Cy"])}
    assert alt_test(noisy(3, 0.1), people).passes is True
    guessing = alt_test(noisy(4, 1.0), people)
    assert guessing.passes is False
    assert guessing.winning_rate == 0
    assert all(person.llm_wins < person.person_wins for person in guessing.people)


def test_it_never_sees_texts_that_only_one_of_them_labelled() -> None:
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


def test_it_says_what_is_missing() -> None:
    few = dict(list(TRUTH.items())[:29])
    for people in ({}, {"Ann": TRUTH}, {"Ann": few, "Bo": few}):
        found = alt_test(TRUTH, people)
        assert (found.passes, found.winning_rate, found.people) == (None, None, ())
        assert found.note.endswith("now there is none")
    enough = dict(list(TRUTH.items())[:30])
    assert alt_test(TRUTH, {"Ann": enough, "Bo": enough}).passes is True
    some = dict(list(TRUTH.items())[:20])
    one = alt_test(TRUTH, {"Ann": TRUTH, "Bo": some, "Cy": dict(list(TRUTH.items())[20:45])})
    assert one.note.endswith("now there is one")
