from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybridal.acquisition import ACQUISITIONS
from hybridal.acquisition.entropy import entropies
from hybridal.annotators.callback import Callback
from hybridal.annotators.oracle import Oracle
from hybridal.core.outputs import UNKNOWN
from hybridal.core.rules import protocol
from hybridal.errors import UserError
from hybridal.learners.estimator import EstimatorModel
from hybridal.learners.learner import Learner
from hybridal.loop.loop import Experiment
from hybridal.schedules import make_schedule
from hybridal.tasks import Split, Task

SIZE = 60


def table(labels: Any = UNKNOWN) -> tuple[Any, Any, Task]:
    """Points on a line with two classes; which labels the task knows is the caller's choice."""
    rng = np.random.default_rng(0)
    X, X_validation = rng.normal(size=(SIZE, 3)), rng.normal(size=(30, 3))
    ids = [f"row-{(row * 7) % SIZE}" for row in range(SIZE)]
    train = Split(ids, [""] * SIZE, np.broadcast_to(labels, SIZE).astype(np.int64))
    validation = Split([f"v-{row}" for row in range(30)], [""] * 30, (X_validation[:, 0] > 0).astype(np.int64))
    return X, X_validation, Task("table", ("down", "up"), train, validation, Split.empty())


def learner_of(
    schedule: str = "fixed:3", labels: Any = UNKNOWN, acquisition: str = "entropy", seed: int = 1, batch: int = 6
) -> Learner:
    from sklearn.linear_model import SGDClassifier

    X, X_validation, task = table(labels)
    model = EstimatorModel(SGDClassifier(loss="log_loss", random_state=0), X, X_validation, task)
    rules = protocol("paper", {"batch": batch, "candidates": None})
    chosen = make_schedule(schedule)
    experiment = Experiment(task, model, rules, seed, ACQUISITIONS.make(acquisition), chosen.watches, Oracle(task))
    return Learner(experiment, chosen)


def truth() -> dict[str, str]:
    X, _, task = table()
    return {id: "up" if x > 0 else "down" for id, x in zip(task.train.ids, X[:, 0], strict=True)}


TRUTH = truth()


def answers(ids: list[str]) -> dict[str, str]:
    return {id: TRUTH[id] for id in ids}


@pytest.fixture
def learner() -> Learner:
    return learner_of()


def taught(rounds: int = 1, **options: Any) -> Learner:
    learner = learner_of(**options)
    for _ in range(rounds):
        learner.teach(answers(learner.query().ids))
    return learner


# --- query ---------------------------------------------------------------------------------------------------------


def test_first_query_is_drawn_by_the_seed(learner: Learner) -> None:
    ids = learner.query(10).ids
    assert len(set(ids)) == 10
    assert set(ids) <= TRUTH.keys()
    assert ids == learner_of(seed=1).query(10).ids != learner_of(seed=2).query(10).ids
    assert ids != list(TRUTH)[:10]
    assert learner_of(batch=6).query().ids == ids[:6]


@pytest.mark.parametrize("rounds", [0, 1, 2])
@pytest.mark.parametrize("acquisition", ["entropy", "random"])
def test_repeated_query_returns_the_same_batch(rounds: int, acquisition: str) -> None:
    learner = taught(rounds, acquisition=acquisition)
    first = learner.query(5).ids
    assert len(first) == 5
    assert learner.query(5).ids == first
    assert learner.query(8).ids[:5] == first
    assert learner.query(5).ids == first


def test_a_batch_shows_what_it_was_chosen_from() -> None:
    assert taught(0).query(4).candidates is None
    learner = taught(1)
    batch = learner.query(4)
    assert batch.candidates is not None
    scores = dict(zip(batch.candidates.ids, entropies(batch.candidates.probabilities()).tolist(), strict=True))
    assert len(scores) == len(learner.experiment.task.train) - len(learner.labels)
    assert [scores[query.id] for query in batch] == [query.score for query in batch]
    assert batch[:2].candidates is batch.candidates


