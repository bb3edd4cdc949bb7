from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.llm.answers import Said
from hybridal.app.llm.routing import Guessed, Rule, in_overlap, route, urgency

SHARE = st.floats(0, 1)
SAID = st.builds(Said, st.sampled_from(["bug", "idea"]), SHARE) | st.none()
GUESS = st.builds(Guessed, st.sampled_from(["bug", "idea"]), SHARE) | st.none()
RULE = st.builds(Rule, SHARE, SHARE, SHARE)


@given(RULE, SAID, GUESS, st.booleans())
def test_only_a_sure_answer_that_nobody_contradicts_is_accepted(
    rule: Rule, said: Said | None, guess: Guessed | None, shared: bool
) -> None:
    sure = said is not None and said.confidence >= rule.threshold
    contradicted = (
        guess is not None
        and said is not None
        and guess.class_name != said.class_name
        and guess.probability >= rule.contradiction
    )
    assert (route(rule, said, guess, shared) == "accepted") == (sure and not contradicted and not shared)


def test_the_reason_is_told() -> None:
    sure, rule = Said("bug", 0.9), Rule(threshold=0.9, contradiction=0.8)
    assert route(rule, None, None, False) == "unusable"
    assert route(rule, Said("bug", 0.89), None, False) == "unsure"
    assert route(rule, sure, Guessed("idea", 0.8), False) == "contradicted"
    assert route(rule, sure, Guessed("idea", 0.79), False) == "accepted"
    assert route(rule, sure, Guessed("bug", 1.0), False) == "accepted"
    assert route(rule, sure, None, True) == "shared"


@given(st.text(), SHARE, SHARE)
def test_a_larger_overlap_holds_all_texts_of_a_smaller_one(text: str, one: float, other: float) -> None:
    small, large = Rule(overlap=min(one, other)), Rule(overlap=max(one, other))
    assert not in_overlap(small, text) or in_overlap(large, text)
    assert in_overlap(Rule(overlap=1), text)
    assert not in_overlap(Rule(overlap=0), text)


@given(SHARE, SHARE)
def test_people_get_first_what_the_llm_knows_least(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert urgency(None) <= urgency(Said("bug", less)) <= urgency(Said("bug", more)) < 0
