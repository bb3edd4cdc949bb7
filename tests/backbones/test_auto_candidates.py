from __future__ import annotations

from pathlib import Path

import huggingface_hub
import pytest

from hybridal.backbones import auto_candidates, hub_models
from hybridal.backbones.auto_candidates import candidate_names, with_candidates
from hybridal.errors import UserError
from hybridal.testing.small import toy_task


@pytest.fixture(autouse=True)
def defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_candidates, "DEFAULT_CANDIDATES", ("gte-small", "tiny"))
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


def test_without_a_hub_only_those_here_are_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub is asked once whether it answers; no download is tried, which would take minutes."""
    monkeypatch.setattr(hub_models, "cached", lambda *_: None)

    def no_answer(*_: object, timeout: float, **__: object) -> None:
        raise ConnectionError(f"after {timeout} seconds")

    session = type("Session", (), {"head": no_answer})
    monkeypatch.setattr(huggingface_hub, "get_session", session)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub_models, "folder", lambda *_: pytest.fail("a download was tried"))
    messages: list[str] = []
    assert with_candidates("auto", toy_task(), messages.append) == "auto:tiny"
    assert messages == [
        "Backbone 'gte-small' is neither on this machine nor available from the hub; it is no candidate."
    ]


def test_a_candidate_is_downloaded_from_a_hub_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(hub_models, "cached", lambda *_: None)
    monkeypatch.setattr(hub_models, "folder", lambda *_: tmp_path)
    monkeypatch.setattr(huggingface_hub, "get_session", type("Session", (), {"head": lambda *_, **__: None}))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    assert with_candidates("auto", toy_task()) == "auto:gte-small,tiny"


def test_named_encoders_and_lists_stay_as_they_are() -> None:
    for backbone in ("minilm", "auto:minilm,no/such-encoder"):
        assert with_candidates(backbone, toy_task()) == backbone