def test_history_records_the_queried_ids() -> None:
    learner = taught(2)
    ids = learner.query(4).ids
    assert list(learner.history[-1].acquired) == ids
    assert len(learner.history[-1].scores) == 4
    assert len(learner.history[0].acquired) == 6


def test_labelled_texts_are_not_queried_again() -> None:
    learner = taught(3)
    assert not set(learner.query(SIZE).ids) & learner.labels.keys()
    assert len(learner.query(SIZE).ids) == SIZE - 18


def test_query_may_exceed_the_protocols_candidates() -> None:
    learner = taught(1)
    learner.experiment = replace(learner.experiment, rules=replace(learner.experiment.rules, candidates=10))
    for asked, seen in ((4, 10), (30, 30), (1000, SIZE - 6)):
        batch = learner.query(asked)
        assert batch.candidates is not None
        assert (len(batch), len(batch.candidates.ids)) == (min(asked, seen), seen)


def test_query_is_empty_when_all_is_labelled() -> None:
    learner = learner_of()
    learner.teach(TRUTH)
    assert learner.query().ids == []
    round_record = learner.update()
    assert round_record.labels == SIZE


@pytest.mark.parametrize("n", [0, -3, 2.5, "3", True])
def test_query_size_must_be_a_positive_integer(learner: Learner, n: Any) -> None:
    with pytest.raises(UserError, match=rf"query\({n!r}\): ask for a whole number of texts, at least one"):
        learner.query(n)


def test_numpy_integers_are_accepted_as_query_size(learner: Learner) -> None:
    assert len(learner.query(np.int64(4))) == 4  # type: ignore[arg-type]


def test_when_all_is_labelled_the_advice_is_to_stop() -> None:
    learner = taught(2)
    assert not learner.advice().stop
    learner.leave_out(["row-7"])
    learner.teach(answers([id for id in TRUTH if id != "row-7"]))
    assert (learner.advice().stop, learner.advice().sentence) == (True, "All texts are labelled.")
    learner.leave_out([])
    assert "All texts" not in learner.advice().sentence


def test_query_returns_the_least_certain_texts() -> None:
    learner = taught(3)
    ids = learner.query(6).ids
    X, _, task = table()
    model = learner.experiment.model
    assert isinstance(model, EstimatorModel)
    doubt = {id: -abs(p[0] - 0.5) for id, p in zip(task.train.ids, model.probabilities(X), strict=True)}
    others = TRUTH.keys() - learner.labels.keys() - set(ids)
    assert min(doubt[id] for id in ids) >= max(doubt[id] for id in others)


# --- teach ---------------------------------------------------------------------------------------------------------


def test_teaching_learns_as_the_schedule_says() -> None:
    learner = learner_of("fixed:3")
    words = []
    for _ in range(4):
        round_record = learner.teach(answers(learner.query().ids)).trained
        assert round_record is not None
        assert round_record is learner.history[-1]
        words.append(round_record.update_sequence)
    assert words == ["R", "RR", "RRF", "RRFF"]
    assert [round_record.labels for round_record in learner.history] == [6, 12, 18, 24]
    assert [round_record.round for round_record in learner.history] == [1, 2, 3, 4]


def test_labels_are_in_the_order_of_arrival(learner: Learner) -> None:
    first = learner.query(3).ids
    learner.teach(answers(list(reversed(first))), update=False)  # those asked for: in the order of the question
    free = [id for id in TRUTH if id not in first][:2]
    learner.teach(answers(free), update=False)
    assert list(learner.labels.items()) == list(answers([*first, *free]).items())


def test_a_text_labelled_none_is_skipped(learner: Learner) -> None:
    first, second, *_ = learner.query().ids
    learner.teach({first: TRUTH[first], second: None}, update=False)
    assert [*learner.labels] == [first]


