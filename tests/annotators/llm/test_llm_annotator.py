from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybridal import ActiveLearner, LlmAnnotator
from hybridal.annotators import ANNOTATORS, ModelAnnotator
from hybridal.errors import UserError
from hybridal.tasks.answers import Decisions
from hybridal.testing.small import multi_label_task, toy_task

from ...helpers.chat_server import ChatServer, Sends, chat_server, labels, says

TASK = toy_task()
TEXTS = {f"t{n}": f"text {n}" for n in range(6)}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_KEY", raising=False)
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)


def annotator(server: ChatServer, **options: Any) -> LlmAnnotator:
    found = LlmAnnotator("m", server.url, per_minute=1e6, **options)
    found.begin(TASK)
    return found


def food(_: Any) -> Sends:
    return labels("food")


def test_it_is_a_component_with_a_name() -> None:
    assert ANNOTATORS.names() == ["llm", "simulated"]
    assert ANNOTATORS.find("llm") is LlmAnnotator
    with chat_server(food) as server:
        assert isinstance(annotator(server), ModelAnnotator)


def test_answers_are_asked_and_paid_for_once_also_after_a_restart(tmp_path: Path) -> None:
    with chat_server(food) as server:
        first = annotator(server, answers=tmp_path / "a" / "answers.jsonl")
        assert first.label(TEXTS) == dict.fromkeys(TEXTS, "food")
        again = annotator(server, answers=tmp_path / "a" / "answers.jsonl")
        assert again.label({**TEXTS, "new": "another"}) == dict.fromkeys([*TEXTS, "new"], "food")
        assert len(server.asked) == 7
        assert again.spent_tokens == 7 * 40


def test_answers_before_a_failure_are_kept(tmp_path: Path) -> None:
    def fails_late(body: Any) -> Sends:
        return labels("food") if len(server.asked) < 4 else Sends(status=401)

    with chat_server(fails_late) as server:
        with pytest.raises(UserError, match="rejected the key"):
            annotator(server, answers=tmp_path / "answers.jsonl", parallel=1).label(TEXTS)
        server.reply = food
        assert len(annotator(server, answers=tmp_path / "answers.jsonl").label(TEXTS)) == 6
        assert len(server.texts) == 4 + 3


def test_equal_texts_are_asked_about_once() -> None:
    with chat_server(food) as server:
        assert annotator(server).label({"a": "same", "b": "same"}) == {"a": "food", "b": "food"}
        assert len(server.asked) == 1


def test_texts_beyond_the_budget_stay_unlabelled_and_the_end_is_remembered(tmp_path: Path) -> None:
    with chat_server(lambda _: labels("food", tokens=400)) as server:
        limited = annotator(server, budget_tokens=2000, answers=tmp_path / "answers.jsonl")
        done = limited.label(TEXTS)
        assert 0 < len(done) < 6
        assert limited.is_spent
        assert limited.spent_tokens <= 2000
        asked = len(server.asked)
        resumed = annotator(server, budget_tokens=2000, answers=tmp_path / "answers.jsonl")
        assert resumed.is_spent
        assert resumed.label(TEXTS) == done
        assert len(server.asked) == asked
        richer = annotator(server, budget_tokens=10_000, answers=tmp_path / "answers.jsonl")
        assert len(richer.label(TEXTS)) == 6


def test_a_budget_in_money_is_one_in_tokens() -> None:
    with chat_server(food) as server:
        found = annotator(server, budget_money=0.01, price=2.0)
        assert found.limit == 5000
        found.label({"a": "one"})
        assert found.spent_money == pytest.approx(40 * 2 / 1e6)
        assert found.cost_sentence == "m labelled 1 of 1 texts with 40 tokens, which cost 0.00."
        with pytest.raises(UserError, match="needs `price`"):
            annotator(server, budget_money=9.0)


def test_the_most_similar_labelled_text_is_shown_last() -> None:
    with chat_server(food) as server:
        found = annotator(server, nearest=2)
        found.show(
            [("soup with salt", "food"), ("a goal", "sport"), ("hot soup with salt", "food"), ("stars", "sport")]
        )
        found.label({"a": "very hot soup with salt"})
        shown = server.asked[0]["messages"][0]["content"].splitlines()[-2:]
        assert '"soup with salt"' in shown[0]
        assert '"hot soup with salt"' in shown[1]


def test_partly_decided_texts_are_not_shown() -> None:
    with chat_server(lambda _: says('{"reason": "", "classes": ["food"], "confidence": 0.9}')) as server:
        found = LlmAnnotator("m", server.url, per_minute=1e6)
        found.begin(multi_label_task())
        found.show([("hot soup", Decisions.of({"food": True})), ("soup", frozenset(["food", "sport"]))])
        assert found.label({"a": "more hot soup"}) == {"a": frozenset(["food"])}
        assert '["food", "sport"]' in server.asked[0]["messages"][0]["content"]
        assert '"hot soup"' not in server.asked[0]["messages"][0]["content"]


def test_the_key_goes_only_to_the_address_that_the_operator_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDAL_LLM_KEY", "secret")
    with chat_server(food) as server:
        with pytest.raises(UserError, match="HYBRIDAL_LLM_URL"):
            annotator(server)
        monkeypatch.setenv("HYBRIDAL_LLM_URL", server.url)
        found = LlmAnnotator("m")  # the address may then be left out
        found.begin(TASK)
        found.label({"a": "soup"})
        assert server.headers[0]["Authorization"] == "Bearer secret"
        with pytest.raises(UserError, match="Only one LLM server is allowed"):
            LlmAnnotator("m", "http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"nearest": -1}, "`nearest` must be a whole number of at least 0"),
        ({"parallel": 0}, "`parallel` must be a whole number of at least 1"),
        ({"timeout": 0}, "`timeout` must be positive"),
        ({"budget_tokens": -1}, "`budget_tokens` must not be negative"),
        ({"model": ""}, "`model` is empty"),
        ({"url": ""}, "`url` is empty"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        LlmAnnotator(**{"model": "m", "url": "http://127.0.0.1:1/v1", **options})


def test_it_needs_classes_first() -> None:
    with pytest.raises(UserError, match="call `begin`"):
        LlmAnnotator("m", "http://127.0.0.1:1/v1").label({"a": "text"})


def test_a_learner_gives_it_classes_and_shows_it_labelled_texts() -> None:
    answers: Callable[[Any], Sends] = lambda body: labels("food" if "soup" in str(body["messages"][1]) else "sport")  # noqa: E731
    learner = ActiveLearner(TASK, "tiny", protocol="quick", schedule="retrain", device="cpu", initial=4, batch=4)
    learner.teach(TASK.answers(TASK.train.ids[:8]))
    with chat_server(answers) as server:
        rounds = learner.run(LlmAnnotator("m", server.url, per_minute=1e6), rounds=1)
        assert rounds[0].labels == 12
        assert "Texts that people labelled" in server.asked[0]["messages"][0]["content"]
