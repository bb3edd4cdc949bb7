from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from bench import findings

DOCS = Path(__file__).resolve().parents[2] / "docs" / "findings.md"


def test_the_page_shows_what_the_facts_say() -> None:
    """All tables in one test: they take seconds to make, and workers that collect must not wait for them."""
    page = DOCS.read_text(encoding="utf-8").splitlines()
    tables = findings.tables()
    del tables["variants, NLL"]
    assert {name: [row for row in table.splitlines()[2:] if row not in page] for name, table in tables.items()} == {
        name: [] for name in tables
    }


def test_a_mean_lies_between_what_it_is_not_below_and_not_above() -> None:
    mean, low, high = findings.bounds(pd.Series([0.1, 0.2, 0.3]))
    # By hand: the standard error is 0.1 / √3, and Student's t with two degrees of freedom leaves 5% beyond 2.92.
    assert mean == pytest.approx(0.2)
    assert high - mean == pytest.approx(2.92 * 0.1 / 3**0.5, abs=1e-4)
    assert mean - low == pytest.approx(high - mean)


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    findings.pareto(pd.read_parquet(findings.HERE / "results" / "learners.parquet"), tmp_path / "learners.png")
    assert (tmp_path / "learners.png").stat().st_size > 10_000
