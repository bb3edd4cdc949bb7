"""What the owner decides about the LLM: which one, for how much, and when to believe it. The key is not part of it."""

from __future__ import annotations

import os
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.orm import Session

from hybridal.app.llm.routing import Rule
from hybridal.app.settings import read, write
from hybridal.errors import UserError

KEY_VARIABLE = "HYBRIDAL_LLM_KEY"

Share = Annotated[float, Field(ge=0, le=1)]


class Routing(BaseModel):
    """When an answer of the LLM becomes a label (see `routing.Rule`)."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    threshold: Share = 0.9
    contradiction: Share = 0.8
    overlap: Share = 0.1

    @property
    def rule(self) -> Rule:
        """The same as a value."""
        return Rule(self.threshold, self.contradiction, self.overlap)


class Plan(BaseModel):
    """`examples` texts of each class are shown to the LLM: those of `shown`, chosen when it starts."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    base_url: str = Field(default="", max_length=500)
    model: str = Field(default="", max_length=200)
    budget_tokens: int = Field(default=500_000, ge=0, le=10**12)
    routing: Routing = Routing()
    examples: int = Field(default=0, ge=0, le=10)
    per_minute: int = Field(default=60, ge=1, le=100_000)
    parallel: int = Field(default=4, ge=1, le=64)
    timeout: float = Field(default=60, ge=1, le=600)
    running: bool = False
    shown: tuple[str, ...] = ()


def load(session: Session) -> Plan:
    """The plan as it was decided."""
    try:
        return Plan.model_validate(read(session)["llm"])
    except ValidationError as error:
        wrong = ".".join(map(str, error.errors()[0]["loc"]))
        raise UserError(f"The setting 'llm' has a wrong '{wrong}': {error.errors()[0]['msg']}.") from error


def keep(session: Session, plan: Plan) -> None:
    """Decides it."""
    kept: dict[str, Any] = plan.model_dump(mode="json")
    write(session, {"llm": kept})


def key() -> str:
    """The key, from the environment alone."""
    return os.environ.get(KEY_VARIABLE, "").strip()
