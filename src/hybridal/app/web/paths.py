"""Addresses of an app that is one of several on its server: its routes know paths, browsers the prefix before them."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request


def path_of(request: Request) -> str:
    """The path as the routes see it; that of `request.url` may be changed by a strange Host."""
    path: str = request.scope["path"]
    return path.removeprefix(request.scope.get("root_path", ""))


def link(request: Request, path: str) -> str:
    """The address for a browser of a path of this app."""
    return quote(request.scope.get("root_path", "")) + path
