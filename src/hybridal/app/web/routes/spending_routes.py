"""Routes for what labels cost, and for what more of them bring."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hybridal.app.llm.project_spending import spending_sentences
from hybridal.app.prices import PricePlan, load_prices, save_prices
from hybridal.app.web.auth import CurrentProject, Owner
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import Schema
from hybridal.app.web.translations import Texts

router = Router(prefix="/api/spending")


class Spending(Schema):
    """The prices, and more labels by people, more by the language model, and stopping, a sentence each."""

    prices: PricePlan
    sentences: Annotated[list[str], Field(description="Empty without a price of people's work.")]


@router.get("")
def get_spending(_: Owner, project: CurrentProject, texts: Texts) -> Spending:
    """What more labels by people or by the language model cost and should bring."""
    with project.reads() as session:
        prices = load_prices(session)
    return Spending(prices=prices, sentences=[texts.sentence(one) for one in spending_sentences(project)])


@router.put("/prices")
def change_prices(prices: PricePlan, _: Owner, project: CurrentProject) -> PricePlan:
    """Set what labels cost, in any currency."""
    with project.sessions.begin() as session:
        save_prices(session, prices)
    return prices
