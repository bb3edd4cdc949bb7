from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.app.project import Project
from hybridal.app.web.truncation import truncation_point

from ..made_up import leave_reader
from .visits import Visit


@pytest.fixture
def reader(project: Project) -> Path:
    return leave_reader(project, 6)


def test_truncation_is_unknown_before_the_first_model(project: Project) -> None:
    assert truncation_point(project, "word " * 100) is None


def test_prefix_ends_after_the_last_token_that_fits(project: Project, reader: Path) -> None:
    assert truncation_point(project, "a b c") is None
    assert truncation_point(project, "a b c d e f") is None
    assert truncation_point(project, "a b c d e f g h") == len("a b c d e f")
    assert truncation_point(project, "😀 a b c d e f g h") == len("😀 a b c d e") + 1  # browsers count this sign twice
    assert truncation_point(project, " " * 5000 + "a b c d e f g h") == 5000 + len("a b c d e f")


def test_damaged_tokenizer_file_does_not_block_labelling(project: Project, reader: Path, owner: Visit) -> None:
    assert {one["read_to"] for one in owner.get("/api/next").json()["items"]} == {None}
    reader.write_text("{")
    assert truncation_point(project, "a b c d e f g h") is None
    assert owner.get("/api/next").status_code == 200


def test_how_much_is_read_can_be_decided(owner: Visit, project: Project) -> None:
    assert owner.get("/api/project").json()["settings"]["max_length"] == 128
    before = project.setting("overrides")
    assert owner.patch("/api/settings", {"max_length": 256}).json()["max_length"] == 256
    assert project.setting("overrides") == {**before, "max_length": 256}
    assert owner.patch("/api/settings", {"max_length": 2}).status_code == 422
