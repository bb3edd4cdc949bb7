from __future__ import annotations

import io

import pytest
from starlette.datastructures import UploadFile

from hybridal.app.web.uploads import kept
from hybridal.errors import UserError


@pytest.mark.parametrize(
    ("sent", "kept_as"),
    [
        ("a b.csv", "a_b.csv"),
        ("../../etc/passwd", "passwd"),
        ("", "file"),
        (None, "file"),
        ("é😀.tsv", "é_.tsv"),
        ("..", "file"),
        ("x.csv/..", "file"),
        ("漢" * 100 + ".csv", "漢" * 66 + ".csv"),
    ],
)
def test_a_file_keeps_its_name_but_never_chooses_its_place(sent: str | None, kept_as: str) -> None:
    with kept(UploadFile(io.BytesIO(b"text"), filename=sent)) as path:
        assert (path.name, path.read_bytes()) == (kept_as, b"text")
    assert not path.parent.exists()


def test_an_error_does_not_tell_where_the_file_lay() -> None:
    with pytest.raises(UserError) as told, kept(UploadFile(io.BytesIO(b""), filename="x.csv")) as path:
        raise UserError(f"{path}, line 1: broken.")
    assert str(told.value) == "x.csv, line 1: broken."