@pytest.mark.parametrize("unanswered", [None, float("nan")])
def test_an_annotator_that_knows_no_label_ends_the_run(learner: Learner, unanswered: Any) -> None:
    assert learner.run(Callback(lambda texts: dict.fromkeys(texts, unanswered)), rounds=2) == []


def test_annotator_is_not_called_when_no_text_is_left(learner: Learner) -> None:
    asked: list[int] = []

    def ask(texts: Any) -> Any:
        asked.append(len(texts))
        return answers([*texts])

    assert len(learner.run(Callback(ask), rounds=20)) == 10
    assert asked == [6] * 10


def test_an_annotator_gets_the_ids_that_the_task_was_made_of() -> None:
    learner = learner_of()
    numbers = [id.removeprefix("row-") for id in learner.experiment.task.train.ids]
    task = replace(learner.experiment.task, train=replace(learner.experiment.task.train, ids=numbers), id_type=int)
    learner = Learner(replace(learner.experiment, task=task), learner.schedule)
    learner.run(Callback(lambda texts: {id: TRUTH[f"row-{id}"] for id in texts}), rounds=1)
    assert {type(id) for id in learner.labels} == {int}


def test_ids_without_labels_are_refused(learner: Learner) -> None:
    with pytest.raises(UserError, match=r"there are ids and no labels; pass \{id: label\}"):
        learner.teach(learner.query().ids)


@pytest.mark.parametrize("answered", [None, ["up"] * 6])
def test_an_annotator_that_gives_no_labels_by_id_is_refused(learner: Learner, answered: Any) -> None:
    with pytest.raises(
        UserError, match=r"The annotator gave .* where labels by id are expected; let it give \{id: label"
    ):
        learner.run(Callback(lambda _texts: answered), rounds=1)
    with pytest.raises(UserError, match=r"has no method `label`; give an annotator, such as Callback\(function\)"):
        learner.run(lambda _texts: answered, rounds=1)  # type: ignore[arg-type]


def test_queries_are_accepted_in_place_of_ids(learner: Learner) -> None:
    batch = learner.query(4)
    learner.teach([batch[0], batch[2]], [TRUTH[batch[0].id], TRUTH[batch[2].id]], update=False)
    assert learner.labels == answers([batch.ids[0], batch.ids[2]])


@pytest.mark.parametrize("labels", ["up", {"up", "down"}, {"row-7": "up", "row-0": "up"}, 7])
def test_labels_without_an_order_are_refused(learner: Learner, labels: Any) -> None:
    with pytest.raises(UserError, match=r"teach: .* is not a list of labels; give one per text, in the order of"):
        learner.teach(["row-7", "row-0"], labels)
    assert learner.labels == {}


@pytest.mark.parametrize("kind", [iter, tuple, np.array, pd.Series, pd.Categorical])
def test_labels_may_be_any_sequence(learner: Learner, kind: Any) -> None:
    learner.teach(kind(["row-7", "row-0"]), kind([TRUTH["row-7"], TRUTH["row-0"]]), update=False)
    assert learner.labels == answers(["row-7", "row-0"])


def test_teach_reports_new_labels_and_the_update(learner: Learner) -> None:
    first, *others = learner.query().ids
    result = learner.teach({first: None, **answers(others)})
    assert (result.learnt, result.measured, result.skipped) == (5, 0, 1)
    assert (result.round, result.update, result.labels) == (1, "retrain", 5)
    assert result.trained is learner.history[-1]
    assert result.validation == learner.history[-1].validation
    assert repr(result).startswith(
        "TeachResult(5 labels to learn from, 1 text skipped; Round(1, retrain, 5 labels, val"
    )


@pytest.mark.parametrize("nothing", [{}, {"row-0": None, "row-7": None}])
def test_teach_without_labels_keeps_the_model_and_says_so(nothing: dict[str, None]) -> None:
    learner = taught(1)
    result = learner.teach(nothing)
    assert (result.trained, result.update, result.reason) == (None, "", "no labels were given")
    assert (result.skipped, result.labels, result.round) == (len(nothing), 6, 1)
    assert len(learner.history) == 1
    assert repr(result).endswith("; the model is unchanged: no labels were given)")


