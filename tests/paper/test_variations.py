from __future__ import annotations

import pytest

from hybridal.evidence.table import Table
from hybridal.evidence.write import to_latex
from hybridal.paper.tables import TABLES
from hybridal.paper.tables.ablations import samplers

from ..evidence.example import example
from .latex_reader import read

VARIED = {
    "pool-size": (({"initial": 50}, {"initial": 1000}), ["50", "1,000"]),
    "batch-size": (({"batch": 4}, {"batch": 8}), ["4", "8"]),
    "subset-size": (({"candidates": 100}, {"candidates": None}), ["100", "all"]),
    "validation-size": (({"validation_size": 25}, {"validation_size": None}), ["25", "all"]),
    "dropout": (({"dropout": "on"}, {"dropout": "finetune"}), ["on", "finetune"]),
    "calibrated-acquisition": (({"calibrate": False}, {"calibrate": True}), ["no", "yes"]),
    "early-stopping": (
        ({"max_epochs": 5, "stop_after": None}, {"max_epochs": 10, "stop_after": 2}),
        ["5 epochs", "≤ 10 epochs, patience 2"],
    ),
    "variants": (({"initial": 50, "batch": 8}, {}), ["initial=50, batch=8", "as it is"]),
}


@pytest.mark.parametrize("name", VARIED)
def test_each_variation_has_its_table_and_only_its_own(name: str) -> None:
    vary, values = VARIED[name]
    results = example(vary=vary, tasks=("imdb",), seeds=(1, 2), rounds=2, schedules=("retrain", "fixed:2"))
    made = {other: TABLES[other](results) for other in VARIED}
    assert [other for other, table in made.items() if table is not None] == [name]
    table = made[name]
    assert table is not None
    found = read(to_latex(table))
    f1 = found.sections["DistilBERT, Test F1 (higher is better)"]
    assert [row[0] for row in f1] == [value for value in values for _ in range(2)]
    for row, (_, mine) in zip(f1, results.runs.groupby(["variant", "schedule"], sort=False), strict=True):
        text = f"{mine['test_f1'].mean():.3f} ± {mine['test_f1'].std():.3f}"
        assert row[2].removesuffix("^*") == text


def test_samplers() -> None:
    results = example(
        acquisitions=("entropy", "badge"), tasks=("imdb",), seeds=(1, 2), rounds=2, schedules=("retrain", "fixed:2")
    )
    table = samplers(results)
    assert table is not None
    assert [row[0].text for row in table.sections[0].rows] == ["Entropy", "Entropy", "BADGE", "BADGE"]
    assert samplers(example()) is None


def test_a_plain_study_has_no_variations(tables: dict[str, Table]) -> None:
    assert not set(VARIED) & set(tables)
