from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.cli.compare_command import SHOWN, result_table, summary
from hybridal.core.rounds import Round
from hybridal.lab.study.comparison import Comparison
from hybridal.reports.history_summary import plain_sequence

from .conftest import BEST, SMALL, copied, hybridal
from .made_up import history_of, with_several_labels


def test_the_end_of_a_schedule_and_its_cost() -> None:
    history = history_of("RRFF", [None, 0.0, 0.0, 0.0], test=True)
    assert summary("fixed:3", history) == {
        "schedule": "fixed:3",
        "accuracy": 0.75,
        "accuracy_low": pytest.approx(0.531, abs=1e-3),
        "accuracy_high": pytest.approx(0.888, abs=1e-3),
        "f1": 0.25,
        "f1_low": pytest.approx(0.110, abs=1e-3),
        "f1_high": pytest.approx(0.475, abs=1e-3),
        "nll": 0.5,
        "nll_scaled": 0.4375,
        "ece": None,
        "ece_scaled": None,
        "steps": 12,
        "seconds": 5.0,
        "first_finetune": 3,
        "update_sequence": "RRFF",
    }


def test_without_test_texts_validation_counts() -> None:
    row = summary("retrain", history_of("RR", [None, 0.0]))
    assert (row["accuracy"], row["first_finetune"]) == (0.6, None)


def test_with_several_labels_the_table_has_their_measures() -> None:
    measured, bare = with_several_labels(history_of("RR", [None, 0.0])), history_of("RF", [None, 0.0])
    bare = [replace(record, validation=None) for record in bare]
    histories = {"retrain": measured, "fixed:1": bare}
    table = result_table([summary(spec, history) for spec, history in histories.items()], histories)
    cells = {str(column.header): list(column.cells) for column in table.columns}
    assert (cells["macro_f1"], cells["95%"]) == (["0.600", "–"], ["0.47–0.71", "–"])
    assert (cells["micro_f1"], cells["exact_match"], cells["lrap"]) == (["0.700", "–"], ["0.350", "–"], ["0.800", "–"])
    assert not {"accuracy", "f1"} & {*cells}


