from __future__ import annotations

from dataclasses import replace

import pytest
from scipy import stats

from hybridal.lab.paper.tables.budget_tables import equal_labels
from hybridal.lab.study.study_results import Results
from hybridal.reports.report_table import Entry, Table

NAMES = {"Retrain": "retrain", "FineTune": "finetune", "FixedSwitch@3": "fixed:3"}


def shown(table: Table, group: str) -> dict[str, tuple[Entry, Entry]]:
    """F1 and its difference to Retrain at one budget, by method."""
    at = next(number for number, column in enumerate(table.columns) if column.group == group)
    return {row[0].text: (row[at], row[at + 1]) for row in table.rows()}


@pytest.mark.parametrize(("group", "budget"), [("200 labels", 200), ("the end", 10**6)])
def test_means_and_intervals_are_those_of_pandas_and_scipy(
    study: Results, tables: dict[str, Table], group: str, budget: int
) -> None:
    rounds = study.rounds[study.rounds["labels"] <= budget]
    last = rounds.sort_values("round").groupby(["schedule", "task", "seed"]).tail(1)
    wide = last.pivot_table(index=["task", "seed"], columns="schedule", values="validation_f1")
    found = shown(tables["equal-labels"], group)
    for name, spec in NAMES.items():
        mean, apart = found[name]
        assert mean.numbers == pytest.approx((wide[spec].mean(), wide[spec].std(), len(wide)))
        if spec == "retrain":
            assert apart.text == "–"
            continue
        if (wide[spec] == wide["retrain"]).all():
            assert apart.numbers == (0.0, None, None)
            continue
        test = stats.ttest_rel(wide[spec], wide["retrain"])
        between = test.confidence_interval(0.95)
        assert apart.numbers == pytest.approx(((wide[spec] - wide["retrain"]).mean(), between.low, between.high))
    best = max(found.values(), key=lambda pair: pair[0].value or 0)[0]
    assert best.best


def test_budgets_that_no_run_reaches_are_left_out(tables: dict[str, Table], study: Results) -> None:
    groups = list(dict.fromkeys(column.group for column in tables["equal-labels"].columns if column.group))
    least, most = study.rounds["labels"].min(), study.rounds["labels"].max()
    assert groups == [*(f"{n} labels" for n in (100, 200, 400, 800) if least <= n <= most), "the end"]


def test_test_split_is_used_when_every_round_has_it(study: Results, tables: dict[str, Table]) -> None:
    assert tables["equal-labels"].caption.startswith("Validation F1 at equal labels")
    table = equal_labels(replace(study, rounds=study.rounds.assign(test_f1=0.5)))
    assert table is not None
    assert table.caption.startswith("Test F1 at equal labels")
    assert {mean.value for mean, _ in shown(table, "the end").values()} == {0.5}


def test_without_retrain_there_is_nothing_to_compare_with(study: Results) -> None:
    assert equal_labels(replace(study, rounds=study.rounds[study.rounds["schedule"] != "retrain"])) is None
