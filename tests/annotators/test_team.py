from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hybridal.annotators.callback import Callback
from hybridal.annotators.team import Answers, Team, in_overlap, team_of

SHARE = st.floats(0, 1)

TEXTS = dict.fromkeys(range(40), "…")


def gives(label: str, asked: list[Any] | None = None) -> Callback:
    def answer(texts: Mapping[Any, str]) -> dict[Any, str]:
        if asked is not None:
            asked.extend(texts)
        return dict.fromkeys(texts, label)

    return Callback(answer)


def test_people_label_validation_and_a_share_and_the_model_the_rest() -> None:
    seen: list[Any] = []
    answers = Team(gives("m", seen), gives("p"), overlap=0.25).ask(TEXTS, for_people={3, 4})
    assert {3, 4} <= answers.people.keys()
    assert answers.model.keys() == TEXTS.keys() - {3, 4}
    assert 4 < len(answers.people) < 20
    assert not {3, 4} & {*seen}


def test_what_the_model_leaves_goes_to_people() -> None:
    model = Callback(lambda texts: {id: "m" if id % 2 else None for id in texts})
    answers = Team(model, gives("p"), overlap=0.0).ask(TEXTS, for_people=())
    assert {*answers.people} == {n for n in TEXTS if n % 2 == 0}


def test_a_model_alone_leaves_validation_texts_unlabelled() -> None:
    answers = Team(gives("m")).ask(TEXTS, for_people={3})
    assert answers == Answers({}, dict.fromkeys(TEXTS.keys() - {3}, "m"))


def test_a_callback_is_people_unless_it_is_given_as_the_model() -> None:
    people, model = gives("p"), gives("m")
    assert team_of(people) is people
    assert team_of(people, model, 0.3) == Team(model, people, 0.3)


@given(st.text(), SHARE, SHARE)
def test_a_larger_overlap_holds_all_texts_of_a_smaller_one(text: str, one: float, other: float) -> None:
    assert not in_overlap(text, min(one, other)) or in_overlap(text, max(one, other))
    assert in_overlap(text, 1)
    assert not in_overlap(text, 0)
