from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.lab.study.engines import Here
from hybridal.lab.study.run_study_cells import begin_study, run_study
from hybridal.lab.study.study_presets import PRESET_NAMES, preset
from hybridal.lab.study.trie import histories
from hybridal.schedules import make_schedule


@pytest.mark.parametrize("name", PRESET_NAMES)
def test_every_preset_expands_into_valid_cells(name: str) -> None:
    study = preset(name, rounds=6).shrunk(tasks=("trec",), backbones=("tiny",), seeds=(1,))
    cells = study.cells()
    assert study.name == name
    assert len({cell.key for cell in cells}) == len(cells) > 0
    assert {cell.settings.rules.rounds for cell in cells} == {6}


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("main", 9 * 3 * 6 * 5),
        ("tuning", 32 * 2 * 3),
        ("signals", (8 + 2) * 6 * 5),
        ("samplers", 3 * 2 * 3 * 5),
        ("pool-size", 4 * 2 * 3 * 5),
        ("batch-size", 4 * 2 * 3 * 5),
        ("subset-size", 8 * 2 * 2 * 3),
        ("early-stopping", 2 * 2 * 2 * 3),
        ("validation-size", 5 * 2 * 3),
        ("batch-composition", 3 * 2 * 3),
        ("findings-mpnet", 5 * 3 * 3),
    ],
)
def test_the_papers_experiments_have_the_papers_size(name: str, runs: int) -> None:
    assert preset(name).runs == runs


def test_the_papers_own_settings() -> None:
    assert {cell.settings.rules.rounds for cell in preset("main").cells()} == {25}
    for short in ("tuning", "early-stopping"):
        assert {cell.settings.rules.rounds for cell in preset(short).cells()} == {15}
    assert preset("validation-size").cells()[0].settings.rules.validation_size == 25
    fixed = next(c for c in preset("early-stopping").cells() if c.settings.rules.stop_after is None)
    assert fixed.settings.rules.max_epochs == 5


def test_switch_points_cover_every_switch_of_problem_1() -> None:
    schedules = preset("switch-points", rounds=4).schedules
    assert [s for s in schedules if s.startswith("fixed")] == [f"fixed:{k}" for k in range(1, 6)]


def test_findings_give_the_papers_method_its_best_chance() -> None:
    study = preset("findings")
    rules = [rule for spec in study.schedules if (rule := make_schedule(spec).rule)]
    assert {*preset("main").schedules, *preset("signals").schedules} <= set(study.schedules)
    for name in {rule.signal.name for rule in rules}:
        # By the paper's normaliser, by that of this encoder, and for two signals as the paper tuned them.
        chances = 3 if name in ("accuracy", "alpha") else 2
        assert len({rule.detector for rule in rules if rule.signal.name == name}) == chances
    assert (study.protocol, study.backbones, study.seeds) == ("paper", ("minilm",), (42, 43, 44, 45, 46))


def test_unknown_preset_gets_the_list() -> None:
    with pytest.raises(UserError, match=r"no study named 'mian'; did you mean 'main'\?"):
        preset("mian")


WORDS = {"sea": "wave tide boat salt harbour", "food": "bread soup olive pan oven", "sky": "cloud star moon wind dawn"}


@pytest.fixture
def file(tmp_path: Path) -> dict[str, Any]:
    """Three classes whose words tell them apart, the last of them rarer."""
    rng = np.random.default_rng(0)
    rows = ["id,text,label"]
    for number in range(240):
        kind = ("sea", "food", "sea", "food", "sky")[number % 5]
        words = [str(rng.choice(WORDS[kind].split())) for _ in range(5)]
        rows.append(f"{number},{' '.join(words)} {number},{kind}")
    path = tmp_path / "file.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    classes = ("sea", "food", "sky")
    return {"task": str(path), "label": "label", "id": "id", "classes": classes, "test_size": 60}


def played(name: str, task: dict[str, Any], folder: Path, **rules: Any) -> dict[tuple[str, str], tuple[Round, ...]]:
    """A preset on two cores: by acquisition and schedule, what its rounds were."""
    study = preset(name)
    small = {
        "batch": 10,
        "candidates": 60,
        "max_epochs": 3,
        "min_steps": 8,
        "min_finetune_steps": 5,
        "learning_rate": 1e-3,
        **rules,
    }
    study = replace(study, tasks=(task,), overrides={**study.overrides, **small}, device="cpu")
    home = begin_study(study.shrunk(backbones=("tiny",), seeds=(1,)), folder / "study")
    assert [outcome.error for outcome in run_study(home, Here())] == [None] * len(home.cells)
    return {
        (cell.settings.acquisition_spec, spec): history
        for cell in home.cells
        for spec, history in histories(
            home.rounds_by_sequence(cell), [make_schedule(spec) for spec in cell.schedules], cell.settings.rules.rounds
        ).items()
    }


def test_shrunk_learners_preset_runs(file: dict[str, Any], tmp_path: Path) -> None:
    runs = played("learners", file, tmp_path, initial=20, rounds=6)
    steps = {run: sum(record.cost.steps for record in history) for run, history in runs.items()}
    assert {schedule for _, schedule in runs} == {"auto", "retrain", "finetune", "refit"}
    for acquisition in ("margin", "random"):
        # Nothing to train, little, and the same amount from either start.
        assert steps[acquisition, "refit"] == 0
        assert 0 < steps[acquisition, "auto"] < 0.7 * steps[acquisition, "retrain"]
        assert steps[acquisition, "finetune"] == steps[acquisition, "retrain"]
    for history in runs.values():
        assert [record.labels + (record.validation.n if record.validation else 0) for record in history] == [
            *range(20, 71, 10)
        ]
        assert all(record.test is not None for record in history)
    first = {history[0].labels for history in runs.values()}, {history[0].held for history in runs.values()}
    assert [len(values) for values in first] == [1, 1]  # the first draw asks no model, so it is the same for all
    assert runs["margin", "auto"][-1].reason == "the last round"
    learnt, frozen = (runs["margin", schedule][-1].test for schedule in ("auto", "refit"))
    assert learnt is not None
    assert frozen is not None
    assert learnt.f1 > frozen.f1 - 0.02


def test_shrunk_late_class_preset_runs(file: dict[str, Any], tmp_path: Path) -> None:
    runs = played(
        "late-class", {**file, "validation_size": 20}, tmp_path, initial=20, rounds=8, late_class=5, validation_size=10
    )
    history = runs["entropy", "auto"]
    label_changes = [record.label_changes for record in history]
    assert [n.counts[2] > 0 for n in label_changes if n is not None and len(n.counts) > 2] == [
        True
    ] * 4  # from round five on
    assert (history[4].update, history[4].reason) == ("retrain", "1 new class")
    before, after = history[3].test, history[-1].test
    assert before is not None
    assert after is not None
    assert after.accuracy > before.accuracy + 0.1
