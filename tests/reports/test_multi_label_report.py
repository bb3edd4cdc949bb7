"""The report of a learner whose texts may have several labels."""

from __future__ import annotations

from typing import Any

import pytest

from hybridal import ActiveLearner
from hybridal.core.rounds import MultiLabelMetrics
from hybridal.reports.history_summary import final
from hybridal.reports.report_measures import ONE_LABEL, SEVERAL_LABELS, class_table, measures_of
from hybridal.reports.run_report import comparison_page, run_page
from hybridal.schedules import make_schedule
from hybridal.testing.small import multi_label_task

from .made_up_rounds import history_of
from .page_reader import read_page


@pytest.fixture(scope="module")
def learner() -> ActiveLearner:
    task = multi_label_task(train=120, validation=60)
    learner = ActiveLearner(
        task, "tiny", "retrain", "quick", signals=["agreement"], device="cpu", max_epochs=2, probe_until=0
    )
    for _ in range(3):
        learner.teach(task.answers(learner.query(20).ids))
    return learner


@pytest.fixture(scope="module")
def html(learner: ActiveLearner, tmp_path_factory: pytest.TempPathFactory) -> str:
    return learner.report(tmp_path_factory.mktemp("report") / "report.html").read_text(encoding="utf-8")


def test_each_figure_has_its_own_name(html: str) -> None:
    page = read_page(html)
    heads = [head.text for head in page.tables["table-1"][0]]
    assert heads[3:8] == ["Macro-F1", "Micro-F1", "LRAP", "Exact match", "Hamming"]
    assert "ccuracy" not in " ".join([*page.words, *page.labels])
    for named in ("macro-F1", "micro-F1", "LRAP", "exact match", "Hamming loss"):
        assert named in page.texts["story"], named


def test_each_class_has_its_texts_precision_and_recall(html: str, learner: ActiveLearner) -> None:
    rows = read_page(html).tables["table-2"]
    assert [head.text for head in rows[0]] == ["Class", "Texts", "Given", "Precision", "Recall", "F1", "Threshold"]
    found, classes = learner.history[-1].validation, learner.experiment.task.classes
    assert isinstance(found, MultiLabelMetrics)
    for at, row in enumerate(rows[1:]):
        name, texts, given, *_ = (cell.text for cell in row)
        assert (name, int(texts), int(given)) == (classes[at], found.support[at], found.given[at])


def test_a_class_without_texts_has_a_dash() -> None:
    metrics = MultiLabelMetrics(
        40, 9, 0.2, 0.5, 0.3, 0.1, 0.1, 0.3, 0.1, support=(30, 1, 0), given=(20, 0, 4), hits=(15, 0, 0), micro_f1=0.5
    )
    rows = [[entry.text for entry in row] for row in class_table(metrics, "abc", (0.4, 0.3, 0.2), "test").rows()]
    assert rows == [
        ["a", "30", "20", "0.750", "0.500", "0.600", "0.400"],
        ["b", "1", "0", "–", "0.000", "–", "0.300"],
        ["c", "0", "4", "0.000", "–", "–", "0.200"],
    ]


def test_a_comparison_ranks_by_the_measures_of_several_labels(learner: ActiveLearner) -> None:
    schedules = [make_schedule("retrain"), make_schedule("finetune")]
    histories: dict[str, Any] = {"retrain": learner.history, "finetune": learner.history[:2]}
    page = comparison_page(histories, schedules, {})
    assert [column.title for column in page.front[0].table.columns][1:6] == [m.title for m in SEVERAL_LABELS[:5]]
    assert not any("most frequent class" in sentence for sentence in page.story)


def test_a_task_with_one_label_has_no_table_of_classes() -> None:
    history = history_of("retrain", 3)
    assert measures_of(history) == ONE_LABEL
    page = run_page(history, make_schedule("retrain"), {"task": {"name": "t", "classes": ["a", "b"]}})
    assert [part.title for part in page.back] == ["All rounds"]


def test_the_learners_repr_shows_macro_f1(learner: ActiveLearner) -> None:
    assert final(learner.history) is not None
    assert "macro-F1 0." in repr(learner)
    assert "exact match 0." in repr(learner.history[-1])
    assert "macro-F1" in learner._repr_html_()
    columns = [*learner.history.to_pandas().columns]
    assert "validation_macro_f1" in columns
    assert not {"validation_accuracy", "validation_f1"} & {*columns}
