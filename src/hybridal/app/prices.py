"""What labels cost in a project, which owners enter in its settings."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from hybridal.app.project_settings import read, write


class PricePlan(BaseModel):
    """What labels cost, in any currency; null if it is not known.

    Attributes:
        people: The price of people's work.
        people_per: Per hour, or per label.
        model: The price of the language model.
        model_per: Per million tokens, or per label.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    people: float | None = Field(default=None, gt=0, le=1e9)
    people_per: Literal["hour", "label"] = "hour"
    model: float | None = Field(default=None, ge=0, le=1e9)
    model_per: Literal["million tokens", "label"] = "million tokens"


def load_prices(session: Session) -> PricePlan:
    """Read the prices."""
    return PricePlan.model_validate(read(session)["prices"])


def save_prices(session: Session, plan: PricePlan) -> None:
    """Store the prices."""
    write(session, {"prices": plan.model_dump()})
