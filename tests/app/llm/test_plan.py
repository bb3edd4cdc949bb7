from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hybridal.app.llm.plan import Plan, keep, key, load
from hybridal.app.llm.routing import Rule

from .projects import made


def test_a_plan_is_kept_and_read_again(tmp_path: Path) -> None:
    project = made(tmp_path)
    plan = Plan.model_validate({"base_url": "http://localhost/v1", "model": "small", "routing": {"threshold": 0.7}})
    with project.sessions.begin() as session:
        keep(session, plan)
    with project.reads() as session:
        assert load(session) == plan
    assert plan.routing.rule == Rule(threshold=0.7)


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
        Plan.model_validate(wrong)


def test_the_key_comes_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRIDAL_LLM_KEY", raising=False)
    assert key() == ""
    monkeypatch.setenv("HYBRIDAL_LLM_KEY", " secret\n")
    assert key() == "secret"
    assert "secret" not in Plan().model_dump_json()
