from __future__ import annotations

import pytest

from hybridal.errors import UserError
from hybridal.study.presets import PRESET_NAMES, preset


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
    ],
)
def test_the_papers_experiments_have_the_papers_size(name: str, runs: int) -> None:
    assert preset(name).runs == runs


def test_the_papers_own_settings() -> None:
    assert {cell.settings.rules.rounds for cell in preset("main").cells()} == {25}
    assert {cell.settings.rules.rounds for cell in preset("tuning").cells()} == {15}
    assert preset("validation-size").cells()[0].settings.rules.validation_size == 25
    fixed = next(c for c in preset("early-stopping").cells() if c.settings.rules.stop_after is None)
    assert fixed.settings.rules.max_epochs == 5


def test_switch_points_cover_every_switch_of_problem_1() -> None:
    schedules = preset("switch-points", rounds=4).schedules
    assert [s for s in schedules if s.startswith("fixed")] == [f"fixed:{k}" for k in range(1, 6)]


def test_an_unknown_name_gets_the_list() -> None:
    with pytest.raises(UserError, match="no study named 'mian'; there are main, signals"):
        preset("mian")
