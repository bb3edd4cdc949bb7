from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.core.rounds import Cost, LabelChanges, Round
from hybridal.schedules import make_schedule
from hybridal.schedules.auto import (
    CLASS_SMOOTHING,
    DRIFT_LIMIT,
    MIN_RETRAIN_GROWTH,
    Auto,
    accumulated_drift,
    fastest_growing_class,
)


def record(
    update: str, labels: int, drift: float | None = 0.0, label_changes: LabelChanges | None = None, steps: int = 9
) -> Round:
    steps = 0 if update == "refit" else steps
    cost = Cost(steps=steps, examples=steps * 16)
    return Round(
        1, update, "", labels, cost, 1, None, None, None, {"drift": drift}, (), (), label_changes=label_changes
    )


def played(events: list[tuple[LabelChanges, float]], initial: int = 50) -> list[Round]:
    """A history in which Auto decides each round: what came before it, and how far the model drifted in it."""
    history: list[Round] = []
    labels = 0
    for label_changes, drift in [(LabelChanges(added=initial), 0.0), *events]:
        # As a pool says it: what is corrected is new again, and what is withdrawn is gone.
        withdrawn = min(label_changes.withdrawn, labels)
        corrected = min(label_changes.corrected, labels - withdrawn)
        label_changes = replace(
            label_changes, known=labels - withdrawn - corrected, corrected=corrected, withdrawn=withdrawn
        )
        update = Auto().decide(history, label_changes)
        labels = label_changes.known + label_changes.added + corrected
        history.append(record(update.spec, labels, drift, label_changes))
    return history


def test_auto_is_made_by_its_name() -> None:
    assert make_schedule("auto") == Auto()
    assert make_schedule("auto").spec == "auto"


def test_auto_retrains_first_and_trains_again_when_labels_have_grown() -> None:
    quiet = [(LabelChanges(added=16), 0.5)] * 12  # 50 labels, then 66, 82, ...
    history = played(quiet)
    trained = {f.labels: f.update for f in history if f.update != "refit"}
    assert trained == {50: "retrain", 82: "finetune:3", 146: "finetune:3", 242: "finetune:3"}
    assert history[2].reason == ""  # made up here; what it says is below
    assert (
        Auto().decide(history[:2], history[2].label_changes).reason == "82 labels, 50 when the encoder was last trained"
    )


def test_a_model_that_was_only_a_probe_is_trained_from_the_beginning() -> None:
    probe = record("retrain", 20, steps=0)
    assert Auto().decide([probe], LabelChanges(known=20, added=16)).spec == "retrain"


def one_event(label_changes: LabelChanges, drift: float = 0.0) -> str:
    """The reason of the update after five quiet rounds and then this."""
    history = played([(LabelChanges(added=16), 0.0)] * 5)
    known = history[-1].labels
    if drift:
        history.append(record("refit", known + 16, drift, LabelChanges(known, 16)))
    update = Auto().decide(history, replace(label_changes, known=known, added=16))
    return update.reason if update.spec == "retrain" else ""


def test_every_decision_has_a_reason() -> None:
    assert one_event(LabelChanges()) == ""
    assert one_event(LabelChanges(new_class_count=1, unseen=1)) == "1 new class"
    assert one_event(LabelChanges(new_class_count=3, unseen=3)) == "3 new classes"
    assert one_event(LabelChanges(new_class_count=3, unseen=3, expected=0.2)) == "3 new classes"
    assert (
        one_event(LabelChanges(new_class_count=3, unseen=3, expected=1.0)) == ""
    )  # no more than there may be by chance
    assert (
        one_event(LabelChanges(new_class_count=1, unseen=9, expected=1.3)) == "1 new class"
    )  # nine labels, where one was to come
    assert one_event(LabelChanges(corrected=9, withdrawn=9)) == "18 labels corrected or withdrawn"
    assert one_event(LabelChanges(corrected=3)) == ""
    assert one_event(LabelChanges(), drift=9.0).startswith("drifted from the frozen encoder's answers")
    assert one_event(LabelChanges(), drift=2.0) == ""


