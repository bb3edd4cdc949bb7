from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridal import __version__
from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool
from hybridal.core.rounds import Cost, Metrics, MultiLabelMetrics, Round
from hybridal.errors import UserError
from hybridal.measures.evidence import Evidence
from hybridal.runs.cards import label_card, model_card
from hybridal.runs.export import export_model, finished_model, labelled, labels_csv, read_evidence
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.tasks.task import Split, Task
from hybridal.testing.small import toy_task

TASK = toy_task()
GOOD = Metrics(40, 36, 0.9, 0.85, 0.4, 0.1, 0.2, 0.35, 0.05, support=(20, 20))
SETTINGS = Settings("toy", backbone="tiny", schedule="fixed:3", seed=9, overrides={"max_length": 17})


class Writes:
    """A part of a model that writes one file."""

    pooling, is_native_exportable = "mean", True

    def __init__(self, name: str, text: str = "") -> None:
        self.name, self.text = name, text

    def save(self, folder: Path, temperature: float = 1.0) -> None:
        (folder / self.name).write_text(self.text)


def fact_of(**changes: Any) -> Round:
    records: dict[str, Any] = {
        "round": 3,
        "update": "finetune",
        "update_sequence": "RRF",
        "labels": 77,
        "cost": Cost(),
        "kept_epoch": 1,
        "temperature": 1.25,
        "validation": GOOD,
        "test": None,
        "changes": {},
        "acquired": (),
        "scores": (),
    }
    return Round(**{**records, **changes})


Export = Callable[..., Path]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    def export(weights: Any = None, **changes: Any) -> Path:
        target = tmp_path / "model"
        export_model(
            weights or Writes("model.safetensors"), Writes("tokenizer.json"), TASK, SETTINGS, fact_of(**changes), target
        )
        return target

    return export


def test_everything_is_in_one_folder(export: Export) -> None:
    folder = export()
    names = {"model.safetensors", "tokenizer.json", "hybridal.json", "README.md"}
    assert {path.name for path in folder.iterdir()} == names
    assert json.loads((folder / "hybridal.json").read_text()) == {
        "temperature": 1.25,
        "max_length": 17,
        "pooling": "mean",
        "classes": ["sport", "food"],
        "labels": "str",
        "labels_learnt": 77,
        "hybridal": __version__,
    }
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_promises_are_in_the_config_the_card_and_a_file_of_their_own(tmp_path: Path) -> None:
    sure, target = np.repeat([0.9, 0.4], 200), tmp_path / "model"
    evidence = Evidence(sure, sure > 0.5, np.where(sure > 0.5, 1.0, 0.3), sure, multi_label=False)
    weights = Writes("model.safetensors")
    export_model(weights, Writes("tokenizer.json"), TASK, SETTINGS, fact_of(), target, evidence)
    found = read_evidence(target)
    assert found is not None
    assert found.promise(0.02) == evidence.promise(0.02)
    about = json.loads((target / "config.json").read_text())["promises"]
    assert (about["random_labels"], about["confidence"]) == (400, 0.95)
    assert about["answers"][0] == {"max_error": 0.02, "threshold": 0.9, "share": 0.5}
    card = (target / "README.md").read_text()
    assert "by 400 random labels that it has not learnt" in card
    assert "| at most 1% | nothing | – |\n| at most 2% | 50% | 0.9000 |\n" in card
    assert "| 90% | 0.3000 |\n| 95% | 0.3000 |\n" in card


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"confidences": [2]}'])
def test_random_labels_that_cannot_be_read_are_refused_in_one_sentence(content: str, tmp_path: Path) -> None:
    (tmp_path / "random_labels.json").write_text(content)
    with pytest.raises(UserError) as refused:
        read_evidence(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / 'random_labels.json'} is damaged")
    assert str(refused.value).count("damaged") == 1


def test_promises_of_the_encoder_are_removed(tmp_path: Path) -> None:
    """The encoder may be an exported classifier; what was promised of it says nothing about this one."""

    class WithPromises(Writes):
        def save(self, folder: Path, temperature: float = 1.0) -> None:
            super().save(folder, temperature)
            (folder / "config.json").write_text('{"promises": {"random_labels": 400}, "kept": 1}')

    target = tmp_path / "model"
    export_model(WithPromises("model.safetensors"), Writes("tokenizer.json"), TASK, SETTINGS, fact_of(), target)
    assert json.loads((target / "config.json").read_text()) == {"kept": 1}
    assert read_evidence(target) is None
    assert "random labels" not in (target / "README.md").read_text()


