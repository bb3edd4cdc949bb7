"""One row or heading of most tables, as it reads."""

from __future__ import annotations

from hybridal.lab.paper.published import against_paper
from hybridal.lab.paper.tables import TABLES
from hybridal.reports.report_table import Table

from ..reports.example import example


def texts(table: Table | None, row: int = 0, section: int = 0) -> list[str]:
    assert table is not None
    return [entry.text for entry in table.sections[section].rows[row]]


def test_endpoint_tables_of_the_example(tables: dict[str, Table]) -> None:
    table = tables["endpoint-f1"]
    assert [column.title for column in table.columns] == ["Method", "IMDb", "AG News", "Mean"]
    assert table.sections[0].title == "DistilBERT"
    assert texts(table)[1] == "0.823 ± 0.004"
    assert [section.title for section in tables["endpoint-cost"].sections][:2] == [
        "DistilBERT, Optimiser steps (lower is better)",
        "DistilBERT, Training seconds (lower is better)",
    ]
    assert texts(tables["savings"], 1)[::2] == ["FineTune", "0.747 ± 0.065", "39.4%", "37.8 ± 0.5", "39.4%"]
    assert texts(tables["temperature"])[:4] == ["Retrain", "0.99 ± 0.01", "0.343 ± 0.065", "0.343 ± 0.065"]
    rounds = [row[0].text for row in tables["ece-by-round"].sections[0].rows]
    assert rounds == ["1", "2", "3", "4", "5", "6", "7", "8", "Last 5"]
    published = against_paper(example())
    row = ["Retrain", "IMDb", "0.819 ± 0.021", "0.823 ± 0.004", "+0.004 (+0.4 units)", "within noise"]
    assert texts(published)[:6] == row


def test_comparison_tables_of_the_example(tables: dict[str, Table]) -> None:
    table = tables["noninferiority"]
    assert [section.title for section in table.sections] == ["Retrain", "FineTune", "the better of both"]
    row = ["HybridAL ΔAcc", "6", "−0.0009", "−0.0044", "+0.0026", "0.0044", "✓ (0.032)", "✓ (0.002)", "✓ (< 0.001)"]
    assert row in [[entry.text for entry in one] for one in table.sections[0].rows]
    row = ["FineTune", "Retrain", "6", "+0.404", "0.031", "0.219", "< 0.001", "40.59", "34.12", "1.00", "1.00"]
    assert texts(tables["rank-tests"], section=1) == row
    assert texts(tables["wins"], section=1) == ["Retrain", "–", "2/2", "2/2", "1/2", "2/2"]


def test_switching_tables_of_the_example(tables: dict[str, Table]) -> None:
    assert texts(tables["switch-rounds"]) == ["IMDb", "4.7 ± 0.6", "5.3 ± 1.2"]
    assert texts(tables["post-switch"])[:5] == ["IMDb", "100%", "4.7 ± 0.6", "0.012", "20%"]
    row = ["ΔAcc", "performance", "answers on validation", "0.01", "2", "100%", "4.8 ± 0.4"]
    assert texts(tables["signal-summary"]) == row
    assert [section.keys[1] for section in tables["signal-ablation"].sections][-2:] == ["Fire rate", "Switch round t*"]
    assert texts(tables["signal-correlations"])[:3] == ["accuracy", "1.00", "0.96"]
    fixed = tuple(f"fixed:{k}" for k in range(1, 6))
    regret = TABLES["regret"](example(rounds=4, schedules=(*fixed, "hybrid:accuracy:0.03:1")))
    assert texts(regret) == ["Best switch round", "1.3 ± 0.5", "100%", "0.000 ± 0.000", "0.0 ± 0.0", "–"]
    grid = TABLES["tuning-grid"](
        example(schedules=tuple(f"hybrid:alpha:{e}:{k}" for e in (0.0001, 0.0003) for k in (2, 3)))
    )
    assert grid is not None
    chosen = [[entry.text for entry in row if entry.chosen] for row in grid.sections[0].rows]
    assert chosen == [[], ["0.856", "0.520", "447", "54.0"]]


def test_text_tables_of_the_example(tables: dict[str, Table]) -> None:
    assert list(tables)[:4] == ["dataset-sizes", "datasets", "endpoint-f1", "endpoint-nll"]
    assert [texts(tables["datasets"], row) for row in range(3)] == [
        ["sport", "60", "50.00", "20", "50.00", "15", "50.00"],
        ["food", "60", "50.00", "20", "50.00", "15", "50.00"],
        ["Total", "120", "–", "40", "–", "30", "–"],
    ]
    assert texts(tables["dataset-sizes"], 1) == ["AG News", "3", "120", "40", "30", "190"]
    assert texts(tables["batch-overlap"], 1) == ["HybridAL ΔAcc", "1.000 ± 0.000", "0.008 ± 0.033"]
    assert texts(tables["batch-scores"]) == ["Retrain", "0.554 ± 0.048", "–", "–"]
    assert texts(tables["batch-classes"], 5) == ["HybridAL ΔAcc", "IMDb", "sport", "55.4", "60.0", "50.0"]


def test_variation_tables_of_the_example() -> None:
    table = TABLES["pool-size"](example(vary=({"initial": 50}, {"initial": 100})))
    assert table is not None
    assert texts(table)[:2] == ["50", "Retrain"]
    assert table.columns[0].title == "Initial labels"
    table = TABLES["samplers"](example(acquisitions=("entropy", "badge")))
    assert table is not None
    assert [row[0].text for row in table.sections[0].rows[::5]] == ["Entropy", "BADGE"]
