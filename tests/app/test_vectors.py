from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybridal.app import vectors as module
from hybridal.app.vectors import Vectors


def test_vectors_are_found_by_row_and_replaced_in_their_place(tmp_path: Path) -> None:
    kept = Vectors(tmp_path / "v" / "embeddings", np.float16)
    assert kept.read() is None
    kept.begin({"backbone": "tiny"}, 3)
    assert kept.read() is None, "there is none yet"
    kept.write([2, 5], np.arange(6.0).reshape(2, 3), [7, -8])
    kept.write([5, 3], np.ones((2, 3)), [9, 1])
    found = kept.read()
    assert found is not None
    assert (found.about, found.values.dtype.name) == ({"backbone": "tiny", "width": 3}, "float16")
    assert found.stamps.tolist() == [0, 0, 7, 1, 0, 9]
    assert found.values.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 2], [1, 1, 1], [0, 0, 0], [1, 1, 1]]


def test_stale_vectors_are_removed_without_disturbing_readers(tmp_path: Path) -> None:
    kept = Vectors(tmp_path / "v", np.float32)
    kept.begin({"classes": [1, 2]}, 2)
    kept.write([1], np.array([[0.25, 0.75]]), [1])
    before = kept.read()
    kept.begin({"classes": [1, 2]}, 2)
    assert kept.read() is not None
    kept.begin({"classes": [1, 3]}, 2)
    assert kept.read() is None
    assert before is not None
    assert before.values[1].tolist() == [0.25, 0.75]


def test_a_vector_is_there_before_its_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Vectors(tmp_path / "v", np.float32)
    kept.begin({}, 2)
    real = module._write

    def killed(path: Path, *what: object) -> None:
        if path.name == module.STAMPS:
            raise KeyboardInterrupt
        real(path, *what)  # type: ignore[arg-type]

    kept.write([1], np.ones((1, 2)), [5])
    with monkeypatch.context() as patch:
        patch.setattr(module, "_write", killed)
        with pytest.raises(KeyboardInterrupt):
            kept.write([4], np.ones((1, 2)), [5])
    found = kept.read()
    assert found is not None
    assert found.stamps.tolist() == [0, 5]
    with (kept.folder / module.VALUES).open("ab") as file:
        file.write(b"ha")  # and a machine that stopped in the middle of one
    found = kept.read()
    assert found is not None
    assert found.values.shape == (2, 2)
