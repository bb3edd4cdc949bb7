import io
import shutil
import zipfile
from pathlib import Path

import pytest

from hybridal.app.errors import MissingError
from hybridal.app.exchange.model_out import Model
from hybridal.app.exchange.parts import PART


def model(exports: Path) -> Path:
    folder = exports / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "empty").touch()
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * (3 * PART // 256) + b"end")
    (folder / "sub" / "ünïcode.txt").write_text("é")
    return folder


def test_it_unpacks_to_the_same_folder(tmp_path: Path) -> None:
    folder = model(tmp_path)
    packed = [*Model(tmp_path).parts()]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(packed)))
    assert archive.testzip() is None
    archive.extractall(tmp_path / "out")
    for path in folder.rglob("*"):
        if path.is_file():
            assert (tmp_path / "out" / "model" / path.relative_to(folder)).read_bytes() == path.read_bytes()
    assert len(archive.namelist()) == 4
    assert max(map(len, packed)) < 2 * PART


def test_a_model_that_is_replaced_meanwhile_is_not_mixed_in(tmp_path: Path) -> None:
    folder = model(tmp_path)
    known = b"".join(Model(tmp_path).parts())
    opened = Model(tmp_path)
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "config.json").write_text("other")
    assert b"".join(opened.parts()) == known


def test_what_a_link_points_to_stays_here(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (model(tmp_path) / "link").symlink_to(tmp_path / "secret")
    names = zipfile.ZipFile(io.BytesIO(b"".join(Model(tmp_path).parts()))).namelist()
    assert "model/link" not in names


def test_before_the_first_model_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="Score all texts"):
        Model(tmp_path)
    (tmp_path / "model").mkdir()
    with pytest.raises(MissingError):
        Model(tmp_path)