def test_many_labels_at_once_are_learnt_by_retraining() -> None:
    history = played([(LabelChanges(added=16), 0.0)] * 2)
    update = Auto().decide(history, LabelChanges(known=history[-1].labels, added=200))
    assert (update.spec, update.reason) == ("retrain", "200 new labels, far more than the 82 before")


def test_the_last_round_goes_over_all_labels_once_more() -> None:
    history = played([(LabelChanges(added=16), 0.0)] * 5)
    known = history[-1].labels
    update = Auto().decide(history, LabelChanges(known, 16, last=True))
    assert (update.spec, update.reason) == ("finetune:3", "the last round")
    loud = [*history, record("refit", known + 16, 9.0, LabelChanges(known, 16))]
    assert Auto().decide(loud, LabelChanges(known + 16, 16)).spec == "retrain"
    assert Auto().decide(loud, LabelChanges(known + 16, 16, last=True)).spec == "finetune:3"
    assert Auto().decide(history, LabelChanges(known, 16, new_class_count=1, unseen=1, last=True)).spec == "retrain"
    assert Auto().decide([], LabelChanges(added=50, last=True)).spec == "retrain"


def test_corrections_of_all_labels_trigger_a_retraining() -> None:
    history = played([(LabelChanges(added=16), 0.0)] * 5)
    known = history[-1].labels
    update = Auto().decide(history, LabelChanges(corrected=known))
    assert (update.spec, update.reason) == ("retrain", f"{known} labels corrected or withdrawn")


def test_a_model_that_became_a_probe_again_is_trained_from_the_beginning() -> None:
    history = played([(LabelChanges(added=16), 0.0)] * 5)
    withdrawn = history[-1].labels - 10
    assert Auto().decide(history, LabelChanges(known=10, withdrawn=withdrawn)).spec == "retrain"
    history.append(record("retrain", 10, label_changes=LabelChanges(known=10, withdrawn=withdrawn), steps=0))
    assert Auto().decide(history, LabelChanges(known=10, added=8)).reason == "the encoder is untrained"


def test_a_head_that_cannot_be_refitted_alone_does_not_count_as_trained() -> None:
    history = [record("retrain", 100), replace(record("refit", 130), cost=Cost(steps=2)), record("refit", 150)]
    assert Auto().decide(history, LabelChanges(known=150, added=16)).spec == "finetune:3"


def test_a_last_round_does_not_repeat_a_training_that_was_just_made() -> None:
    history = [record("retrain", 100), record("finetune:3", 160)]
    assert Auto().decide(history, LabelChanges(known=160, last=True)).spec == "refit"
    assert Auto().decide(history, LabelChanges(known=160, added=1, last=True)).spec == "finetune:3"
    assert Auto().decide([*history, record("refit", 161)], LabelChanges(known=161, last=True)).spec == "finetune:3"
    # Nor if it is requested again without new labels.
    asked_before = replace(record("refit", 160), label_changes=LabelChanges(known=160, last=True))
    assert Auto().decide([*history, asked_before], LabelChanges(known=160, last=True)).spec == "refit"
    corrected = replace(record("refit", 160), label_changes=LabelChanges(known=159, corrected=1))
    assert Auto().decide([*history, corrected], LabelChanges(known=160, last=True)).spec == "finetune:3"


def test_a_history_without_a_retraining_is_gone_on_with() -> None:
    assert Auto().decide([record("finetune", 100)], LabelChanges(known=100, added=16)).spec == "refit"


