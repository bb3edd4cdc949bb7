from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.core.task_source import TaskSource
from hybridal.errors import UserError
from hybridal.tasks.read_column import column_by_id
from hybridal.tasks.task_loading import load_task

ROWS = "".join(f"text {number},{'ab'[number % 2]},{number % 3}\n" for number in range(60))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mail.csv"
    path.write_text("text,kind,month\n" + ROWS + ",a,9\n" + "text 1,b,8\n")
    return path


@pytest.mark.parametrize("size", [None, 10])
def test_ids_are_those_of_the_task(file: Path, size: int | None) -> None:
    source = TaskSource(str(file), label="kind", drop_empty=True, drop_duplicates=True, validation_size=size)
    task, found = load_task(source.task, **source.options), column_by_id(source, "month")
    ids = [*task.train.ids, *task.validation.ids, *task.test.ids]
    assert sorted(ids) == sorted(found)
    texts = dict(zip(ids, [*task.train.texts, *task.validation.texts, *task.test.texts], strict=True))
    assert all(found[id] == str(int(texts[id].split()[1]) % 3) for id in ids)


def test_several_files(file: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("text,kind,month\nnew,a,7\n")
    (tmp_path / "test.csv").write_text("text,kind\ntest,a\n")
    source = TaskSource(
        str(file), label="kind", drop_empty=True, validation=str(tmp_path / "new.csv"), test=str(tmp_path / "test.csv")
    )
    task, found = load_task(source.task, **source.options), column_by_id(source, "month")
    assert {*task.train.ids, *task.validation.ids} == {*found}
    assert found["validation-1"] == "7"


def test_ids_of_a_column(tmp_path: Path) -> None:
    path = tmp_path / "mail.jsonl"
    path.write_text('{"text": "a", "n": 7, "price": 1.5}\n{"text": "b", "n": "x"}\n')
    assert column_by_id(TaskSource(str(path), id="n"), "price") == {"7": 1.5, "x": None}


def test_a_missing_column_or_file(file: Path, tmp_path: Path) -> None:
    source = TaskSource(str(file), drop_empty=True)
    with pytest.raises(UserError, match="has no column 'year'; its columns are: text, kind, month"):
        column_by_id(source, "year")
    for gone in (str(tmp_path / "gone.csv"), "imdb"):
        with pytest.raises(UserError, match="is no file that is here now"):
            column_by_id(TaskSource(gone), "month")
