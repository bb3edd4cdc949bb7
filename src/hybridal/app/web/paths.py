"""Paths with and without the root path: an app mounted at /p/NAME/ sees paths without this prefix, browsers with it."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request


def path_of(request: Request) -> str:
    """The path without the root path. Not taken from `request.url`, which a forged Host header can change."""
    path: str = request.scope["path"]
    return path.removeprefix(request.scope.get("root_path", ""))


def link(request: Request, path: str) -> str:
    """The path with the root path, for links in a page."""
    return quote(request.scope.get("root_path", "")) + path