def test_teach_without_labels_learns_pending_ones(learner: Learner) -> None:
    learner.teach(answers(learner.query().ids), update=False)
    result = learner.teach({})
    assert (result.learnt, result.labels, result.update) == (0, 6, "retrain")


@pytest.mark.parametrize("several", [["up", "down"], ("up",), {"up"}, {"up": 1}])
def test_several_labels_of_a_text_are_refused_by_name(learner: Learner, several: Any) -> None:
    with pytest.raises(UserError, match=r"^teach: the label of id 'row-0' is .*; each text has exactly one label here"):
        learner.teach({"row-0": several})


def test_short_batch_gives_the_reason() -> None:
    learner = taught(1)
    assert learner.query(4).note == ""
    batch = learner.query(1000)
    assert batch.note == "1000 were requested, and no other texts are without a label"
    assert repr(batch).endswith(f", …; {batch.note})")
    learner.teach(TRUTH)
    assert learner.query().note == "6 were requested, and all texts are labelled"


def test_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="hybridal"):
        taught(1)
    assert [record.name for record in caplog.records] == ["hybridal"] * 2
    started, done = (record.getMessage() for record in caplog.records)
    assert started == "round 1: retrain"
    assert done.startswith("Round(1, retrain, 6 labels, validation accuracy ")


def test_without_an_update_nothing_is_learnt_yet(learner: Learner) -> None:
    result = learner.teach(answers(learner.query().ids), update=False)
    assert (result.learnt, result.trained, result.reason) == (6, None, "update=False")
    assert learner.history == []
    assert learner.update().labels == 6


def test_labels_of_unqueried_texts_are_accepted(learner: Learner) -> None:
    asked = learner.query(4).ids
    other = next(id for id in TRUTH if id not in asked)
    learner.teach(answers([*asked[:2], other]), update=False)
    assert set(learner.labels) == {*asked[:2], other}
    assert set(asked[2:]) <= set(learner.query(SIZE).ids)  # the unanswered can be asked for again


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT])
def test_missing_labels_are_skipped(learner: Learner, nothing: Any) -> None:
    first, second = learner.query(2).ids
    learner.teach([first, second], [nothing, TRUTH[second]], update=False)
    assert learner.labels == answers([second])


def test_two_labels_of_one_text_are_refused_and_neither_is_taken(learner: Learner) -> None:
    with pytest.raises(UserError, match="teach: id 'row-7' has two labels, 'up' and 'down'; give it one"):
        learner.teach(["row-7", "row-0", "row-7"], ["up", "up", "down"])
    assert learner.labels == {}
    learner.teach(["row-7", "row-7", "row-7"], ["up", None, "up"], update=False)
    assert learner.labels == {"row-7": "up"}


def test_wrong_type_of_ids_is_named(learner: Learner) -> None:
    with pytest.raises(UserError, match="withdraw: 7 is not a list of ids; give one"):
        learner.withdraw(7)  # type: ignore[arg-type]


def test_single_id_instead_of_a_list_is_refused() -> None:
    learner, message = learner_of(), "'row-7' is one id; give a list of them"
    with pytest.raises(UserError, match=f"teach: {message}"):
        learner.teach("row-7", ["up"] * 5)
    with pytest.raises(UserError, match=f"withdraw: {message}"):
        learner.withdraw("row-7")
    with pytest.raises(UserError, match=f"leave_out: {message}"):
        learner.leave_out("row-7")


def test_a_label_may_be_corrected() -> None:
    learner = taught(2)
    id, name = next(iter(learner.labels.items()))
    other = "up" if name == "down" else "down"
    result = learner.teach({id: other})
    assert learner.labels[id] == other
    assert list(learner.labels)[-1] == id  # it counts as new
    assert (result.learnt, result.labels) == (1, 12)


