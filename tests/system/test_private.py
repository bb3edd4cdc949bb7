from __future__ import annotations

import os
from pathlib import Path

import pytest

from hybridal.system.private import close_to_others, make_private

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_private_folder_is_readable_by_the_user_only(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "folder" / "file"
    folder.mkdir()
    file.touch(0o644)
    make_private([folder, file, folder / "missing"])
    assert (mode(folder), mode(file)) == (0o700, 0o600)


@pytest.mark.parametrize(("before", "after"), [(0o755, 0o700), (0o750, 0o750), (0o770, 0o770), (0o701, 0o700)])
def test_group_permissions_set_on_purpose_are_kept(tmp_path: Path, before: int, after: int) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(before)
    close_to_others([folder, folder / "missing"])
    assert mode(folder) == after
