from __future__ import annotations

import pandas as pd
import pytest
from scipy import stats

from hybridal.lab.paper.published import (
    DIFFERS,
    ONE_SEED,
    WITHIN,
    Spread,
    against_paper,
    known_backbone,
    known_task,
    published,
    published_method,
    units_of_noise,
)
from hybridal.lab.study.study_results import Results
from hybridal.reports.table_formats import to_csv, to_latex

from ...reports.latex_reader import read
from ..reports.example import example


def titled(results: Results) -> list[dict[str, str]]:
    """The rows as texts under their headings."""
    table = against_paper(results)
    assert table is not None
    names = [f"{column.group} {column.title}".strip() for column in table.columns]
    return [dict(zip(names, (entry.text for entry in row), strict=True)) for row in table.rows()]


def test_published_endpoints_are_whole() -> None:
    found = published()
    assert len({(one.backbone, one.method, one.task) for one in found}) == 3 * 9 * 6
    assert {one.task for one in found} == {"imdb", "sst2", "jigsaw", "tweeteval", "agnews", "yahoo"}
    assert {one.backbone for one in found} == {"distilbert", "bert", "roberta"}
    assert {one.f1.n for one in found} == {5}
    bert = next(one for one in found if (one.backbone, one.method, one.task) == ("bert", "HybridAL_acc", "tweeteval"))
    assert (bert.f1.mean, bert.nll.n, bert.t_star) == (0.608, 5, None)


@pytest.mark.parametrize(
    ("spec", "method"),
    [
        ("retrain", "Retrain"),
        ("newonly", "NewOnly"),
        ("hybrid:accuracy:0.02:7", "HybridAL_acc"),
        ("hybrid:alpha", "HybridAL_alpha"),
        ("fixed:10", "FixedSwitch_10"),
        ("hybrid:loss", None),
        ("anchor:0.6", None),
    ],
)
def test_methods_by_their_published_names(spec: str, method: str | None) -> None:
    assert published_method(spec) == method


def test_names_are_found_in_any_spelling() -> None:
    assert {known_task(name) for name in ("agnews", "ag_news", "AG News")} == {"agnews"}
    assert {known_task(name) for name in ("yahoo", "yahoo_answers", "Yahoo-Answers")} == {"yahoo"}
    assert known_task("mine.csv") == "mine.csv"
    assert known_backbone("roberta-base") == "roberta"
    assert known_backbone("my/bert") == "my/bert"


def test_verdicts_equal_welchs_test() -> None:
    for gap in (0.0, 0.01, 0.02, 0.03, 0.05):
        mine, theirs = Spread(0.8 + gap, 0.01, 3), Spread(0.8, 0.02, 5)
        welch = stats.ttest_ind_from_stats(mine.mean, 0.01, 3, theirs.mean, 0.02, 5, equal_var=False)
        units, verdict = units_of_noise(mine, theirs)
        assert units == pytest.approx(welch.statistic)
        assert verdict == (DIFFERS if welch.pvalue < 0.05 else WITHIN)


def test_spreads_of_zero_and_of_nothing() -> None:
    assert units_of_noise(Spread(0.8, None, 1), Spread(0.7, 0.01, 5)) == (None, ONE_SEED)
    assert units_of_noise(Spread(0.8, 0.0, 3), Spread(0.8, 0.0, 5)) == (None, WITHIN)
    assert units_of_noise(Spread(0.8, 0.0, 3), Spread(0.7, 0.0, 5)) == (None, DIFFERS)
    units, verdict = units_of_noise(Spread(0.8, 0.0, 3), Spread(0.7, 0.01, 5))
    assert units == pytest.approx(0.1 / (0.01 / 5**0.5))
    assert verdict == DIFFERS


def test_published_and_own_values_are_in_one_row() -> None:
    results = example()
    rows = titled(results)
    assert len(rows) == 5 * 2
    first = rows[0]
    mine = results.runs[(results.runs["task"] == "imdb") & (results.runs["schedule"] == "retrain")]
    assert first["F1 Published"] == "0.819 ± 0.021"
    assert first["F1 Measured"] == f"{mine['test_f1'].mean():.3f} ± {mine['test_f1'].std():.3f}"
    assert first["NLL Published"] == "0.426 ± 0.039"
    assert first["Seconds Published"] == "526 ± 19"
    assert first["Remarks"] == "8 rounds and 228 labels, published 25 and 968"
    hybrid = next(row for row in rows if row["Method"] == "HybridAL ΔAcc")
    assert "other ε or k" in hybrid["Remarks"]
    assert hybrid["t* Published"] == "15.5"
    assert hybrid["Saved Published s"] == f"{100 * (1 - 510 / 526):.1f}%"
    table = against_paper(results)
    assert table is not None
    read(to_latex(table))
    assert to_csv(table).count("\n") == 11


def test_seconds_of_mixed_machines_are_flagged() -> None:
    results = example(tasks=("sst2", "imdb"), schedules=("retrain", "finetune"), rounds=4, seeds=(1, 2))
    rows = {(row["Method"], row["Task"]): row for row in titled(results)}
    assert rows["FineTune", "SST-2"]["Seconds Timed on"] == "not comparable: slow machine"
    assert rows["FineTune", "SST-2"]["Saved Published s"] == "–"
    assert rows["FineTune", "IMDb"]["Seconds Timed on"] == "one machine"
    assert rows["FineTune", "IMDb"]["Saved Published s"] == f"{100 * (1 - 367 / 526):.1f}%"
    assert rows["FineTune", "SST-2"]["Saved Measured steps"] != "–"


def test_single_seed_is_noted() -> None:
    results = example(tasks=("yahoo",), schedules=("retrain", "hybrid:alpha"), rounds=4, seeds=(42,))
    rows = titled(results)
    assert {row["F1 Verdict"] for row in rows} == {ONE_SEED}
    assert not any("units" in row["F1 Difference"] for row in rows)


def test_without_common_methods_there_is_no_table() -> None:
    assert against_paper(example(tasks=("imdb",), backbones=("tiny",), seeds=(1,), rounds=4)) is None
    assert against_paper(Results(pd.DataFrame(), pd.DataFrame(), example().folder)) is None
    other = example(acquisitions=("random",), tasks=("imdb",), seeds=(1,), rounds=4)
    assert against_paper(other) is None


def test_first_published_endpoint_is_retrain_on_imdb() -> None:
    first = published()[0]
    assert (first.backbone, first.method, first.task, first.f1) == (
        "distilbert",
        "Retrain",
        "imdb",
        Spread(0.819, 0.021, 5),
    )
    assert sum(not endpoint.time_is_comparable for endpoint in published()) == 54
    units, verdict = units_of_noise(Spread(0.830, 0.010, 3), first.f1)
    assert (round(units or 0, 2), verdict) == (1.0, WITHIN)
