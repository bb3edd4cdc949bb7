from __future__ import annotations

from typing import cast

import pytest
from fastapi import FastAPI

from hybridal.app.project import Project

from ..made_up import me, people
from .visits import Visit, local, signed_in


@pytest.fixture(scope="session")
def one_app() -> FastAPI:
    """An app without a project."""
    return local(cast("Project", None))


@pytest.fixture
def app(one_app: FastAPI, project: Project) -> FastAPI:
    """The app of a small project; the same for all tests, since it takes a while to make."""
    one_app.state.project = project
    return one_app


@pytest.fixture
def stranger(app: FastAPI) -> Visit:
    """A visitor who is not signed in."""
    return Visit(app)


@pytest.fixture
def owner(app: FastAPI, project: Project) -> Visit:
    """The owner."""
    return signed_in(app, me(project))


@pytest.fixture
def annotator(app: FastAPI, project: Project) -> Visit:
    """An annotator."""
    return signed_in(app, people(project, 1)[0])


@pytest.fixture
def reviewer(app: FastAPI, project: Project) -> Visit:
    """A reviewer."""
    return signed_in(app, people(project, 1, "reviewer")[0])


@pytest.fixture(autouse=True)
def _hashes_quickly(quick_hashes: None) -> None: ...