def test_a_correction_is_new_to_a_model_that_learns_only_the_new() -> None:
    learner = taught(2, schedule="newonly")
    corrected, label = next(iter(learner.labels.items()))
    round_record = learner.teach({corrected: "down" if label == "up" else "up"}).trained
    assert round_record is not None
    assert round_record.cost.examples == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"row-x": "up"},
            "'row-x' is not the id of a text of task 'table' .*; give ids as `query` does, such as 'row-0'",
        ),
        ({"row-7": "sideways"}, "'sideways' is not a class of task 'table'; its classes are down, up"),
    ],
)
def test_batch_with_an_unknown_id_changes_nothing(wrong: dict[str, str], message: str) -> None:
    learner = taught(1)
    asked = learner.query(4).ids
    labels, history = learner.labels, list(learner.history)
    with pytest.raises(UserError, match=message):
        learner.teach({**answers(asked), **wrong})
    assert learner.labels == labels
    assert learner.history == history
    assert learner.query(4).ids == asked
    round_record = learner.teach(answers(asked)).trained
    assert round_record is not None
    assert round_record.labels == 10


def test_without_labels_there_is_nothing_to_learn(learner: Learner) -> None:
    with pytest.raises(UserError, match="no labels to learn from yet; teach some first"):
        learner.update()
    assert learner.history == []


# --- withdraw ------------------------------------------------------------------------------------------------------


def test_a_withdrawn_label_is_not_learnt_from_and_may_be_asked_for_again() -> None:
    learner = taught(2)
    id = next(iter(learner.labels))
    learner.withdraw([id])
    assert id not in learner.labels
    assert id in learner.query(SIZE).ids
    round_record = learner.update()
    assert round_record.labels == 11
    assert round_record.cost.examples == 11


def test_withdrawing_an_unlabelled_text_changes_nothing() -> None:
    learner = taught(1)
    labels = learner.labels
    learner.withdraw(learner.query(2).ids)
    learner.withdraw([])
    assert learner.labels == labels


def test_withdrawing_an_unknown_text_changes_nothing() -> None:
    learner = taught(1)
    labels = learner.labels
    with pytest.raises(UserError, match="'row-x' is not the id"):
        learner.withdraw([next(iter(labels)), "row-x"])
    assert learner.labels == labels


def test_with_everything_withdrawn_there_is_nothing_to_learn_from() -> None:
    learner = taught(1)
    learner.withdraw(list(learner.labels))
    assert learner.labels == {}
    with pytest.raises(UserError, match="no labels to learn from"):
        learner.update()


# --- where it starts -----------------------------------------------------------------------------------------------


def test_labels_that_came_with_some_texts_are_known_from_the_start() -> None:
    _, _, task = table()
    classes = np.array([task.class_index(TRUTH[id]) for id in task.train.ids])
    partly = np.where(np.arange(SIZE) % 3 == 0, classes, UNKNOWN)
    learner = learner_of(labels=partly)
    assert learner.labels == answers([task.train.ids[row] for row in range(0, SIZE, 3)])
    assert not set(learner.query(SIZE).ids) & learner.labels.keys()
    assert learner.update().labels == SIZE // 3


def test_a_task_with_all_its_labels_is_a_simulation_that_starts_from_none() -> None:
    _, _, task = table()
    learner = learner_of(labels=np.array([task.class_index(TRUTH[id]) for id in task.train.ids]))
    assert learner.labels == {}
    assert len(learner.query(5).ids) == 5


def test_two_learners_taught_alike_are_alike() -> None:
    one, other = taught(3), taught(3)
    assert [replace(round_record, seconds={}) for round_record in one.history] == [
        replace(round_record, seconds={}) for round_record in other.history
    ]
    assert one.query().ids == other.query().ids
