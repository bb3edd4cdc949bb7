from __future__ import annotations

import io

import pytest
from fastapi import FastAPI, UploadFile

from hybridal.app.web.uploads import saved_upload
from hybridal.tasks.table import NoColumnError

from .visits import Visit


def routes_with_files(app: FastAPI) -> list[str]:
    """The addresses that take a file, as the OpenAPI document describes them."""
    found = app.openapi()["paths"].items()
    kinds = [(path, one.get("requestBody", {}).get("content", {})) for path, all_ in found for one in all_.values()]
    return [path for path, content in kinds if "multipart/form-data" in content]


def test_every_route_that_takes_a_file_has_its_limit(
    app: FastAPI, owner: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    (limits,) = [one.kwargs["uploads"] for one in app.user_middleware if "uploads" in one.kwargs]
    paths = routes_with_files(app)
    assert {"/api/texts", "/api/texts/preview", "/api/import/label-studio"} <= {*paths}
    assert limits == dict.fromkeys(paths, 200_000_000)
    for path in paths:
        monkeypatch.setitem(limits, path, 5_000_000)
    # Not text: it is refused for what it is, not for its size, and without reading millions of rows.
    for path in paths:
        answer = owner.post(path, files={"file": ("x.parquet", b"x" * 5_000_000)})
        assert answer.status_code == 400, (path, answer.text)
        too_large = owner.post(path, files={"file": ("x.parquet", b"x" * 7_000_000)})
        told = "The file is too large; the limit is 5 MB."
        assert (too_large.status_code, too_large.json()["error"]) == (413, told), path


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
    with saved_upload(UploadFile(io.BytesIO(b"text"), filename=sent)) as path:
        assert (path.name, path.read_bytes()) == (kept_as, b"text")
    assert not path.parent.exists()


def test_an_error_loses_the_folder_of_the_file_and_nothing_else() -> None:
    with pytest.raises(NoColumnError) as caught, saved_upload(UploadFile(io.BytesIO(b""), filename="x.csv")) as path:
        raise NoColumnError(f"{path}: no column 'a'")
    assert str(caught.value) == "x.csv: no column 'a': name yours with `text`, `label` and `id`."
    assert caught.value.field == "text"
