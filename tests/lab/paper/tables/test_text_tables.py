from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.lab.paper.tables.text_tables import before_after, class_shares
from hybridal.lab.study.study_results import Results
from hybridal.reports.report_table import Table


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


def test_datasets_count_texts(tables: dict[str, Table], study: Results) -> None:
    task = study.folder.task(study.folder.cells[-1])
    section = next(section for section in tables["datasets"].sections if section.title == "AG News")
    for at, row in enumerate(section.rows[:-1]):
        counts = [int((split.labels == at).sum()) for _, split in task.splits()]
        assert [entry.numbers[0] for entry in row[1::2]] == counts
    assert [entry.text for entry in section.rows[-1]] == ["Total", "120", "–", "40", "–", "30", "–"]


values_and_t_stars = st.tuples(st.lists(st.one_of(st.none(), st.floats(-1, 1)), max_size=6), st.integers(1, 6))


@given(st.lists(values_and_t_stars, max_size=4))
def test_before_and_after_together_are_all(runs: list[tuple[list[float | None], int]]) -> None:
    first = [v for values, t in runs for v in values[:t] if v is not None]
    later = [v for values, t in runs for v in values[t:] if v is not None]
    assert before_after([values for values, _ in runs], [t_star for _, t_star in runs]) == (first, later)


def test_class_shares_without_texts_are_empty() -> None:
    assert class_shares([], {}, ["x"]) is None
