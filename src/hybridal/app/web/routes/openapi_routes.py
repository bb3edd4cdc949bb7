"""The route of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from hybridal.app.web.auth import Annotator
from hybridal.app.web.project_threads import Router

router = Router(prefix="/api")


@router.get("/openapi.json")
async def get_openapi(_: Annotator, request: Request) -> dict[str, Any]:
    """This document."""
    found: dict[str, Any] = request.app.openapi()
    return found
