"""Switch rounds, temperature, calibration by round and what was acquired, against pandas."""

from __future__ import annotations

import pandas as pd
import pytest

from hybridal.evidence.results import Results
from hybridal.evidence.table import Table
from hybridal.evidence.write import to_latex

from .latex_reader import read, shown


def test_switch_rounds(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    found = read(to_latex(tables["switch-rounds"])).sections[""]
    for row in found:
        part = runs if row[0] == "Mean" else runs[runs["task"] == row[0]]
        for text, method in zip(row[1:], ("HybridAL ΔAcc", "HybridAL Δα"), strict=True):
            switch = part[part["method"] == method]["switch"].dropna()
            assert text == f"{switch.mean():.1f} ± {switch.std():.1f}"


def test_temperature(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    for row in read(to_latex(tables["temperature"])).sections["DistilBERT"]:
        mine = runs[runs["method"] == row[0]]
        columns = ("temperature", "nll", "nll_scaled")
        texts = [f"{mine[c].mean():.{d}f} ± {mine[c].std():.{d}f}" for c, d in zip(columns, (2, 3, 3), strict=True)]
        assert row[1:4] == texts
        assert row[4] == f"{100 * mine['ece'].mean():.1f}% ± {100 * mine['ece'].std():.1f}%"


def test_ece_by_round(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    found = read(to_latex(tables["ece-by-round"]))
    for row in found.sections["DistilBERT"]:
        for method, text in zip(map(shown, found.headings[1:]), row[1:], strict=True):
            eces = runs[runs["method"] == method]["eces"]
            kept = slice(3, 8) if row[0] == "Last 5" else slice(int(row[0]) - 1, int(row[0]))
            values = pd.Series([100 * ece for run in eces for ece in run[kept]])
            assert text == f"{values.mean():.2f} ± {values.std():.2f}"


def test_overlap_and_scores_before_and_after_the_switch(tables: dict[str, Table], runs: pd.DataFrame) -> None:
    retrain = runs[runs["method"] == "Retrain"].set_index(["task", "seed"])
    overlaps = {row[0].text: row for row in tables["batch-overlap"].sections[0].rows}
    scores = {row[0].text: row for row in tables["batch-scores"].sections[0].rows}
    for method in ("HybridAL ΔAcc", "HybridAL Δα", "FixedSwitch@3"):
        parts: dict[str, list[float]] = {"o0": [], "o1": [], "s0": [], "s1": []}
        changes = []
        for run in runs[runs["method"] == method].to_dict("records"):
            other = retrain.loc[(run["task"], run["seed"])]["acquired"]
            means = [sum(batch) / len(batch) for batch in run["scores"]]
            switch = int(run["switch"])
            for t, (mine, theirs) in enumerate(zip(run["acquired"], other, strict=True), start=1):
                part = "1" if t > switch else "0"
                parts["o" + part].append(len({*mine} & {*theirs}) / len({*mine} | {*theirs}))
                parts["s" + part].append(means[t - 1])
            changes.append(pd.Series(means[switch:]).mean() - pd.Series(means[:switch]).mean())
        for at in (0, 1):
            for kind, rows in (("o", overlaps), ("s", scores)):
                values = pd.Series(parts[f"{kind}{at}"])
                assert rows[method][1 + at].numbers == pytest.approx((values.mean(), values.std(), len(values)))
        assert scores[method][3].numbers == pytest.approx((pd.Series(changes).mean(),))
    assert overlaps["FixedSwitch@3"][1].text == "1.000 ± 0.000"


def test_classes_before_and_after_the_switch(tables: dict[str, Table], runs: pd.DataFrame, study: Results) -> None:
    task = study.folder.task(study.folder.cells[0])
    label = {id: task.classes[at] for id, at in zip(task.train.ids, task.train.labels, strict=True)}
    mine = runs[(runs["method"] == "HybridAL Δα") & (runs["task"] == "IMDb")]
    before: list[str] = []
    after: list[str] = []
    for run in mine.to_dict("records"):
        for t, batch in enumerate(run["acquired"], start=1):
            (before if t <= run["switch"] else after).extend(label[id] for id in batch)
    rows = [row for row in tables["batch-classes"].sections[0].rows if row[0].text == "HybridAL Δα"]
    for row in (row for row in rows if row[1].text == "IMDb"):
        expected = [100 * part.count(row[2].text) / len(part) for part in (before, after)]
        assert [entry.numbers[0] for entry in row[3:]] == pytest.approx([*expected, 50.0])


def test_post_switch(tables: dict[str, Table], study: Results) -> None:
    rounds = study.rounds
    mine = rounds[(rounds["schedule"] == "hybrid:accuracy:0.01:2") & (rounds["task"] == "imdb")]
    after = mine[mine["update"] == "finetune"]["change_accuracy"]  # every run switched, and not in its last round
    row = tables["post-switch"].sections[0].rows[0]
    assert row[1].numbers == (1.0,)
    assert row[3].numbers == (after.max(),)
    assert row[4].numbers == ((after >= 0.01).mean(),)


def test_datasets_count_texts(tables: dict[str, Table], study: Results) -> None:
    task = study.folder.task(study.folder.cells[-1])
    section = next(section for section in tables["datasets"].sections if section.title == "AG News")
    for at, row in enumerate(section.rows[:-1]):
        counts = [int((split.labels == at).sum()) for _, split in task.splits()]
        assert [entry.numbers[0] for entry in row[1::2]] == counts
    assert [entry.text for entry in section.rows[-1]] == ["Total", "120", "–", "40", "–", "30", "–"]