def test_the_card_describes_how_the_model_was_trained(export: Export) -> None:
    card = (
        export(test=Metrics(30, 24, 0.8, 0.75, 0.5, 0.11, 0.3, 0.45, 0.06, support=(15, 15))) / "README.md"
    ).read_text()
    for expected in (
        "`tiny`",
        "`fixed:3`",
        "seed 9",
        "77 labels",
        "round 3 (update `finetune`)",
        "- sport\n- food",
        "a temperature of 1.250",
    ):
        assert expected in card
    assert "| validation | 40 | 0.900 (0.769 to 0.960) | 0.850 (0.707 to 0.930) | 0.400 | 0.350 | – | – |\n" in card
    assert "| test | 30 | 0.800 (0.627 to 0.905) | 0.750 (0.570 to 0.872) | 0.500 | 0.450 | – | – |\n" in card
    assert card.startswith("---\nlibrary_name: transformers\n")


TOPICS = replace(TASK, classes=("a | b", "food"), label_sets=LabelSets(2))
SEVERAL = MultiLabelMetrics(
    60, 21, 0.35, 0.6, 0.4, 0.1, 0.2, 0.35, 0.05, support=(40, 30), micro_f1=0.7, lrap=0.8, hamming=0.12
)


@pytest.mark.parametrize(
    ("spec", "aim"),
    [
        ("macro_f1", "chosen for the best expected macro-F1"),
        ("micro_f1", "chosen for the best expected micro-F1"),
        ("cost:4", "chosen for a missed class to cost 4 times as much as a wrong one"),
        ("half", "0.5 by choice"),
    ],
)
def test_the_card_with_several_labels_has_each_figure_and_threshold(spec: str, aim: str) -> None:
    settings = replace(SETTINGS, overrides={"thresholds": spec})
    record = fact_of(test=SEVERAL, validation=replace(SEVERAL, n=10, right=4), thresholds=(0.25, 0.5))
    card = model_card(TOPICS, settings, record, plain=True)
    assert "| split | texts | macro-F1 | micro-F1 | LRAP | exact match | Hamming loss | NLL |" in card
    few = "too few labels to tell"
    assert f"| validation | 10 | {few} | {few} | 0.800 | 0.350 (0.168 to 0.687) | 0.120 | 0.400 |" in card
    assert "| test | 60 | 0.600 (0.474 to 0.714) | 0.700 (0.575 to 0.801) | 0.800 | 0.350 (0.242 to 0.476) |" in card
    assert "| a \\| b | 0.2500 |\n| food | 0.5000 |\n" in card
    assert aim in " ".join(card.split())
    assert "name: micro-F1" in card
    assert "type: micro" not in card
    assert "name: exact match" in card


def test_the_card_of_labels_counts_the_texts_of_each_class() -> None:
    sets = TOPICS.label_sets
    assert sets is not None
    labels = np.array([sets.number([0, 1]), sets.number([]), 0, 1, 1])
    split = Split([*"abcde"], ["text"] * 5, labels)
    assert "| food | 3 |" in label_card(TOPICS, SETTINGS, {"train": split}, None)


def test_card_leaves_unmeasured_figures_out(export: Export) -> None:
    folder = export(temperature=None, validation=None)
    card = (folder / "README.md").read_text()
    assert "temperature" not in card
    assert "| validation" not in card
    assert "| test" not in card
    assert json.loads((folder / "hybridal.json").read_text())["temperature"] is None


def test_newer_export_replaces_the_older(export: Export) -> None:
    (export(Writes("model.safetensors", "old")) / "stray").touch()
    folder = export(Writes("model.safetensors", "new"))
    assert (folder / "model.safetensors").read_text() == "new"
    assert not (folder / "stray").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["model", "model/run.json", "model/notes/today.txt"])
