from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal import tasks as package
from hybridal.errors import UserError
from hybridal.tasks import load_task, task_loading, task_names
from hybridal.tasks.benchmarks import BENCHMARKS, Benchmark
from hybridal.tasks.task import Task

pytestmark = pytest.mark.usefixtures("parquet_here")

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def mail(write: Write) -> Path:
    return write("mail.csv", "text,kind\n" + "Hello you,ham\nWIN,spam\nWIN NOW MORE,spam\n" * 100)


def test_task_names_list_benchmarks_and_mirror(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    always = ["imdb", "jigsaw", "sst2", "tweeteval", "agnews", "yahoo", "newsgroups", "r8", "r52"]
    assert task_names() == [*always, "my-mail"]
    monkeypatch.delenv("HYBRIDAL_DATA")
    assert task_names() == always


@pytest.mark.parametrize("name", ["agnews", "ag_news", "AG-News"])
def test_a_mirrored_benchmark_has_one_name(mirror: Path, name: str) -> None:
    task = load_task(name)
    assert (task.name, task.classes, len(task.train)) == ("agnews", ("World", "Sports"), 30)


def test_local_tasks_are_listed(mirror: Path) -> None:
    assert task_loading.is_local("ag-news")
    assert task_loading.is_local("newsgroups"), "a wheel is small"
    assert not task_loading.is_local("imdb")


def test_a_mirrored_task_narrowed_down(mirror: Path) -> None:
    task = load_task("my_mail", classes=["maybe", "ham"], max_words=3)
    assert (task.name, task.classes) == ("my-mail", ("maybe", "ham"))
    assert (len(task.train), len(task.validation), len(task.test)) == (20, 4, 8)


def test_a_folder_by_its_path(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRIDAL_DATA")
    assert load_task(mirror / "my-mail").classes == ("ham", "spam", "maybe")


def test_a_benchmark_that_is_not_mirrored_comes_from_the_hub(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def load_hub(benchmark: Benchmark, *, split_seed: int) -> Task:
        asked.append((benchmark.name, split_seed))
        return load_task("my-mail")

    monkeypatch.setattr(task_loading, "load_hub", load_hub)
    load_task("IMDb", split_seed=7)
    load_task("agnews", split_seed=7)
    assert asked == [("imdb", 7)]


def test_newsgroups_get_every_option(monkeypatch: pytest.MonkeyPatch, mirror: Path) -> None:
    given: list[tuple[str, dict[str, object]]] = []

    def load_newsgroups(name: str, **options: object) -> Task:
        given.append((name, options))
        return load_task("my-mail")

    monkeypatch.setattr(task_loading, "load_newsgroups", load_newsgroups)
    options = {
        "classes": ("a", "b"),
        "max_words": 9,
        "validation_size": 5,
        "test_size": 6,
        "split_seed": 7,
        "notify": print,
    }
    load_task("News-Groups", **options)  # type: ignore[arg-type]
    assert given == [("newsgroups", options)]


def test_task_is_loaded_from_a_file(mail: Path) -> None:
    task = load_task(str(mail), label="kind", max_words=2, classes=["spam", "ham"], test_size=0, validation_size=0)
    assert (task.name, task.classes, len(task.train)) == ("mail", ("spam", "ham"), 200)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("imbd", r"There is no task 'imbd' \(did you mean 'imdb'\?\); name one of imdb, .*, my-mail, or the path"),
        ("mymial", r"did you mean 'my-mail'\?"),
        ("zzz", "There is no task 'zzz'; name one of imdb"),
        ("mial.csv", r"mial\.csv: there is no such file"),
        ("some/where", "where: the extension '' is not known; use one of .csv"),
    ],
)
def test_missing_task_is_refused(mirror: Path, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_task(name)


OPTIONS = {"validation_size": 0.5, "drop_empty": True}


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("my-mail", "label"),
        ("my-mail", "validation_size"),
        ("imdb", "test"),
        ("newsgroups", "text"),
        ("r8", "id"),
        ("imdb", "drop_empty"),
    ],
)
def test_file_options_are_refused_for_other_sources(mirror: Path, name: str, option: str) -> None:
    with pytest.raises(UserError, match=f"`{option}`: task '{name}' has its own"):
        load_task(name, **{option: OPTIONS.get(option, "x")})  # type: ignore[arg-type]


def test_max_words_of_zero_is_refused(mail: Path) -> None:
    with pytest.raises(UserError, match="`max_words`: 0"):
        load_task(mail, label="kind", max_words=0)


def test_a_misspelt_column_lists_the_others(mail: Path) -> None:
    with pytest.raises(UserError, match=r"mail\.csv: there is no column 'label'; its columns are text, kind"):
        load_task(mail, label="label")


def test_task_package_is_light_to_import() -> None:
    heavy = "{'torch', 'transformers', 'datasets', 'pandas', 'pyarrow'}"
    code = f"import sys, hybridal.tasks; print(*({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_task_package_exports_its_public_names() -> None:
    assert set(package.__all__) == {"Split", "Task", "load_task", "task_names"}
    assert set(BENCHMARKS) < set(task_names())
