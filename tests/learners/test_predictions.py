from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from hybridal.core.outputs import Floats
from hybridal.learners.predictions import WRITERS, write_predictions
from hybridal.learners.text_classifier import TextClassifier
from hybridal.tasks.read import Rows
from hybridal.tasks.table import FileTable


class Lengths:
    """Takes a text for long as likely as it has letters of ten; asked too often, it fails."""

    classes = ("long", "short, or é")
    thresholds: tuple[float, ...] = ()

    def __init__(self, most: int = 100) -> None:
        self.left = most

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        self.left -= len(texts)
        if self.left < 0:
            raise ZeroDivisionError
        share = np.array([len(text) for text in texts]) / 10
        return np.stack([share, 1 - share], axis=1)


def model(most: int = 100) -> TextClassifier:
    return cast(TextClassifier, Lengths(most))


def pieces(*texts: list[str]) -> Iterator[Rows]:
    for number, some in enumerate(texts):
        ids = [f"{number}-{text}, or {text.upper()}" for text in some]
        yield Rows(ids, some, [None] * len(some), FileTable(Path("mail.csv"), {}, "line", range(len(some))), False)


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    return cast(list[dict[str, Any]], table.to_dict("records"))


@pytest.mark.parametrize("suffix", WRITERS)
def test_chunks_become_one_file(tmp_path: Path, suffix: str) -> None:
    target, heard = tmp_path / f"found{suffix}", list[int]()
    write_predictions(model(), pieces(["aaaaaaaa", "éé"], ["ccc"]), target, heard.append)
    assert heard == [2, 1]
    found = read(target)
    assert [list(row) for row in found] == [["id", "label", "confidence", "p(long)", "p(short, or é)"]] * 3
    assert [row["id"] for row in found] == ["0-aaaaaaaa, or AAAAAAAA", "0-éé, or ÉÉ", "1-ccc, or CCC"]
    assert [row["label"] for row in found] == ["long", "short, or é", "short, or é"]
    for column, expected in (("confidence", [0.8, 0.8, 0.7]), ("p(long)", [0.8, 0.2, 0.3])):
        np.testing.assert_allclose([row[column] for row in found], expected)


class Sure(Lengths):
    """Has hardly a doubt, and classes that are numbers."""

    classes: Any = (1, 2)

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        return np.array([[1 - 1e-13, 1e-13 / 3]] * len(texts))


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_digit_is_written_in_every_format(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"found{suffix}"
    write_predictions(cast(TextClassifier, Sure()), pieces(["a/b"]), target)
    assert read(target) == [
        {"id": "0-a/b, or A/B", "label": 1, "confidence": 1 - 1e-13, "p(1)": 1 - 1e-13, "p(2)": 1e-13 / 3}
    ]


class Several(Lengths):
    """Gives a long text the class 1, a short one 2, and one between them both or none, by its thresholds."""

    classes: Any = (1, 2)

    def __init__(self, *thresholds: float) -> None:
        super().__init__()
        self.thresholds = thresholds


@pytest.mark.parametrize("suffix", WRITERS)
def test_several_labels_are_a_list_of_those_above_their_thresholds(tmp_path: Path, suffix: str) -> None:
    target, texts = tmp_path / f"found{suffix}", (["aaaaa"], ["aaaaaaaaa", "a", "aaaaa"])
    for thresholds, expected in (((0.6, 0.6), [[], [1], [2], []]), ((0.5, 0.5), [[1, 2], [1], [2], [1, 2]])):
        write_predictions(cast(TextClassifier, Several(*thresholds)), pieces(*texts), target)
        found = read(target)
        assert [list(row) for row in found] == [["id", "labels", "p(1)", "p(2)"]] * 4
        labels = [json.loads(row["labels"]) if suffix == ".csv" else list(row["labels"]) for row in found]
        assert labels == expected
        np.testing.assert_allclose([row["p(1)"] for row in found], [0.5, 0.9, 0.1, 0.5])


@pytest.mark.parametrize("suffix", WRITERS)
def test_failed_write_keeps_the_old_file(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"found{suffix}"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError):
        write_predictions(model(most=3), pieces(["a", "b"], ["c", "d"]), target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == [target.name]


def test_at_most_one_chunk_is_read_ahead(tmp_path: Path) -> None:
    events: list[str] = []

    def watched() -> Iterator[Rows]:
        for number, rows in enumerate(pieces(["a"], ["b"], ["c"])):
            events.append(f"read {number}")
            yield rows

    write_predictions(model(), watched(), tmp_path / "found.csv", lambda _: events.append("written"))
    assert events == ["read 0", "written", "read 1", "written", "read 2", "written"]