def test_classes_with_few_labels_that_get_more_are_trained_on() -> None:
    history = [
        record(
            "retrain",
            104,
            label_changes=LabelChanges(known=92, added=12, new_class_count=1, counts=(50, 50, 4), unseen=4),
        )
    ]
    label_changes = LabelChanges(known=104, added=19, counts=(52, 52, 19))
    assert Auto().decide(history, label_changes).spec == "finetune:3"
    assert Auto().decide(history, label_changes).reason == "19 labels of one class, 4 when the encoder was last trained"
    assert Auto().decide(history, replace(label_changes, counts=(53, 52, 18))).spec == "refit"
    assert Auto().decide(history, replace(label_changes, counts=(60, 59, 4))).spec == "refit"


def test_a_late_class_is_trained_on_again_while_it_grows() -> None:
    history = [record("retrain", 304, label_changes=LabelChanges(added=304, counts=(150, 150, 4)))]
    for late in range(20, 181, 16):
        counts = (150, 150, late)
        label_changes = LabelChanges(known=sum(counts) - 16, added=16, counts=counts)
        update = Auto().decide(history, label_changes)
        history.append(record(update.spec, sum(counts), label_changes=label_changes))
    trained = [sum(f.label_changes.counts) - 300 for f in history if f.update == "finetune:3" and f.label_changes]
    assert trained == [20, 52, 100, 180]


COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8)


@given(COUNTS, st.randoms())
def test_the_fastest_growing_class_depends_neither_on_the_order_of_classes_nor_on_unseen(
    pairs: list[tuple[int, int]], rng: Any
) -> None:
    def growth(pairs: list[tuple[int, int]]) -> float:
        before, now = fastest_growing_class(*zip(*pairs, strict=True))
        return (now + CLASS_SMOOTHING) / (before + CLASS_SMOOTHING)

    shuffled = [*pairs, (0, 0), (0, 0)]
    rng.shuffle(shuffled)
    assert growth(shuffled) == pytest.approx(max(growth(pairs), 1.0))
    assert growth(pairs) == pytest.approx(max(growth([pair]) for pair in pairs))


def test_a_class_that_was_added_grows_from_no_labels() -> None:
    assert fastest_growing_class((9, 9), (9, 9, 3)) == (0, 3)
    assert fastest_growing_class((), (9, 9)) == (0, 0)  # nothing is known of what was before


def test_a_class_that_appears_too_early_is_not_forgotten() -> None:
    events = [(LabelChanges(added=8, new_class_count=1, unseen=1), 0.0), *[(LabelChanges(added=8), 0.0)] * 3]
    history = played(events, initial=100)
    assert [f.update for f in history].index("retrain", 1) == 4  # 132 labels are a quarter more than 100
    assert [f.update for f in history[1:4]] == ["refit"] * 3


EVENT = st.tuples(
    st.builds(
        LabelChanges,
        added=st.integers(0, 40),
        corrected=st.integers(0, 30),
        withdrawn=st.integers(0, 5),
        new_class_count=st.integers(0, 3),
        expected=st.floats(0, 2),
    ),
    st.floats(0, 50),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(EVENT, max_size=60), st.integers(1, 200))
def test_retrainings_are_bounded_whatever_happens(events: list[tuple[LabelChanges, float]], initial: int) -> None:
    history = played(events, initial)
    *before, _ = [f.labels for f in history if f.update == "retrain"]
    acts = sum(f.label_changes.changed for f in history if f.label_changes)
    assert MIN_RETRAIN_GROWTH * sum(before) <= acts


def test_one_large_or_several_raised_drifts_exceed_the_limit() -> None:
    assert accumulated_drift([None, 6.0]) > DRIFT_LIMIT
    assert accumulated_drift([2.5] * 4) > DRIFT_LIMIT
    assert accumulated_drift([0.9] * 100) == 0.0
    assert accumulated_drift([3.0, 0.0, 3.0, 0.0]) < DRIFT_LIMIT


def test_auto_decides_only_from_its_arguments() -> None:
    history: Any = tuple(played([(LabelChanges(added=16, new_class_count=1, unseen=1), 3.0)] * 9))
    assert Auto().decide(history).spec == Auto().decide(list(history)).spec