def test_table_for_people(compared: Path, tmp_path: Path) -> None:
    folder = copied(compared, tmp_path / "comparison")
    ended = hybridal("compare", "--resume", folder)
    assert (ended.code, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[0] == f"Comparison folder: {folder}"
    assert lines[1].split() == list(SHOWN)
    assert [(line.split()[0], line.split()[-1]) for line in lines[2:6]] == [
        ("retrain", "RRRR"),
        ("finetune", "FFFF"),
        ("fixed:3", "RRFF"),
        ("hybrid:accuracy:0.9:1", "RRFF"),
    ]
    assert lines[6] == "16 rounds, 10 computed: 1.60 times less work by sharing."
    assert all("guessing: it is right on" in line for line in lines[7:-1])
    assert lines[-1] == f"Report: {folder}/report.html"


def test_json_for_programs(compared: Path) -> None:
    ended = hybridal("compare", "--resume", compared, "--json")
    found = json.loads(ended.stdout)
    assert found["folder"] == str(compared)
    histories = Comparison.open(compared).histories()
    assert found["schedules"] == [summary(spec, history) for spec, history in histories.items()]
    assert hybridal("compare", "--resume", compared, "--quiet").stdout == ""


def test_new_comparison_runs_each_schedule_once(toy: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "comparison"
    options = ("--rounds", "1", "--schedules", "retrain, finetune,retrain", "--out", folder, "--json")
    ended = hybridal("compare", *toy, *SMALL, *options)
    assert (ended.code, ended.stderr) == (0, "")
    assert [row["update_sequence"] for row in json.loads(ended.stdout)["schedules"]] == ["R", "F"]
    assert (folder / "report.html").is_file()
    again = hybridal("compare", *toy, *SMALL, "--out", folder)
    assert again.code == 2
    assert f"{folder} holds a run already" in again.stderr


def test_by_default_auto_is_compared_with_the_two_plain_strategies(pool: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "comparison"
    ended = hybridal("compare", *pool, *BEST, "--out", folder)
    assert (ended.code, ended.stderr) == (0, "")
    compared = Comparison.open(folder)
    assert compared.settings.protocol == "best"
    histories = compared.histories()
    assert list(histories) == ["auto", "retrain", "finetune"]
    assert {len(history) for history in histories.values()} == {4}
    assert [record.update for record in histories["auto"][:2]] == ["retrain", "retrain"]
    ours, theirs = histories["auto"][1], histories["retrain"][1]
    assert ours.seconds == theirs.seconds, "a round that they share was computed twice"
    assert (ours.reason, theirs.reason) == ("the encoder is untrained", "")
    assert {*histories["finetune"][-1].changes} == {"agreement", "drift"}
    rows = [line.strip().split(maxsplit=8) for line in ended.stdout.splitlines() if line.split()[0] in histories]
    assert {row[0]: row[8] for row in rows} == {spec: plain_sequence(history) for spec, history in histories.items()}
    assert plain_sequence(histories["auto"]).startswith("R×")
    assert (folder / "report.html").is_file()
    again = hybridal("compare", "--resume", folder, "--json")
    assert [row["update_sequence"] for row in json.loads(again.stdout)["schedules"]] == [
        history[-1].update_sequence for history in histories.values()
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--schedules", " , "), "--schedules names no schedule; give at least one, e.g. retrain,finetune."),
        (("--schedules", "retrain,bogus"), "There is no schedule named 'bogus'; there are anchor,"),
        (("--signals", "bogus"), "There is no signal named 'bogus'"),
        (("--set", "rounds"), "--set takes FIELD=VALUE, not 'rounds'."),
    ],
)
def test_unusable_options_are_refused(
    options: tuple[str, ...], sentence: str, toy: tuple[str, ...], tmp_path: Path
) -> None:
    ended = hybridal("compare", *toy, *SMALL, *options, "--out", tmp_path / "comparison")
    assert (ended.code, ended.stdout) == (2, "")
    assert sentence in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "comparison").exists()


def test_a_dry_run_checks_all_schedules_and_leaves_nothing(toy: tuple[str, ...], tmp_path: Path) -> None:
    asked = ("compare", *toy, *SMALL, "--out", tmp_path / "new", "--dry-run")
    plan = json.loads(hybridal(*asked, "--schedules", "retrain, anchor:0.6").stdout)
    assert (plan["schedules"], plan["labels"]) == (["retrain", "anchor:0.6"], 24)
    ended = hybridal(*asked, "--schedules", "retrain,hybrid:lose")
    assert (ended.code, ended.stdout) == (2, "")
    assert "did you mean 'loss'?" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_run_folder_is_refused_as_a_comparison(unbroken: Path) -> None:
    ended = hybridal("compare", "--resume", unbroken)
    assert ended.code == 2
    assert ended.stderr == (
        f"hybridal: {unbroken} is a run, not a comparison; go on with `hybridal resume {unbroken}`.\n"
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--rounds", "9"), "--rounds"),
        (("--set", "batch=2", "--schedules", "retrain"), "--set, --schedules"),
        (("--test-every-round",), "--test-every-round"),
        (("imdb",), "TASK"),
        (("--out", "elsewhere"), "--out"),
    ],
)
def test_resume_refuses_settings_that_the_comparison_has(options: tuple[str, ...], named: str, compared: Path) -> None:
    ended = hybridal("compare", "--resume", compared, *options, "--quiet")
    assert (ended.code, ended.stdout) == (2, "")
    assert f"--resume uses the settings that the comparison was started with; leave {named} out." in ended.stderr


def test_a_schedule_that_could_not_be_measured_gets_dashes(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unmeasured(spec: str, history: Sequence[Round]) -> dict[str, object]:
        bare = [replace(record, validation=None, test=None) for record in history]
        return summary(spec, bare)

    monkeypatch.setattr("hybridal.cli.compare_command.summary", unmeasured)
    line = hybridal("compare", "--resume", compared).stdout.splitlines()[2]
    assert line.split()[:6] == ["retrain", *"–––––"]