def test_other_files_are_not_overwritten(export: Export, name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("dear to its owner")
    with pytest.raises(UserError, match="model holds other files than a model, which are not overwritten"):
        export()
    assert (tmp_path / name).read_text() == "dear to its owner"


def test_empty_folder_is_accepted(export: Export, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    assert (export() / "hybridal.json").is_file()


def test_an_export_that_fails_leaves_the_older_one(export: Export) -> None:
    class Full(Writes):
        def save(self, folder: Path, temperature: float = 1.0) -> None:
            super().save(folder, temperature)
            raise OSError("No space left on device")

    folder = export(Writes("model.safetensors", "old"))
    with pytest.raises(OSError, match="No space left"):
        export(Full("model.safetensors", "half"))
    assert (folder / "model.safetensors").read_text() == "old"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_the_card_says_when_code_must_be_trusted(export: Export) -> None:
    parts = Writes("model.safetensors")
    assert "trust_remote_code" not in (export(parts) / "README.md").read_text()
    parts.is_native_exportable = False
    assert "trust_remote_code=True" in (export(parts) / "README.md").read_text()


HOSTILE = [
    'say "hi", then go',
    "two\nlines",
    "carriage\rreturn",
    "both\r\n",
    "",
    "é🦊",
    "=1+1",
    " spaces ",
    "not labelled",
]
MAIL = Task(
    "mail",
    ("ham, fresh", "spam"),
    Split([f"id,{i}" for i in range(len(HOSTILE))], HOSTILE, np.zeros(len(HOSTILE), dtype=np.int64)),
    Split.empty(),
    Split.empty(),
)


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_labels_lie_in_the_order_they_were_acquired_and_any_text_survives() -> None:
    given = {6: 0, 2: 1, 0: 1, 5: 0, 1: 1, 3: 0, 4: 0, 7: 1}
    assert rows(labels_csv(MAIL, Pool.unlabelled(len(HOSTILE)).reveal(given))) == [
        ["id", "label", "text", "split", "drawn", "probability", "by"],
        *(
            [f"id,{row}", MAIL.classes[label], HOSTILE[row], "train", "brought", "", "people"]
            for row, label in given.items()
        ),
    ]


def test_pending_texts_are_not_in_the_label_table() -> None:
    pool = Pool.unlabelled(len(HOSTILE)).reveal({4: 1}).choose(np.array([1, 2]))
    assert [row[0] for row in rows(labels_csv(MAIL, pool))] == ["id", "id,4"]


def test_validation_labels_are_in_a_separate_table() -> None:
    pool = Pool.unlabelled(len(HOSTILE)).choose(np.array([4]), held=np.array([1, 2])).reveal({4: 1, 2: 0})
    fixed = Split(["v", "w"], ["old", "new"], np.array([1, UNKNOWN]))
    found = labelled(replace(MAIL, validation=fixed), pool)
    assert {name: list(split.ids) for name, split in found.items()} == {"train": ["id,4"], "validation": ["id,2", "v"]}
    assert found["validation"].labels.tolist() == [0, 1]
    table = rows(labels_csv(replace(MAIL, validation=fixed), pool))
    assert [(row[0], row[3]) for row in table[1:]] == [("id,4", "train"), ("id,2", "validation"), ("v", "validation")]


@pytest.mark.parametrize(("about", "how"), [({}, "run `hybridal resume "), ({"key": "x"}, "use ActiveLearner.load(")])
def test_missing_model_error_says_how_to_get_it(about: dict[str, str], how: str, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", SETTINGS, TASK, about)
    with pytest.raises(UserError, match=f"has no model folder yet; {re.escape(how)}"):
        finished_model(folder)


def test_a_comparison_keeps_no_model(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "both", SETTINGS, TASK, {"schedules": ["retrain", "finetune"]})
    with pytest.raises(UserError, match="is a comparison, which keeps no model"):
        finished_model(folder)


def test_labels_say_how_their_texts_were_drawn() -> None:
    pool = Pool.unlabelled(len(HOSTILE)).reveal({6: 0}).choose(np.array([2]), held=np.array([0, 5]))
    written = rows(labels_csv(MAIL, pool.reveal({2: 1, 0: 1, 5: 0})))[1:]
    assert {(row[0], *row[4:6]) for row in written} == {
        ("id,6", "brought", ""),
        ("id,2", "chosen", ""),
        ("id,0", "random", "0.25"),
        ("id,5", "random", "0.25"),
    }
