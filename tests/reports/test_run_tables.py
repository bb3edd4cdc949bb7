from dataclasses import replace

from hybridal.core.rounds import Metrics
from hybridal.reports.history_summary import detectors_of
from hybridal.reports.report_table import Entry
from hybridal.reports.run_report import comparison_table, round_table
from hybridal.schedules import make_schedule

from .made_up_rounds import SPECS, histories_of, history_of, without_measures

SCHEDULE = make_schedule("hybrid:accuracy")


def columns(spec: str = "hybrid:accuracy") -> dict[str, list[Entry]]:
    history = history_of(spec)
    table = round_table(history, detectors_of({SCHEDULE.spec: history}, {SCHEDULE.spec: SCHEDULE}))
    return {heading.title: [row[at] for row in table.rows()] for at, heading in enumerate(table.columns)}


def test_round_table_has_the_recorded_numbers() -> None:
    history, found = history_of("hybrid:accuracy"), columns()
    fields = {"Macro-F1": "f1", "Accuracy": "accuracy", "NLL": "nll", "NLL scaled": "nll_scaled", "Brier": "brier"}
    for heading, name in fields.items():
        assert [cell.value for cell in found[heading]] == [getattr(record.validation, name) for record in history]
    assert [cell.value for cell in found["Test F1"]][:-1] == [None] * 9
    assert history[-1].test is not None
    assert found["Test F1"][-1].value == history[-1].test.f1
    assert [cell.value for cell in found["Steps"]] == [record.cost.steps for record in history]
    assert [cell.value for cell in found["Training"]] == [record.training_time for record in history]
    assert [cell.value for cell in found["Δ accuracy"]] == [record.changes["accuracy"] for record in history]
    assert [cell.text for cell in found["Epochs"]] == [
        f"{record.cost.epochs} ({record.kept_epoch})" for record in history
    ]


def test_a_measure_that_cannot_be_estimated_is_a_dash() -> None:
    few = Metrics(8, 8, 1.0, 0.5, 0.1, 0.2, 0.3, 0.1, 0.2, support=(8, 0))
    history = [replace(record, validation=few, test=None) for record in history_of("retrain", 2)]
    table = round_table(history, {})
    found = {heading.title: row for heading, row in zip(table.columns, next(table.rows()), strict=True)}
    assert [found[name].text for name in ("Accuracy", "Macro-F1", "NLL", "ECE", "ECE scaled")] == [
        *("1.000", "–", "0.100", "–", "–")
    ]
    assert found["Accuracy"].hint == "95% interval: 0.676 to 1.000"


def test_stable_rounds_are_strictly_below_epsilon() -> None:
    found = columns()["Δ accuracy"]
    assert found[4].value == 0.005
    assert [cell.mark == "stable" for cell in found] == [
        cell.value is not None and cell.value < 0.005 for cell in found
    ]
    assert any(cell.mark for cell in found)


def test_unmeasured_values_are_dashes_without_empty_columns() -> None:
    table = round_table(without_measures(history_of("retrain", 2)), {})
    titles = [heading.title for heading in table.columns]
    assert "Test F1" not in titles
    assert not [title for title in titles if title.startswith("Δ")]
    assert all(len(row) == len(titles) for row in table.rows())
    assert next(table.rows())[titles.index("Macro-F1")] == next(table.rows())[titles.index("Training")] == Entry("–")


SCHEDULES = {make_schedule(spec).spec: make_schedule(spec) for spec in SPECS}


def compared(histories: dict[str, tuple[object, ...]] | None = None) -> dict[str, list[Entry]]:
    table = comparison_table(histories or histories_of(*SPECS), SCHEDULES)  # type: ignore[arg-type]
    return {heading.title: [row[at] for row in table.rows()] for at, heading in enumerate(table.columns)}


def test_comparison_table_has_last_values_and_sums() -> None:
    histories, found = histories_of(*SPECS), compared()
    last = [history[-1] for history in histories.values()]
    fields = {"Macro-F1": "f1", "Accuracy": "accuracy", "NLL": "nll", "NLL scaled": "nll_scaled", "ECE": "ece"}
    for heading, name in {**fields, "ECE scaled": "ece_scaled"}.items():
        assert [cell.value for cell in found[heading]] == [getattr(record.test, name) for record in last]
    for heading, name in {"Steps": "steps", "Tokens": "tokens"}.items():
        sums = [sum(getattr(record.cost, name) for record in history) for history in histories.values()]
        assert [cell.value for cell in found[heading]] == sums
    times = [sum(record.training_time for record in history) for history in histories.values()]
    assert [cell.value for cell in found["Training time"]] == times
    assert [cell.value for cell in found["t*"]] == [None, None, None, 7, 6]
    assert [cell.hint for cell in found["Updates"]] == [record.update_sequence for record in last]


def test_only_the_best_is_marked() -> None:
    found = compared()
    for heading, better in {"Macro-F1": max, "Accuracy": max, "NLL": min, "ECE scaled": min, "Steps": min}.items():
        values = [cell.value for cell in found[heading]]
        best = better(value for value in values if value is not None)
        marked = [cell.text for cell in found[heading] if cell.mark == "best"]
        assert marked
        assert set(marked) == {cell.text for cell in found[heading] if cell.value == best}
    assert not any(cell.mark for heading in ("Schedule", "t*", "Updates") for cell in found[heading])


def test_ties_share_the_star_unless_all_are_equal() -> None:
    histories = histories_of("retrain", "fixed:4")
    twin = {**histories, "fixed:99": histories["retrain"]}
    marks = [cell.mark for cell in compared({**twin})["NLL"]]
    assert marks == ["best", "", "best"]
    same = {"retrain": histories["retrain"], "fixed:99": histories["retrain"]}
    assert not any(cell.mark for column in compared({**same}).values() for cell in column)


def test_a_schedule_that_is_not_as_far_gets_no_star() -> None:
    histories = histories_of("retrain", "finetune", "fixed:4")
    histories["finetune"] = histories["finetune"][:2]
    steps = compared({**histories})["Steps"]
    assert [cell.mark for cell in steps] == ["", "", "best"]


def test_a_schedule_without_rounds_is_a_row_of_dashes() -> None:
    found = compared({"retrain": (), "finetune": ()})
    assert [cell.text for cell in found["NLL"]] == ["–", "–"]
    assert [cell.text for cell in found["Updates"]] == ["–", "–"]
