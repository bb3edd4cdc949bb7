from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task

from .conftest import copied, hybridal
from .made_up import history_of


@pytest.mark.parametrize(
    ("what", "some"),
    [
        ("tasks", {"imdb", "newsgroups"}),
        ("backbones", {"minilm", "tiny", "bert"}),
        ("protocols", {"paper", "reference", "best", "quick"}),
        ("schedules", {"auto", "retrain", "finetune", "refit", "replay", "hybrid", "fixed"}),
        ("signals", {"accuracy", "alpha", "cka", "agreement", "divergence", "drift"}),
        ("acquisitions", {"entropy", "badge"}),
    ],
)
def test_list_prints_the_names_that_options_accept(what: str, some: set[str]) -> None:
    ended = hybridal("list", what)
    assert (ended.code, ended.stderr) == (0, "")
    names = [line.split()[0] for line in ended.stdout.splitlines()]
    assert names[0] == "name"
    assert some <= set(names)
    assert [row["name"] for row in json.loads(hybridal("list", what, "--json").stdout)] == names[1:]


def test_list_describes_every_component() -> None:
    rows = json.loads(hybridal("list", "signals", "--json").stdout)
    assert {"name": "f1", "about": "The absolute change of macro F1 on validation."} in rows
    for what in ("backbones", "signals", "schedules", "acquisitions", "trackers"):
        assert all(row["about"].endswith((".", ":")) for row in json.loads(hybridal("list", what, "--json").stdout))


def test_no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hybridal("list").stdout == "There are no runs in runs; start one with `hybridal run`.\n"
    assert hybridal("list", "--json").stdout == "[]\n"
    assert hybridal("list", "--folder", tmp_path).stdout.startswith(f"There are no runs in {tmp_path};")


def test_runs_and_comparisons(unbroken: Path, compared: Path, tmp_path: Path) -> None:
    done, half = copied(unbroken, tmp_path / "a-run"), copied(unbroken, tmp_path / "b-[red]-run")
    lines = (half / "rounds.jsonl").read_text().splitlines(keepends=True)
    (half / "rounds.jsonl").write_text("".join(lines[:2]))
    empty, both = copied(unbroken, tmp_path / "c-empty"), copied(compared, tmp_path / "d-both")
    last = copied(unbroken, tmp_path / "e-run")
    (empty / "rounds.jsonl").unlink()
    (tmp_path / "no-run").mkdir()

    rows = json.loads(hybridal("list", "--folder", tmp_path, "--json").stdout)
    assert [row["run"] for row in rows] == [str(path) for path in (done, half, empty, both, last)]
    assert [row["rounds"] for row in rows] == ["4/4", "2/4", "0/4", "4/4", "4/4"]
    assert [row["update_sequence"] for row in rows] == ["RRFF", "RR", "", "", "RRFF"]
    assert rows[0]["schedule"] == "hybrid:accuracy:0.9:1"
    assert rows[3]["schedule"] == "retrain,finetune,fixed:3,hybrid:accuracy:0.9:1"
    measured = RunFolder(unbroken).history()[-1].validation
    assert measured is not None
    assert rows[0]["F1"] == f"{measured.f1:.3f}"

    table = hybridal("list", "--folder", tmp_path).stdout.splitlines()
    assert table[0].split() == ["run", "task", "schedule", "rounds", "update_sequence", "F1"]
    assert [line.split()[0] for line in table[1:]] == [row["run"] for row in rows]


def test_a_damaged_folder_is_skipped_with_a_note(unbroken: Path, tmp_path: Path) -> None:
    names = ("a-json", "b-version", "c-settings", "d-rounds", "e-run", "f-protocol", "g-schedules", "h-task")
    folders = {name: copied(unbroken, tmp_path / name) for name in names}
    about = json.loads((folders["e-run"] / "run.json").read_text())
    (folders["a-json"] / "run.json").write_text("{")
    (folders["b-version"] / "run.json").write_text(json.dumps({**about, "format": None}))
    (folders["c-settings"] / "run.json").write_text(json.dumps({**about, "settings": {"task": 3}}))
    (folders["d-rounds"] / "rounds.jsonl").write_text('{"round": 1}\n')
    (folders["f-protocol"] / "run.json").write_text(json.dumps({**about, "protocol": {"rounds": "many"}}))
    (folders["g-schedules"] / "run.json").write_text(json.dumps({**about, "schedules": ["retrian"]}))
    (folders["h-task"] / "run.json").write_text(json.dumps({**about, "settings": {}}))

    ended = hybridal("list", "--folder", tmp_path, "--json")
    assert (ended.code, [row["run"] for row in json.loads(ended.stdout)]) == (0, [str(folders["e-run"])])
    notes = ended.stderr.splitlines()
    assert [note.partition(":")[0] for note in notes] == [
        f"Skipped {folders[name]}" for name in names if name != "e-run"
    ]
    assert "run.json is damaged" in notes[0]
    assert "unpublished version" in notes[1]


def test_a_word_of_long_letters_is_counted_for_people(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("toy"), toy_task(), {})
    first, second, third = history_of("RFF", [None, 0.0, 0.0])
    folder.append(first)
    for record, sequence in ((second, "RP(equal,balanced)"), (third, "RP(equal,balanced)P(equal,balanced)")):
        folder.append(replace(record, update="replay:equal:balanced", update_sequence=sequence))
    (row,) = json.loads(hybridal("list", "--folder", tmp_path, "--json").stdout)
    assert (row["update_sequence"], row["rounds"], row["schedule"]) == (
        "RP(equal,balanced)P(equal,balanced)",
        "3/25",
        "auto",
    )
    line = hybridal("list", "--folder", tmp_path).stdout.splitlines()[1]
    assert line.split()[1:] == ["toy", "auto", "3/25", "R×1", "P×2", "0.250"]


def test_an_unfinished_comparison_is_as_far_as_its_slowest_schedule(compared: Path, tmp_path: Path) -> None:
    folder = copied(compared, tmp_path / "both")
    lines = (folder / "rounds.jsonl").read_text().splitlines(keepends=True)
    (folder / "rounds.jsonl").write_text("".join(lines[:-1]))
    (row,) = json.loads(hybridal("list", "--folder", tmp_path, "--json").stdout)
    assert row["rounds"] == "3/4"


def test_unknown_lists_are_refused() -> None:
    ended = hybridal("list", "things")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr == (
        "hybridal: 'things' cannot be listed; there are runs, tasks, backbones, protocols, schedules, signals, "
        "acquisitions, trackers.\n"
    )
