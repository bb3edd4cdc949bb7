from hybridal.evidence.history import detectors_of
from hybridal.evidence.run_tables import round_table
from hybridal.evidence.table import Entry
from hybridal.schedules import make_schedule

from .made_up import bare, history_of

SCHEDULE = make_schedule("hybrid:accuracy")


def columns(spec: str = "hybrid:accuracy") -> dict[str, list[Entry]]:
    history = history_of(spec)
    table = round_table(history, detectors_of({SCHEDULE.spec: history}, {SCHEDULE.spec: SCHEDULE}))
    return {heading.title: [row[at] for row in table.rows()] for at, heading in enumerate(table.columns)}


def test_every_number_is_that_of_the_facts() -> None:
    history, found = history_of("hybrid:accuracy"), columns()
    fields = {"Macro-F1": "f1", "Accuracy": "accuracy", "NLL": "nll", "NLL scaled": "nll_scaled", "Brier": "brier"}
    for heading, name in fields.items():
        assert [cell.value for cell in found[heading]] == [getattr(fact.validation, name) for fact in history]
    assert [cell.value for cell in found["Test F1"]][:-1] == [None] * 9
    assert history[-1].test is not None
    assert found["Test F1"][-1].value == history[-1].test.f1
    assert [cell.value for cell in found["Steps"]] == [fact.cost.steps for fact in history]
    assert [cell.value for cell in found["Training"]] == [fact.training_time for fact in history]
    assert [cell.value for cell in found["Δ accuracy"]] == [fact.changes["accuracy"] for fact in history]
    assert [cell.text for cell in found["Epochs"]] == [f"{fact.cost.epochs} ({fact.kept_epoch})" for fact in history]


def test_stable_rounds_are_strictly_below_epsilon() -> None:
    found = columns()["Δ accuracy"]
    assert found[4].value == 0.005
    assert [cell.mark == "stable" for cell in found] == [
        cell.value is not None and cell.value < 0.005 for cell in found
    ]
    assert any(cell.mark for cell in found)


def test_what_was_not_measured_is_a_dash_and_needs_no_column_of_its_own() -> None:
    table = round_table(bare(history_of("retrain", 2)), {})
    titles = [heading.title for heading in table.columns]
    assert "Test F1" not in titles
    assert not [title for title in titles if title.startswith("Δ")]
    assert all(len(row) == len(titles) for row in table.rows())
    assert next(table.rows())[titles.index("Macro-F1")] == next(table.rows())[titles.index("Training")] == Entry("–")
