from __future__ import annotations

import pytest

from hybridal.study.engines.here import Here
from hybridal.study.folder import StudyFolder

from .small import begun, run, small_study, write_texts


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The settings that name the toy task."""
    return write_texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="session")
def here(task: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """The small study, computed in this process; not to be written to."""
    folder = begun(tmp_path_factory.mktemp("here") / "study", small_study(task))
    outcomes = run(folder, Here())
    assert [outcome.error for outcome in outcomes.values()] == [None, None]
    return folder
