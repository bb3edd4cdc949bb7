from __future__ import annotations

import re

import pandas as pd
import pytest
from scipy import stats

from hybridal.reports.report_table import Table
from hybridal.reports.table_formats import to_latex

from ....reports.latex_reader import read, shown

MEASURES = {
    ("endpoint-f1", "DistilBERT"): ("f1", "{:.3f}", True),
    ("endpoint-nll", "DistilBERT"): ("nll", "{:.3f}", False),
    ("endpoint-cost", "DistilBERT, Optimiser steps (lower is better)"): ("steps", "{:,.0f}", False),
    ("endpoint-cost", "DistilBERT, Training seconds (lower is better)"): ("seconds", "{:.1f}", False),
}


@pytest.mark.parametrize(("name", "section"), MEASURES)
def test_latex_values_equal_pandas(tables: dict[str, Table], runs: pd.DataFrame, name: str, section: str) -> None:
    column, shown, _ = MEASURES[name, section]
    found = read(to_latex(tables[name]))
    assert found.headings == ["Method", "IMDb", "AG News", "Mean"]
    rows = found.sections[section]
    assert [row[0] for row in rows] == list(runs["method"].unique())
    for row in rows:
        mine = runs[runs["method"] == row[0]]
        for task, text in zip(found.headings[1:], row[1:], strict=True):
            values = mine[column] if task == "Mean" else mine[mine["task"] == task][column]
            expected = f"{shown.format(values.mean())} ± {shown.format(values.std())}"
            assert text.removesuffix("^*") == expected


@pytest.mark.parametrize(("name", "section"), MEASURES)
def test_stars_are_those_of_scipy(tables: dict[str, Table], runs: pd.DataFrame, name: str, section: str) -> None:
    column, _, _ = MEASURES[name, section]
    found = read(to_latex(tables[name]))
    wide = runs.pivot_table(index=["task", "seed"], columns="method", values=column)
    stars = 0
    for row in found.sections[section]:
        for task, text in zip(found.headings[1:], row[1:], strict=True):
            part = wide if task == "Mean" else wide.loc[task]
            different = not (part[row[0]] == part["Retrain"]).all()
            p = stats.ttest_rel(part[row[0]], part["Retrain"]).pvalue if different else 1.0
            assert text.endswith("^*") == (p < 0.05), (row[0], task, p)
            stars += text.endswith("^*")
    assert stars or name == "endpoint-f1"


@pytest.mark.parametrize(("name", "section"), MEASURES)
def test_the_best_is_bold_and_the_shade_follows_the_means(
    tables: dict[str, Table], runs: pd.DataFrame, name: str, section: str
) -> None:
    column, shown, higher = MEASURES[name, section]
    rows = next(part for part in tables[name].sections if part.title == section).rows
    for at, task in ((1, "IMDb"), (2, "AG News")):
        means = runs[runs["task"] == task].groupby("method")[column].mean()
        best = means.max() if higher else means.min()
        for row in rows:
            mean = means[row[0].text]
            assert row[at].best == (shown.format(mean) == shown.format(best))
            reach = (mean - means.min()) / (means.max() - means.min())
            assert row[at].shade == pytest.approx(reach if higher else 1 - reach)
    greens = [int(n) for n in re.findall(r"green!(\d+)", to_latex(tables[name]))]
    assert min(greens) == 0
    assert max(greens) == 55


def test_seconds_follow_steps_with_a_note_on_machines(tables: dict[str, Table]) -> None:
    for name in ("endpoint-cost", "savings", "signal-ablation", "rank-tests"):
        assert "Seconds compare only within one machine" in tables[name].caption
        columns = str([tables[name].columns, [section.keys for section in tables[name].sections]])
        assert columns.index("Optimiser steps") < columns.index("Training seconds")


def test_temperature_table(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    for row in read(to_latex(tables["temperature"])).sections["DistilBERT"]:
        mine = runs[runs["method"] == row[0]]
        columns = ("temperature", "nll", "nll_scaled")
        texts = [f"{mine[c].mean():.{d}f} ± {mine[c].std():.{d}f}" for c, d in zip(columns, (2, 3, 3), strict=True)]
        assert row[1:4] == texts
        assert row[4] == f"{100 * mine['ece'].mean():.1f}% ± {100 * mine['ece'].std():.1f}%"


def test_ece_by_round_table(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    found = read(to_latex(tables["ece-by-round"]))
    for row in found.sections["DistilBERT"]:
        for method, text in zip(map(shown, found.headings[1:]), row[1:], strict=True):
            eces = runs[runs["method"] == method]["eces"]
            kept = slice(3, 8) if row[0] == "Last 5" else slice(int(row[0]) - 1, int(row[0]))
            values = pd.Series([100 * ece for run in eces for ece in run[kept]])
            assert text == f"{values.mean():.2f} ± {values.std():.2f}"
