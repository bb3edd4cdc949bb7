from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hybridal.errors import UserError
from hybridal.lab.study.study import Study, read_study
from hybridal.lab.study.study_folder import task_key


def test_cells_are_every_combination_of_the_factors() -> None:
    study = Study(
        "s",
        ("imdb", "sst2"),
        ("retrain", "finetune"),
        backbones=("minilm", "bert"),
        acquisitions=("entropy", "random"),
        seeds=(1, 2, 3),
        vary=({"initial": 50}, {"initial": 100}),
    )
    cells = study.cells()
    wanted = set(product(("imdb", "sst2"), ("minilm", "bert"), ("entropy", "random"), (50, 100), (1, 2, 3)))
    settings = [cell.settings for cell in cells]
    found = {(s.task, s.backbone, s.acquisition_spec, s.rules.initial, s.seed) for s in settings}
    assert found == wanted
    assert len(cells) == len(wanted) == len({cell.key for cell in cells})
    assert study.runs == 2 * len(wanted)


def test_the_same_schedule_twice_runs_once() -> None:
    study = Study("s", ("imdb",), ("hybrid:accuracy", "hybrid:accuracy:0.005:2"), seeds=(1,))
    assert study.cells()[0].schedules == ("hybrid:accuracy:0.005:2",)


def test_a_cells_key_is_a_folder_name() -> None:
    study = Study("s", ({"task": "a dir/my tickets.csv", "text": "body"},), ("retrain",), seeds=(1,))
    key = study.cells()[0].key
    assert key.startswith("my_tickets-minilm-margin-s1-")
    assert "/" not in key
    assert " " not in key


def test_a_study_survives_json() -> None:
    study = Study("s", ("imdb", {"task": "x.csv", "text": "t"}), ("retrain",), vary=({"initial": 50},))
    again = Study.from_json(study.to_json())
    assert [cell.key for cell in again.cells()] == [cell.key for cell in study.cells()]


def acquisition_spec(study: Study) -> list[str]:
    return sorted({cell.settings.acquisition_spec for cell in study.cells()})


def test_without_acquisitions_the_protocol_s_own_is_taken() -> None:
    paper = Study("s", ("imdb",), ("retrain",), seeds=(1,), protocol="paper")
    best = Study("s", ("imdb",), ("retrain",), seeds=(1,))
    assert (acquisition_spec(paper), acquisition_spec(best)) == (["entropy"], ["margin"])
    assert (acquisition_spec(paper.shrunk(protocol="best")), acquisition_spec(best.shrunk(protocol="paper"))) == (
        ["margin"],
        ["entropy"],
    )
    assert best.cells()[0].key.startswith("imdb-minilm-margin-s1-")


def test_acquisitions_that_are_named_win() -> None:
    named = Study("s", ("imdb",), ("retrain",), acquisitions=("random", "entropy"), protocol="best")
    assert acquisition_spec(named) == acquisition_spec(named.shrunk(protocol="paper")) == ["entropy", "random"]
    assert acquisition_spec(named.shrunk(acquisitions=("badge",))) == ["badge"]


@pytest.mark.parametrize(("name", "acquisition"), [("best", "margin"), ("paper", "entropy")])
def test_saved_study_records_the_acquisition(name: str, acquisition: str) -> None:
    study = Study("s", ("imdb",), ("retrain",), protocol=name)
    written = json.loads(json.dumps(study.to_json()))
    assert written["acquisitions"] == [acquisition]
    again = Study.from_json(written)
    assert again.acquisitions == (acquisition,)
    assert [cell.key for cell in again.cells()] == [cell.key for cell in study.cells()]


def test_a_yaml_file_is_a_study(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "tasks: [imdb]\nschedules: [retrain, 'hybrid:alpha:1e-4:3']\nseeds: [1, 2]\n"
        "vary:\n- {batch: 16}\n- {batch: 32}\n"
    )
    study = read_study(path)
    assert study.name == "mine"
    assert [cell.settings.rules.batch for cell in study.cells()] == [16, 16, 32, 32]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tasks: [imdb]\n", "names no `schedules`"),
        ("tasks: [imdb]\nschedules: [retrain]\nsede: [1]\n", "'sede' is not a field of a study"),
        ("tasks: [imdb]\nschedules: []\n", "`schedules` is empty"),
        ("tasks: imdb\nschedules: [retrain]\n", "`tasks` must be a list like .*, not 'imdb'"),
        ("tasks: [imdb]\nschedules: [retrain]\nacquisitions: margin\n", "`acquisitions` must be a list like"),
        ("tasks: [imdb]\nschedules: [retrain]\nacquisitions: null\n", "`acquisitions` must be a list like"),
        ("tasks: [imdb]\nschedules: [retrain]\nseeds: 42\n", "`seeds` must be a list like .*, not 42"),
        ("tasks: [imdb]\nschedules: [retrain]\nseeds: [1, 2, 1]\n", "`seeds` has 1 twice; name it once"),
        ("tasks: [imdb]\nschedules: [retrain]\nvary: [{batch: 8}, {batch: 8}]\n", "`vary` has .* twice"),
        (
            "tasks: [{task: a.csv, label: kind}, {task: a.csv, label: other}]\nschedules: [retrain]\n",
            "`tasks` has 'a.csv' twice; name it once, or copy its file under another name",
        ),
        ("tasks: [imdb]\nschedules: [retrain]\nvary: [{bach: 3}]\n", "`bach` is not a field of a protocol"),
    ],
)
def test_bad_study_file_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=says):
        read_study(path)


def test_shrinking_replaces_factors_and_adds_overrides() -> None:
    study = Study("s", ("imdb",), ("retrain",), overrides={"batch": 16})
    small = study.shrunk(seeds=(7,), backbones=None, rounds=4, overrides={"initial": 20})
    assert small.seeds == (7,)
    assert small.backbones == study.backbones
    assert dict(small.overrides) == {"batch": 16, "rounds": 4, "initial": 20}


def test_keys_of_recorded_studies_stay_and_several_labels_have_their_own() -> None:
    """The keys of studies that were recorded before a text could have several labels."""
    source = {"task": "mail.csv", "label": "kind"}
    (before,) = Study("s", (source,), ("retrain",), seeds=(1,)).cells()
    assert before.key == "mail-minilm-margin-s1-2bab5986"
    assert task_key(before.settings) == "mail-a3b3d7c5"
    others: list[dict[str, Any]] = [{"multi_label": True}, {"label_separator": ";"}, {"label": ["a", "b"]}]
    cells = [Study("s", ({**source, **other},), ("retrain",), seeds=(1,)).cells()[0] for other in others]
    assert len({cell.key for cell in (before, *cells)}) == 4
    assert len({task_key(cell.settings) for cell in (before, *cells)}) == 4
