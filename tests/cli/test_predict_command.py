from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybridal import ActiveLearner
from hybridal.cli.predict_command import FileRows
from hybridal.learners.shards import PoolPredictions
from hybridal.learners.text_classifier import TextClassifier
from hybridal.measures.evidence import Evidence
from hybridal.tasks import Task
from hybridal.testing.small import multi_label_task, toy_task

from .conftest import SMALL, copied, hybridal
from .laboratory import Kill, Laboratory, write_rows

WITHOUT_RUN = ("--backbone", "tiny", "--device", "cpu")


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    test = toy_task().test
    return write_rows(tmp_path / "reviews.csv", ["id", "text"], list(zip(test.ids, test.texts, strict=True)))


def test_predictions_are_written_next_to_the_texts(unbroken: Path, reviews: Path) -> None:
    ended = hybridal("predict", unbroken, reviews, "--id", "id", "--device", "cpu")
    target = reviews.with_name("reviews-predictions.csv")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == f"30 predictions written to {target}"
    found = pd.read_csv(target)
    model, test = TextClassifier.load(unbroken / "model", "cpu"), toy_task().test
    assert list(found) == ["id", "label", "confidence", "p(food)", "p(sport)"]
    assert found["id"].tolist() == list(test.ids)
    assert found["label"].tolist() == model.predict(test.texts).tolist()
    probabilities = model.predict_proba(test.texts)
    assert np.allclose(found[["p(food)", "p(sport)"]], probabilities, atol=1e-6)
    assert np.allclose(found["confidence"], probabilities.max(axis=1), atol=1e-6)


def test_from_an_exported_model_to_lines_of_json(unbroken: Path, reviews: Path, tmp_path: Path) -> None:
    target = tmp_path / "found.jsonl"
    assert hybridal("predict", unbroken / "model", reviews, "--out", target, "--device", "cpu").code == 0
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["id"] for row in rows] == [str(number) for number in range(1, 31)]
    assert {row["label"] for row in rows} <= {"food", "sport"}


