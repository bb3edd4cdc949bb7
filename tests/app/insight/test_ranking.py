from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.insight import ranking as module
from hybridal.app.insight.ranking import _largest, likeliest, nearest
from hybridal.app.project import Project
from hybridal.app.vectors import stamp_of

from ..made_up import make

DIGEST = "ab" * 16


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make(tmp_path / "p")


@given(st.lists(st.integers(0, 9) | st.none()), st.integers(1, 12))
def test_the_largest_are_those_of_a_whole_sort(values: list[int | None], n: int) -> None:
    known = [(at, value) for at, value in enumerate(values) if value is not None]
    expected = [at for at, _ in sorted(known, key=lambda one: -one[1])][:n]
    found = _largest(np.array([-np.inf if value is None else float(value) for value in values]), n)
    if len(known) > n:  # of equals at the end, any
        assert [values[at] for at in found] == [values[at] for at in expected]
    else:
        assert found == expected


def test_the_nearest_are_those_of_the_largest_cosine(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_PER_CHUNK", 7)
    vectors = np.random.default_rng(1).normal(size=(40, 8))
    rows = [row for row in range(1, 70) if row % 3][:40]  # texts between them have not been read
    project.embeddings.begin({}, 8)
    project.embeddings.write(rows, vectors, [stamp_of(DIGEST)] * 40)
    found = nearest(project, rows[5], DIGEST)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = dict(zip(rows, (unit @ unit[5]).tolist(), strict=True))
    del cosines[rows[5]]
    assert found is not None
    assert set(found) == set(cosines)
    assert [*found][:10] == sorted(cosines, key=lambda row: -cosines[row])[:10]
    np.testing.assert_allclose([*found.values()], [cosines[row] for row in found], atol=2e-3)
    assert nearest(project, 3, DIGEST) is None
    assert nearest(project, rows[5], "cd" * 16) is None


def test_the_likeliest_of_a_class_need_not_have_it_as_their_likeliest_class(project: Project) -> None:
    assert likeliest(project, 8) == ()
    project.probabilities.begin({"classes": [4, 9]}, 2)
    project.probabilities.write([1, 2, 5], np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2]]), [1, 1, 2])
    assert (likeliest(project, 9), likeliest(project, 4), likeliest(project, 7)) == ((2, 5, 1), (1, 5, 2), ())
