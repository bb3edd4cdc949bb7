from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import delete

from hybridal.app.db.schema import Setting
from hybridal.app.project import Project
from hybridal.app.project_settings import DEFAULTS, check
from hybridal.core.rules import PRESETS
from hybridal.errors import UserError


def test_unset_settings_have_their_default(project: Project) -> None:
    project.decide({"batch": 32})
    found = project.settings()
    assert found == {**DEFAULTS, "name": "made up", "key": found["key"], "backbone": "auto", "batch": 32}


def test_a_project_that_records_no_encoder_keeps_that_of_its_time(project: Project) -> None:
    with project.sessions.begin() as session:
        session.execute(delete(Setting).where(Setting.name == "backbone"))
    assert project.setting("backbone") == "minilm"


def test_acquisition_follows_the_protocol_unless_set(project: Project) -> None:
    assert project.setting("acquisition") == "margin"
    project.decide({"protocol": "paper"})
    assert project.setting("acquisition") == "entropy"
    project.decide({"protocol": "best"})
    assert project.setting("acquisition") == "margin"
    project.decide({"acquisition": "badge"})
    for name in PRESETS:
        project.decide({"protocol": name})
        assert project.setting("acquisition") == "badge"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("colour", "red", "is not a setting"),
        ("batch", "16", "a whole number"),
        ("batch", True, "a whole number"),
        ("budget", 0, "at least 1"),
        ("overlap", 1.5, "between 0 and 1"),
        ("overlap", float("nan"), "between 0 and 1"),
        ("overlap_people", 1, "at least 2"),
        ("on_disagreement", "war", "one of adjudication, majority"),
        ("protocol", "worst", "one of paper, reference, best, quick"),
        ("overrides", {"max_length": 0}, "`max_length` must be at least 1"),
        ("overrides", {"colour": 1}, "`colour` is not a field of a protocol"),
        ("show_predictions", 1, "true or false"),
        ("llm", [], "a JSON object"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(project: Project, name: str, value: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        project.decide({"batch": 99, name: value})
    assert project.setting("batch") == 16


def test_defaults_make_sense() -> None:
    for name, value in DEFAULTS.items():
        check(name, value)


def test_a_signal_that_needs_the_same_validation_texts_is_refused() -> None:
    with pytest.raises(UserError, match="The signal cka compares the same validation texts, and here they grow"):
        check("schedule", "hybrid:cka")
