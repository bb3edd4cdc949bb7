from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import sleep
from types import SimpleNamespace

import huggingface_hub
import pytest

from hybridal.backbones import auto_candidates, hub_models
from hybridal.backbones.auto_candidates import candidate_names, with_candidates
from hybridal.errors import UserError
from hybridal.testing.small import toy_task


@pytest.fixture(autouse=True)
def defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_candidates, "DEFAULT_CANDIDATES", ("gte-small", "tiny"))
    auto_candidates._asked_hubs.clear()
    monkeypatch.setenv("HYBRIDAL_MODELS", "")


@pytest.mark.parametrize(
    ("backbone", "sentence"), [("auto:", "lacks a candidate"), ("auto:a,", "lacks a"), ("auto:a, a", "names a twice")]
)
def test_lists_of_candidates_are_checked(backbone: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as caught:
        candidate_names(backbone)
    assert caught.value.field == "backbone"


def test_encoders_on_this_machine_are_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gte-small").mkdir()
    (tmp_path / "gte-small" / "config.json").write_text("{}")
    monkeypatch.setenv("HYBRIDAL_MODELS", str(tmp_path))
    assert with_candidates("auto", toy_task()) == "auto:gte-small,tiny"


def hub_that(answers: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A hub client without a cache; the addresses that were asked."""
    asked: list[str] = []

    def head(_: object, address: str, timeout: float) -> object:
        assert timeout <= 3
        asked.append(address)
        return answers()

    monkeypatch.setattr(hub_models, "cached", lambda *_: None)
    monkeypatch.setattr(huggingface_hub, "get_session", type("Session", (), {"head": head}))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return asked


def no_connection() -> None:
    raise ConnectionError("no such host")


@pytest.mark.parametrize("answer", [no_connection, lambda: SimpleNamespace(status_code=503), lambda: sleep(0.2)])
def test_without_a_hub_the_encoder_here_is_the_only_one(
    answer: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub is asked once in a while whether it answers; no download is tried, which would take minutes."""
    asked = hub_that(answer, monkeypatch)
    monkeypatch.setattr(auto_candidates, "SECONDS_TO_REACH_HUB", 0.05)
    monkeypatch.setattr(hub_models, "folder", lambda *_: pytest.fail("a download was tried"))
    messages: list[str] = []
    assert [with_candidates("auto", toy_task(), messages.append) for _ in range(2)] == ["tiny", "tiny"]
    assert {*messages} == {
        "Backbone 'gte-small' is neither on this machine nor available from the hub; it is no candidate."
    }
    assert len(asked) == 1


def test_a_hub_is_asked_again_after_a_while_and_earlier_choices_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}")
    clock, is_up = [100.0], [False]
    monkeypatch.setattr(auto_candidates, "monotonic", lambda: clock[0])
    asked = hub_that(lambda: SimpleNamespace(status_code=200 if is_up[0] else 503), monkeypatch)
    monkeypatch.setattr(hub_models, "folder", lambda *_: tmp_path)
    before = with_candidates("auto", toy_task())
    is_up[0], clock[0] = True, clock[0] + 599
    assert (with_candidates("auto", toy_task()), len(asked)) == ("tiny", 1)
    clock[0] += 2
    assert (with_candidates("auto", toy_task()), len(asked)) == ("auto:gte-small,tiny", 2)
    assert with_candidates(before, toy_task()) == "tiny"
    is_up[0], clock[0] = False, clock[0] + 601  # a download would be tried for minutes
    assert (with_candidates("auto", toy_task()), len(asked)) == ("tiny", 3)


def test_an_offline_client_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = hub_that(no_connection, monkeypatch)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert with_candidates("auto", toy_task()) == "tiny"
    assert asked == []


def test_a_candidate_is_downloaded_from_a_hub_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    hub_that(lambda: SimpleNamespace(status_code=200), monkeypatch)
    monkeypatch.setattr(hub_models, "folder", lambda *_: tmp_path)
    assert with_candidates("auto", toy_task()) == "auto:gte-small,tiny"


def test_named_encoders_and_lists_stay_as_they_are() -> None:
    for backbone in ("minilm", "auto:minilm,no/such-encoder"):
        assert with_candidates(backbone, toy_task()) == backbone
