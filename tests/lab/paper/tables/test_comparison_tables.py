from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from hybridal.reports.report_table import Table
from hybridal.reports.table_formats import to_latex

from ....reports.latex_reader import read


def wide(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    return runs.pivot_table(index=["task", "seed"], columns="method", values=column)


def test_savings_table(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    found = read(to_latex(tables["savings"])).sections["DistilBERT"]
    for row in found:
        mine = runs[runs["method"] == row[0]]
        assert row[1] == f"{mine['f1'].mean():.3f} ± {mine['f1'].std():.3f}"
        for at, column in ((4, "steps"), (7, "seconds")):
            table = wide(runs, column)
            saved = 1 - table[row[0]].sum() / table["Retrain"].sum()
            each = (1 - table[row[0]] / table["Retrain"]).mean()
            expected = ["–", "–"] if row[0] == "Retrain" else [f"{100 * saved:.1f}%", f"{100 * each:.1f}%"]
            assert row[at : at + 2] == expected


def test_noninferiority_table(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    f1 = wide(runs, "f1")
    f1["the better of both"] = np.maximum(f1["Retrain"], f1["FineTune"])
    table = tables["noninferiority"]
    assert [section.title for section in table.sections] == ["Retrain", "FineTune", "the better of both"]
    first, second, _ = ({row[0].text for row in section.rows} for section in table.sections)
    assert (first - second, second - first) == ({"FineTune"}, {"Retrain"})
    for section in table.sections:
        for row in section.rows:
            differences = f1[row[0].text] - f1[section.title]
            n = len(differences)
            reach = stats.t.ppf(0.95, n - 1) * differences.std() / np.sqrt(n)
            exact = [entry.numbers[0] for entry in row[1:]]
            low, high = differences.mean() - reach, differences.mean() + reach
            assert exact[:5] == pytest.approx([n, differences.mean(), low, high, max(abs(low), abs(high))])
            for margin, entry in zip((0.005, 0.01, 0.02), row[6:], strict=True):
                p = stats.ttest_1samp(differences, -margin, alternative="greater").pvalue
                assert entry.numbers[0] == pytest.approx(p)
                assert entry.text.startswith("✓" if p <= 0.05 else "✗")
    spread = runs[runs["method"] == "Retrain"].groupby("task")["f1"].std()
    assert f"spreads by {spread.mean():.4f} on average over 2 cells" in table.caption


def test_rank_and_effect_size_tables(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    for section, column in zip(tables["rank-tests"].sections, ("f1", "nll", "steps", "seconds"), strict=True):
        table = wide(runs, column)
        raw = []
        for row in section.rows:
            new, old = table[row[0].text], table[row[1].text]
            exact = [entry.numbers[0] for entry in row[2:]]
            p = stats.wilcoxon(new, old, method="exact").pvalue
            differences = new - old
            assert exact[0] == len(new)
            assert exact[1:3] == pytest.approx([differences.mean(), p])
            assert exact[4:6] == pytest.approx(
                [stats.ttest_rel(new, old).pvalue, differences.mean() / differences.std()]
            )
            raw.append(p)
        order, highest, holm = np.argsort(raw, kind="stable"), 0.0, np.empty(len(raw))
        for step, at in enumerate(order):
            highest = max(highest, min(1.0, raw[at] * (len(raw) - step)))
            holm[at] = highest
        assert [row[5].numbers[0] for row in section.rows] == pytest.approx(holm.tolist())


def test_wins_count_cells(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    table = tables["wins"]
    names = [column.title for column in table.columns[1:]]
    nll = wide(runs, "nll")
    for row in table.sections[1].rows:
        for name, entry in zip(names, row[1:], strict=True):
            if name == row[0].text:
                assert entry.text == "–"
                continue
            won = 0
            for task in ("IMDb", "AG News"):
                new, old = nll.loc[task][row[0].text], nll.loc[task][name]
                won += not (new == old).all() and stats.ttest_rel(new, old).pvalue < 0.05 and new.mean() < old.mean()
            assert entry.numbers == (won, 2)
