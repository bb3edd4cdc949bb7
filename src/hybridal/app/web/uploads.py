"""Uploaded files: the routes that accept them, their largest size, and a temporary copy while a request reads them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi import APIRouter, UploadFile
from fastapi.params import File
from fastapi.routing import APIRoute

from hybridal.errors import UserError
from hybridal.system.scratch import scratch

LARGEST_FILE = 200_000_000
LARGEST_ARCHIVE = 4_000_000_000
"""The largest export of a project, which may have the weights of a model and of its optimiser."""


def upload_limits(routers: Iterable[APIRouter]) -> dict[str, int]:
    """Return how large a file may be, by the path of each route with an `UploadFile` parameter; others take none."""
    routes = (route for router in routers for route in router.routes if isinstance(route, APIRoute))
    return {
        route.path: LARGEST_FILE
        for route in routes
        if any(isinstance(one.field_info, File) for one in route.dependant.body_params)
    }


@contextmanager
def saved_upload(upload: UploadFile) -> Iterator[Path]:
    """Yield a path to the file, under its own name (see `name_only`).

    Starlette has already written a file of more than 1 MB to disk while it arrived; this copy has a name and an
    extension, which the readers need.
    """
    # At most 70 characters: of up to three bytes each, more would be too long a name for some file systems.
    name = re.sub(r"[^\w.-]", "_", Path(upload.filename or "").name)[-70:].lstrip(".") or "file"
    with scratch() as folder:
        path = folder / name
        with path.open("wb") as target:
            shutil.copyfileobj(upload.file, target)
        with name_only(path):
            yield path


@contextmanager
def name_only(path: Path) -> Iterator[None]:
    """Show the name of a file without its folder in errors raised inside."""
    try:
        yield
    except UserError as error:
        error.args = (str(error).replace(str(path), path.name),)
        raise
