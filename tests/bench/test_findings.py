from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from bench import claim_figures, findings, learners
from bench.facts import cells, played, runs
from bench.tables import bounds
from hybridal.study.presets import preset

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_shows_what_the_facts_say() -> None:
    """All tables in one test: they take seconds to make, and workers that collect must not wait for them."""
    page = (DOCS / "findings.md").read_text(encoding="utf-8").splitlines()
    tables = {**findings.tables(), **learners.tables()}
    del tables["variants, NLL"]
    assert {name: [row for row in table.splitlines()[2:] if row not in page] for name, table in tables.items()} == {
        name: [] for name in tables
    }


def test_a_mean_lies_between_what_it_is_not_below_and_not_above() -> None:
    mean, low, high = bounds(pd.Series([0.1, 0.2, 0.3]))
    # By hand: the standard error is 0.1 / √3, and Student's t with two degrees of freedom leaves 5% beyond 2.92.
    assert mean == pytest.approx(0.2)
    assert high - mean == pytest.approx(2.92 * 0.1 / 3**0.5, abs=1e-4)
    assert mean - low == pytest.approx(high - mean)


def test_each_signals_own_threshold_is_half_its_largest_early_change() -> None:
    facts = pd.read_parquet(findings.HERE / "results" / "findings.parquet")
    [(_, history)] = played(cells(facts[facts["study"] == "calibration"]), "retrain")
    for name in ("accuracy", "f1", "loss", "alpha", "cka", "nc", "weight-distance", "gradient-norm"):
        largest = max(change for fact in history[1:5] if (change := fact.changes[name]) is not None)
        own = [spec for spec in preset("findings").schedules if spec.startswith(f"hybrid:{name}:")][-1]
        assert float(own.split(":")[2]) == pytest.approx(largest / 2, rel=1e-5)


def test_the_figures_are_drawn(tmp_path: Path) -> None:
    main = findings.of(findings.facts(), **findings.MAIN)[:8]
    claim_figures.draw_ends(runs(main, ("retrain", "finetune", "fixed:5")), tmp_path / "ends.png")
    claim_figures.draw_signals(main, tmp_path / "signals.png")
    learners.draw(tmp_path / "learners.png")
    assert min(path.stat().st_size for path in tmp_path.iterdir()) > 10_000
