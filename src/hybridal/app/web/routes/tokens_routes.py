"""Routes for API tokens. Tokens are created and withdrawn only in a browser: a token cannot create another."""

from __future__ import annotations

from typing import Literal

from fastapi import Request
from pydantic import Field

from hybridal.app.api_tokens import list_tokens, make_token, withdraw_token
from hybridal.app.audit_log import log_action
from hybridal.app.people import LONGEST_NAME
from hybridal.app.web.auth import BrowserUser, CurrentProject
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import CleanStr, Done, Items, Number, Schema

router = Router(prefix="/api/tokens")


class TokenSchema(Schema):
    """A token without its secret; `used` is the time of its last use."""

    number: int
    name: str
    role: str
    person: str
    made: float
    used: float | None


class NewToken(Schema):
    """The purpose of a token and its role, which cannot exceed its person's."""

    name: CleanStr = Field(max_length=LONGEST_NAME, examples=["nightly import"])
    role: Literal["annotator", "reviewer", "owner"]


class TokenSecret(Schema):
    """The token that a program sends as `Authorization: Bearer …`; shown only once."""

    number: int
    token: str


@router.get("")
def get_tokens(user: BrowserUser, project: CurrentProject) -> Items[TokenSchema]:
    """Your tokens, newest first; owners see all tokens."""
    with project.reads() as session:
        return Items(
            items=[
                TokenSchema(
                    number=one.number, name=one.name, role=one.role, person=person, made=one.made, used=one.used
                )
                for one, person in list_tokens(session, user)
            ]
        )


@router.post("")
def create_token(new: NewToken, user: BrowserUser, project: CurrentProject) -> TokenSecret:
    """Create a token that acts in your name."""
    with project.sessions.begin() as session:
        made, secret = make_token(session, user, new.name, new.role)
        log_action(session, user.person, "people", "token", name=new.name, role=new.role)
        return TokenSecret(number=made.number, token=secret)


@router.post("/{number}/revoke")
def revoke_token(number: Number, user: BrowserUser, project: CurrentProject, request: Request) -> Done:
    """Withdraw a token; it stops working immediately."""
    with project.sessions.begin() as session:
        withdraw_token(session, user, number)
        log_action(session, user.person, "people", "revoke_token", number=number)
    request.app.state.sessions.clear()
    return Done()