def test_json_for_programs(unbroken: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("n,text\n1,the team\n2,\n3,the soup\n")
    target = tmp_path / "out.csv"
    ended = hybridal("predict", unbroken, tmp_path / "new.csv", "--drop-empty", "--out", target, "--json")
    assert json.loads(ended.stdout) == {"target": str(target), "predictions": 2, "empty": 1}


def test_to_parquet(unbroken: Path, reviews: Path, tmp_path: Path) -> None:
    target = tmp_path / "found.parquet"
    assert hybridal("predict", unbroken, reviews, "--out", target, "--device", "cpu").code == 0
    assert len(pd.read_parquet(target)) == 30


def test_several_labels_per_text(tmp_path: Path) -> None:
    task = multi_label_task(train=60, validation=0, test=12)
    topics = [*task.answers(task.train.ids).values()]
    model = TextClassifier("tiny", protocol="quick", device="cpu").fit(task.train.texts, topics)
    folder, target = model.save(tmp_path / "model"), tmp_path / "new-predictions.csv"
    file = write_rows(tmp_path / "new.csv", ["text", "x"], [[text, ""] for text in task.test.texts])
    ended = hybridal("predict", folder, file, "--device", "cpu", "--json")
    assert json.loads(ended.stdout) == {"target": str(target), "predictions": 12, "empty": 0}
    found = pd.read_csv(target)
    assert list(found) == ["id", "labels", "p(food)", "p(space)", "p(sport)"]
    assert [frozenset(json.loads(labels)) for labels in found["labels"]] == model.predict(task.test.texts).tolist()
    assert np.allclose(found.iloc[:, 2:], model.predict_proba(task.test.texts), atol=1e-6)


def test_texts_in_another_column(unbroken: Path, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "odd.csv", ["Review Text", "x"], [["the goal", "1"], ["the soup", "2"]])
    assert hybridal("predict", unbroken, file, "--text", "Review Text", "--device", "cpu").code == 0
    assert len(pd.read_csv(tmp_path / "odd-predictions.csv")) == 2


def test_how_many_rows_are_left_out(unbroken: Path, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "gaps.csv", ["text", "x"], [["the goal", "1"], ["", "2"], ["the soup", "3"]])
    ended = hybridal("predict", unbroken, file, "--drop-empty", "--device", "cpu")
    target = tmp_path / "gaps-predictions.csv"
    assert ended.stdout.splitlines()[-1] == f"2 predictions written to {target}; 1 row without text skipped"
    assert pd.read_csv(target)["id"].tolist() == [1, 3]


def test_one_prediction(unbroken: Path, tmp_path: Path) -> None:
    ended = hybridal("predict", unbroken, write_rows(tmp_path / "one.csv", ["text"], [["the goal"]]), "--device", "cpu")
    assert ended.stdout.splitlines()[-1] == f"1 prediction written to {tmp_path / 'one-predictions.csv'}"


def test_a_place_that_cannot_be_written(unbroken: Path, reviews: Path) -> None:
    ended = hybridal("predict", unbroken, reviews, "--out", "/proc/found.csv", "--device", "cpu")
    assert ended.code == 3
    assert "--out /proc/found.csv could not be written (" in ended.stderr


def test_the_texts_are_not_written_over(unbroken: Path, reviews: Path) -> None:
    before = reviews.read_bytes()
    for out in (reviews, reviews.parent / "." / ".." / reviews.parent.name / reviews.name):
        ended = hybridal("predict", unbroken, reviews, "--out", out)
        assert ended.code == 2
        assert "would write over the texts; name another file." in ended.stderr
    assert reviews.read_bytes() == before


@pytest.mark.parametrize(
    ("file", "options", "sentence"),
    [
        ("reviews.csv", ("--out", "x.xlsx"), "--out x.xlsx must end in .csv, .jsonl, .parquet."),
        ("reviews.csv", ("--out", "no/x.csv"), "--out no/x.csv: there is no folder no."),
        (
            "reviews.csv",
            ("--text", "body"),
            "there is no column 'body'; its columns are id, text: name yours with --text and --id.",
        ),
        ("missing.csv", (), "missing.csv: there is no such file; check the path."),
        ("reviews.csv", ("--device", "abacus"), "--device 'abacus' is not a device"),
    ],
)
def test_unusable_options_are_refused(
    file: str,
    options: tuple[str, ...],
    sentence: str,
    unbroken: Path,
    reviews: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(reviews.parent)
    before = os.listdir()
    ended = hybridal("predict", unbroken, file, *options)
    assert ended.code == 2
    assert sentence in ended.stderr
    assert os.listdir() == before


@pytest.mark.parametrize(
    ("last", "sentence"),
    [(("9", " "), "line 4, column 'text': the text is empty"), (("1", "c"), "line 4, column 'id': the id '1' is also")],
)
def test_a_bad_row_is_named_before_any_is_predicted(
    last: tuple[str, str], sentence: str, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("hybridal.learners.text_classifier.TextClassifier", fail)
    file = write_rows(tmp_path / "texts.csv", ["id", "text"], [["1", "a"], ["2", "b"], list(last)])
    ended = hybridal("predict", unbroken, file, "--id", "id")
    assert ended.code == 2
    assert sentence in ended.stderr
    assert os.listdir(tmp_path) == ["texts.csv"]


def test_an_unfinished_run_has_no_model(
    laboratory: Laboratory, toy: tuple[str, ...], reviews: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    kill = Kill("hybridal.system.journal.Journal.append")
    laboratory.run("run", *toy, *SMALL, "--out", folder, kill=kill)
    for verb, other in (("predict", reviews), ("export", tmp_path / "mine")):
        ended = hybridal(verb, folder, other)
        assert ended.code == 2
        assert str(folder) in ended.stderr
        assert "finish" in ended.stderr
    assert not (tmp_path / "mine").exists()


def test_a_run_folder_that_was_moved(unbroken: Path, reviews: Path, tmp_path: Path) -> None:
    moved = copied(unbroken, tmp_path / "elsewhere" / "run")
    assert hybridal("predict", moved, reviews, "--device", "cpu").code == 0


def test_a_folder_over_ray(unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, made = tmp_path / "pool", list[object]()
    pool.mkdir()
    for name in ("a", "b", "c"):
        pd.DataFrame({"text": ["the goal", "the soup"]}).to_parquet(pool / f"{name}.parquet")
    (tmp_path / "pool-predictions").mkdir()
    (tmp_path / "pool-predictions" / "b.parquet").touch()

    def make(self: PoolPredictions, address: str, device: str, **_: object) -> None:
        made.extend([self.model, address, device, *(file.source.name for file in self.missing())])

    monkeypatch.setattr(PoolPredictions, "make", make)
    ended = hybridal("predict", unbroken, pool, "--ray", "head:6379", "--device", "cpu")
    assert made == [unbroken / "model", "head:6379", "cpu", "a.parquet", "c.parquet"]
    message = f"Predictions of 2 files written to {tmp_path / 'pool-predictions'}; 1 existed already"
    assert (ended.code, ended.stdout.splitlines()[-1]) == (0, message)
    assert hybridal("predict", unbroken, tmp_path / "nowhere", "--ray", "head:6379").code == 2


# --- without a run -------------------------------------------------------------------------------------------------


def test_predictions_by_class_names_alone(reviews: Path) -> None:
    ended = hybridal("predict", reviews, "--id", "id", "--classes", "food,sport", *WITHOUT_RUN)
    target = reviews.with_name("reviews-predictions.csv")
    marked = "30 predictions from class names and descriptions alone, no label learnt, written to"
    assert (ended.code, ended.stdout.splitlines()[-1]) == (0, f"{marked} {target}")
    found = pd.read_csv(target)
    assert list(found) == ["id", "label", "confidence", "p(food)", "p(sport)"]
    assert {*found["label"]} == {"food", "sport"}  # centred on these texts
    texts = toy_task().test.texts
    task = Task.from_texts(texts, classes=["food", "sport"], validation_size=0, test_size=0)
    expected = ActiveLearner(task, "tiny", device="cpu").predict_proba(texts)
    assert np.allclose(found[["p(food)", "p(sport)"]], expected, atol=1e-5)


def test_predictions_by_descriptions(reviews: Path, tmp_path: Path) -> None:
    """The file names the classes, whose names may say nothing."""
    file, target = tmp_path / "classes.json", tmp_path / "out.jsonl"
    file.write_text(json.dumps({"1": "soup and bread", "2": ["teams", "goals"], "3": "planets"}))
    ended = hybridal(
        "predict", reviews, "--descriptions", file, "--multi-label", "--out", target, "--json", *WITHOUT_RUN
    )
    assert json.loads(ended.stdout) == {"target": str(target), "predictions": 30, "empty": 0, "labels_learnt": 0}
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert {name for row in rows for name in row["labels"]} <= {"1", "2", "3"}
    assert [*rows[0]] == ["id", "labels", "p(1)", "p(2)", "p(3)"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("reviews.csv",), "Name a run or a model folder before reviews.csv, or the classes with --classes a,b,c."),
        (
            ("model", "reviews.csv", "--classes", "a,b"),
            "model knows its classes and its encoder; leave out the options",
        ),
        (
            ("model", "reviews.csv", "--backbone", "tiny"),
            "model knows its classes and its encoder; leave out the options",
        ),
        (("model", "reviews.csv", "more.csv"), "predict takes one file, not 2."),
        (("reviews.csv", "--classes", "1,2", *WITHOUT_RUN), "Names such as '1' do not tell what their classes are;"),
        (("reviews.csv", "--classes", "food,sport", "--ray", "local"), "--ray needs a RUN or a model folder"),
        (("reviews.csv", "--descriptions", "none.json"), "it cannot be read (No such file or directory)"),
    ],
)
def test_without_a_run_the_classes_must_be_told(
    arguments: tuple[str, ...], sentence: str, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(reviews.parent)
    ended = hybridal("predict", *arguments)
    assert ended.code == 2
    assert sentence in " ".join(ended.stderr.split())
    assert os.listdir() == ["reviews.csv"]


def test_a_sample_of_a_file_is_random_and_in_order(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "many.csv", ["text"], [[str(number)] for number in range(1000)])
    found = [*map(int, FileRows(file, "text", None, drop_empty=False).sample(100))]
    assert found == sorted({*found})
    assert len(found) == 100
    assert 400 < np.mean(found) < 600


def with_random_labels(model: Path, to: Path, count: int) -> Path:
    """The model as if it had answered so many random labels rightly, half of them surely."""
    folder, sure = copied(model, to), np.repeat([0.9, 0.4], count)
    evidence = Evidence(sure, sure > 0.5, np.where(sure > 0.5, 1.0, 0.3), sure, False)
    (folder / "random_labels.json").write_text(json.dumps(evidence.to_json()))
    return folder


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_answers_and_sets_are_marked_with_what_they_promise(
    unbroken: Path, reviews: Path, tmp_path: Path, suffix: str
) -> None:
    folder, target = with_random_labels(unbroken / "model", tmp_path / "model", 200), tmp_path / f"found{suffix}"
    options = ("--max-error", 0.02, "--sets", 0.6, "--out", target, "--device", "cpu")
    ended = hybridal("predict", folder, reviews, *options, "--json")
    assert (ended.code, ended.stderr) == (0, "")
    if suffix == ".jsonl":
        found = pd.read_json(target, lines=True)
    else:
        found = pd.read_csv(target) if suffix == ".csv" else pd.read_parquet(target)
    assert list(found) == ["id", "decision", "label", "confidence", "set", "p(food)", "p(sport)"]
    assert (found["decision"] == np.where(found["confidence"] >= 0.9, "answer", "ask")).all()
    for _, row in found.iterrows():
        classes = json.loads(row["set"]) if suffix == ".csv" else [*row["set"]]
        assert classes[0] == row["label"]
        assert len(classes) == 1 + (min(row["p(food)"], row["p(sport)"]) >= 0.3)
    about = json.loads(ended.stdout)
    assert about["answered"] == (found["decision"] == "answer").sum()
    assert (about["max_error"], about["confidence"], about["random_labels"]) == (0.02, 0.95, 400)
    assert (about["threshold"], about["sets"], about["set_threshold"]) == (0.9, 0.6, 0.3)


def test_a_sentence_says_what_is_promised(unbroken: Path, reviews: Path, tmp_path: Path) -> None:
    folder = with_random_labels(unbroken / "model", tmp_path / "model", 200)
    ended = hybridal("predict", folder, reviews, "--max-error", 0.02, "--sets", 0.6, "--device", "cpu")
    sentence = ended.stdout.splitlines()[-1]
    assert "of which at most 2% are wrong with 95% confidence, by 400 random labels; people answer" in sentence
    assert "The sets contain the true classes of at least 60% of the texts, with 95% confidence" in sentence


def test_texts_of_another_kind_are_warned_about(unbroken: Path, reviews: Path, tmp_path: Path) -> None:
    model = TextClassifier.load(unbroken / "model", "cpu")
    soup = write_rows(tmp_path / "soup.csv", ["text"], [["the soup of the day"]] * 60)
    sentences = [
        hybridal("predict", unbroken, file, "--sets", 0.8, "--device", "cpu", "--out", tmp_path / "out.csv").stdout
        for file in (reviews, soup)
    ]
    assert "differ from those of the random labels" not in sentences[0]
    assert "But these texts differ from those of the random labels (mean probability of '" in sentences[1]
    assert sentences[1].strip().endswith("so that need not hold here: label a random sample of them")
    found = model.shift(["the soup of the day"] * 60)
    assert found is not None
    assert found.is_likely


def test_too_few_random_labels_are_told_before_anything_is_predicted(unbroken: Path, reviews: Path) -> None:
    ended = hybridal("predict", unbroken, reviews, "--max-error", 0.02, "--device", "cpu")
    assert ended.code == 2
    assert "--max-error: At most 2% wrong cannot be promised with 95% confidence by 40 random" in ended.stderr
    assert not reviews.with_name("reviews-predictions.csv").exists()


def test_promises_need_a_model_with_random_labels(unbroken: Path, reviews: Path, tmp_path: Path) -> None:
    folder = copied(unbroken / "model", tmp_path / "model")
    (folder / "random_labels.json").unlink()
    ended = hybridal("predict", folder, reviews, "--sets", 0.9, "--device", "cpu")
    assert ended.code == 2
    assert "has no random labels that it has not learnt, so nothing can be promised" in ended.stderr
    ended = hybridal("predict", reviews, "--classes", "a,b", "--sets", 0.9, *WITHOUT_RUN)
    assert ended.code == 2
    assert "--max-error and --sets need a RUN or a model folder" in ended.stderr


def test_damaged_random_labels_are_named(unbroken: Path, reviews: Path, tmp_path: Path) -> None:
    folder = copied(unbroken / "model", tmp_path / "model")
    (folder / "random_labels.json").write_text("{}")
    ended = hybridal("predict", folder, reviews, "--device", "cpu")
    assert ended.code == 2
    assert "random_labels.json is damaged" in ended.stderr
