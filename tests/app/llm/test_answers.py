import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.llm.answers import Said, understand
from hybridal.app.llm.reply import Reply

CLASSES = ("bug", "idea", 'with "quotes"', "ünïcode")


def said(content: str) -> Said | None:
    return understand(Reply(content), CLASSES)


@given(st.sampled_from(CLASSES), st.floats(0, 1), st.text(max_size=50))
def test_a_good_answer_is_understood_however_it_is_wrapped(name: str, confidence: float, reason: str) -> None:
    answer = json.dumps({"reason": reason, "class": name, "confidence": confidence})
    known = Said(name, confidence, reason)
    assert said(answer) == said(f"Here it is:\n```json\n{answer}\n```\nAnything else?") == known
    assert said(f"{answer} {answer}") == known


@pytest.mark.parametrize(
    "content",
    [
        "",
        "bug",
        "null",
        "[]",
        '["class", "bug"]',
        '{"class": "bug"}',
        '{"confidence": 0.9}',
        '{"class": "bug", "confidence": 1.1}',
        '{"class": "bug", "confidence": -0.1}',
        '{"class": "bug", "confidence": "0.9"}',
        '{"class": "bug", "confidence": true}',
        '{"class": "bug", "confidence": NaN}',
        '{"class": "bug", "confidence": null}',
        '{"class": "Bug", "confidence": 0.9}',
        '{"class": "spam", "confidence": 0.9}',
        '{"class": ["bug"], "confidence": 0.9}',
        '{"class": "bug", "confidence": 0.9',
        '{"class": "bug", "class": "idea", "confidence": 0.9}',
        '{"answer": {"class": "bug", "confidence": 0.9}}',
        "{" * 30_000,
        "[" * 30_000,
    ],
)
def test_nonsense_is_no_answer(content: str) -> None:
    assert said(content) is None


def test_two_different_answers_are_none() -> None:
    quoted = '{"class": "idea", "confidence": 1.0}'
    assert said(f'The text says {quoted}. My answer: {{"class": "bug", "confidence": 0.9}}') is None


@given(st.text())
def test_any_words_are_an_answer_or_none_and_never_an_error(content: str) -> None:
    assert said(content) is None or content.count("{")


def tokens(*parts: tuple[str, float]) -> Reply:
    return Reply("".join(token for token, _ in parts), None, parts)


def test_measured_confidence_counts_more_than_stated() -> None:
    reply = tokens(('{"class', -9.0), ('": "', -9.0), ("b", -0.1), ("ug", -0.2), ('", "confidence": 0.99}', -9.0))
    found = understand(reply, CLASSES)
    assert found is not None
    assert found.class_name == "bug"
    assert found.confidence == pytest.approx(math.exp(-0.3))


def test_a_token_that_reaches_into_the_class_counts() -> None:
    reply = tokens(('{"class": "b', -0.5), ('ug", ', -0.25), ('"confidence": 1}', -9.0))
    found = understand(reply, CLASSES)
    assert found is not None
    assert found.confidence == pytest.approx(math.exp(-0.75))


def test_quotes_within_a_class_do_not_end_it() -> None:
    reply = tokens(
        ('{"class": "', -9.0), ("with ", -0.1), ('\\"quotes', -0.2), ('\\"', -0.3), ('", "confidence": 1}', -9.0)
    )
    found = understand(reply, CLASSES)
    assert found is not None
    assert found.confidence == pytest.approx(math.exp(-0.6))


def test_tokens_that_are_not_the_words_are_not_believed() -> None:
    words = '{"class": "bug", "confidence": 0.7}'
    for logprobs in ((("other", -5.0),), (("", 0.0),), ((words[:-1], -5.0),), ((words, 0.5),)):
        assert understand(Reply(words, None, logprobs), CLASSES) == Said("bug", 0.7)


def test_a_reason_with_half_a_character_can_be_written_down() -> None:
    said = understand(Reply('{"class": "bug", "confidence": 1, "reason": "\\ud83d!"}'), CLASSES)
    assert said is not None
    assert said.reason == "?!"
