"""Active learning step by step: query, teach, update."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from html import escape
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hybridal.annotators import Annotator, ModelAnnotator
from hybridal.annotators.team import OVERLAP, Team, team_of
from hybridal.core.observer import LoggingObserver, Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool
from hybridal.core.provenance import origin_name
from hybridal.core.rounds import Chosen, LabelChanges, Round
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.learners.batch import Batch, Query
from hybridal.learners.estimated_texts import EstimatedTexts
from hybridal.learners.round_history import History, curve, measured
from hybridal.learners.shares import Shares
from hybridal.learners.teach_result import TeachResult
from hybridal.loop.loop import Experiment, State
from hybridal.measures.advice import Advice, advise
from hybridal.measures.certainty import score_in_words
from hybridal.measures.model_errors import ModelErrors, model_errors
from hybridal.measures.shares.groups import NUMBER, PERIODS, By
from hybridal.measures.shares.share_table import CONFIDENCE as SHARE_CONFIDENCE
from hybridal.measures.shares.share_table import Progress, no_progress
from hybridal.models.model_protocol import TimedCandidates
from hybridal.randomness import stream
from hybridal.registry import hint_or_list
from hybridal.reports.number_formats import counted
from hybridal.schedules import Schedule, decide
from hybridal.tasks.answers import Answer, Decisions
from hybridal.tasks.label_values import is_missing, label_text
from hybridal.tasks.single import ONE_LABEL, is_several
from hybridal.tasks.task import Task
from hybridal.updates import Update

if TYPE_CHECKING:
    from pandas import Series

KnownAnswer = Callable[[str], Answer | None]
"""Returns the present label of a text, by its id."""


class Learner:
    """Query, teach, update: the rounds of one experiment, one at a time."""

    def __init__(self, experiment: Experiment, schedule: Schedule, observer: Observer | None = None) -> None:
        self.experiment, self.schedule, self.observer = experiment, schedule, observer or LoggingObserver()
        self._learnt: list[Round] = []
        self._acquired: dict[int, Chosen] = {}
        self._state = State(0, "", _known_labels(experiment.task))
        self._rows = {id: row for row, id in enumerate(experiment.task.train.ids)}

    @property
    def history(self) -> History:
        """Records of all rounds so far, with what was queried after each.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.history.to_pandas()[["update", "labels"]].values.tolist()
            [['retrain', 120]]
        """
        chosen = self._acquired
        return History(
            record.completed(chosen[record.round]) if record.round in chosen else record for record in self._learnt
        )

    @property
    def state(self) -> State:
        """Pool, weights and snapshots after the last round."""
        return self._state

    def continue_from(self, state: State, history: Iterable[Round]) -> None:
        """Replace state and rounds, for example by those of a saved learner.

        Args:
            state: The state after the last of the rounds.
            history: The records of the rounds.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> other = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = other.teach(task.answers(task.train.ids))
            >>> learner.continue_from(other.state, other.history)
            >>> len(learner.history), learner.labels == other.labels
            (1, True)
        """
        self._state, self._learnt, self._acquired = state, [*history], {}
        self.experiment.load(state)

    @property
    def pool(self) -> Pool:
        """Which texts have a label, and in which order they were labelled."""
        return self._state.pool

    @property
    def labels(self) -> dict[Any, Any]:
        """Labels to learn from, by id and in order; excluding validation labels.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach({"train-7": "sport", "train-3": "food"}, update=False)
            >>> learner.labels
            {'train-7': 'sport', 'train-3': 'food'}
        """
        pool, task = self._state.pool, self.experiment.task
        return {task.id(task.train.ids[row]): task.label(pool.labels[row]) for row in pool.order}

    @property
    def drawn(self) -> dict[Any, str]:
        """How the text of each label was drawn, by id: `random`, `chosen`, or `brought` if `query` did not give it.

        Only random ones are a sample of all texts. Labels of the task's own validation texts are not among them.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> learner = ActiveLearner(toy_task(), "tiny", protocol="quick", initial_draw="spread", device="cpu")
            >>> result = learner.teach(learner.query(2), ["food", "sport"], update=False)
            >>> result = learner.teach({"train-7": "sport"}, update=False)
            >>> sorted(learner.drawn.values())
            ['brought', 'chosen', 'chosen']
        """
        pool, task = self._state.pool, self.experiment.task
        rows = np.flatnonzero(pool.labels >= 0).tolist()
        return {task.id(task.train.ids[row]): origin_name(pool.origins[row]) for row in rows}

    @property
    def model_errors(self) -> ModelErrors:
        """How a model that labels agrees with people, on texts that both labelled: in all, and in each class.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach({"train-0": "food", "train-1": "sport"}, update=False)
            >>> result = learner.teach({"train-0": "food", "train-1": "food"}, update=False, by="model")
            >>> learner.model_errors.texts, learner.model_errors.alike
            (2, 1)
        """
        return model_errors(*self._state.pool.compared(), self.experiment.task.objective)

    def query(self, n: int | None = None) -> Batch:
        """Choose the texts to label next.

        Before the first update there is no model, and the protocol's `initial_draw` decides. Repeated calls without
        `teach` in between return the same texts.

        Args:
            n: Number of texts; None takes the protocol's `batch`.

        Returns:
            The texts, best first. If there are fewer than `n`, its `note` says why.

        Raises:
            UserError: If `n` is not a positive whole number.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> batch = learner.query(3)
            >>> len(batch), batch == learner.query(3), learner.query(1000).note
            (3, True, '1000 were requested, and no other texts are without a label')
        """
        task, texts, asked = self.experiment.task, self._texts, self._count(n)
        ids, candidates = self._choose(asked)
        chosen = self._acquired.get(self._state.round, Chosen(0))
        scores = dict(zip(chosen.acquired, chosen.scores, strict=True))
        believed = self._probabilities(ids, candidates)
        return Batch(
            tuple(
                Query(task.id(id), texts[id], scores.get(id), *self._predicted(row))
                for id, row in zip(ids, believed, strict=True)
            ),
            candidates,
            self._why_fewer(ids, asked),
        )

    def _predicted(self, row: Sequence[float] | None) -> tuple[dict[Any, float] | None, frozenset[Any] | None]:
        """Return the probabilities by class, and with several labels per text the classes above their thresholds."""
        if row is None:
            return None, None
        names, thresholds = self.experiment.task.class_labels, self._state.thresholds
        given = [name for name, p, at in zip(names, row, thresholds, strict=False) if p >= at]
        return dict(zip(names, row, strict=True)), frozenset(given) if thresholds else None

    def _why_fewer(self, ids: Sequence[str], asked: int) -> str:
        """Return why there are fewer texts than requested, or ""."""
        if len(ids) >= asked:
            return ""
        if len(self._state.pool.candidates()):
            return f"{asked} were requested, and the acquisition chose no more"
        left = "all texts are labelled" if not ids else "no other texts are without a label"
        return f"{asked} were requested, and {left}"

    def _choose(self, n: int) -> tuple[list[str], TimedCandidates | None]:
        """Return the ids to label next, and the candidates of the acquisition if there is a model."""
        waiting = replace(self._state, pool=self._state.pool.choose(np.empty(0, dtype=np.int64)))
        if not self._learnt:
            pool = self.experiment.choose_first(waiting.pool, n)
            self._state = replace(waiting, pool=pool)
            return [self.experiment.task.train.ids[row] for row in pool.pending], None
        self._state, chosen, candidates = self.experiment.acquire(waiting, n)
        self._acquired[chosen.round] = chosen
        return [*chosen.ids], candidates

    def query_random(self, n: int) -> Batch:
        """Draw texts at random for people to label. They count for `estimate`, and the model never learns them.

        Args:
            n: Number of texts.

        Returns:
            The texts, for `teach`; fewer if no more are without a label.

        Raises:
            UserError: If `n` is not a positive whole number.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> batch = learner.query_random(12)
            >>> result = learner.teach(batch, task.answers(batch.ids).values())
            >>> result.labels, set(learner.drawn.values())
            (0, {'random'})
        """
        return self._random_batch(self._count(n))

    def estimate(
        self,
        by: Mapping[Any, Any] | Series[Any] | None = None,
        per: str = "",
        classes: Sequence[Any] | None = None,
        confidence: float = SHARE_CONFIDENCE,
    ) -> Shares:
        """Estimate the share of each class, of groups too, with intervals that hold whatever the model's errors are.

        They rest on random labels that the model has not learnt: those for validation, and of `query_random`. Labels
        that it has learnt are compared with models fitted without them: probes, or clones of an estimator.

        Args:
            by: A value for each text by its id, such as a Series of pandas; texts without one are in no group.
            per: How it divides the texts: "" by its values, "year", "quarter", "month", "week" or "day" if it is a
                date, "number" for the trend along a number.
            classes: The classes to estimate; by default all.
            confidence: The probability with which each interval contains the truth.

        Returns:
            Shares, differences and trends, with tables, figure and methods paragraph.

        Raises:
            UserError: If there are too few random labels or no model yet, or a class or the values cannot be used.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task(train=300)
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids[:60]))
            >>> shares = learner.estimate(by={id: number % 3 for number, id in enumerate(task.train.ids)})
            >>> shares.table.groups, shares.table.basis.texts
            (('0', '1', '2'), 340)
            >>> shares.sentences[0]  # half of the texts are about sport
            'sport: 50.0% of the texts, 35.9% to 64.0% with 95% confidence; the model alone counts 0.0%.'
        """
        name = str(getattr(by, "name", None) or "group")
        asked = None if classes is None else [*map(label_text, classes)]
        values = None if by is None else {label_text(id): value for id, value in by.items()}
        column = None if by is None else By(name, per)
        if per not in ("", NUMBER, *PERIODS):
            raise UserError(f"`per` is {per!r:.40}; it must be {', '.join(PERIODS)}, {NUMBER} or empty.")
        texts = self.estimated_texts(lambda done, of: self.observer.texts_done("predicted", done, of))
        return Shares(texts.shares(values, column, asked, confidence))

    def estimated_texts(self, progress: Progress = no_progress) -> EstimatedTexts:
        """Predict all texts once, for several estimates.

        Args:
            progress: Receives how many texts are predicted, and of how many.

        Returns:
            The texts with predictions and labels.

        Raises:
            UserError: If there is no model yet.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.estimated_texts().basis.labels
            40
        """
        raise NotImplementedError

    def teach(
        self,
        texts: Mapping[Any, Any] | Batch | Iterable[Any],
        labels: Iterable[Any] | None = None,
        update: bool = True,
        by: Literal["people", "model"] = "people",
    ) -> TeachResult:
        """Add or correct labels, then update the model.

        Args:
            texts: `{id: label}`, or a batch (or ids) with `labels`. If any id or class is unknown, no label is taken.
            labels: One label per text, in the same order; None skips a text. If a text may have several classes, a dict
                such as `{"delivery": True, "price": False}` decides some of them and leaves the others as they were.
            update: Train a round on the labels. Use False to add labels one by one.
            by: Who gave the labels. Those of a model are not measured on, give way to those of people, and count less
                where people label the same texts differently.

        Returns:
            How many labels were taken, and the record of the round. If there was nothing to learn from (no labels, or
            only labels of validation texts), the model is unchanged and the result says why.

        Raises:
            UserError: If an id or a class is unknown, or ids and labels do not match.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach({"train-0": "sport", "train-1": "food"})
            >>> result.labels, result.update
            (2, 'retrain')
            >>> learner.teach(["train-2", "train-3"], ["food", None], update=False)
            TeachResult(1 label to learn from, 1 text skipped; the model is unchanged: update=False)
        """
        given, skipped = _given(texts, labels, self.experiment.task, self._known)
        return self._teach(given, update, skipped, by)

    def _teach(
        self, labels: Mapping[str, Answer], update: bool, skipped: int = 0, by: Literal["people", "model"] = "people"
    ) -> TeachResult:
        learnt, measured = self._split_validation(labels)
        rows = {self._row(id): self.experiment.task.label_number(answer) for id, answer in learnt.items()}
        if by == "model":
            measured, pool = {}, self._state.pool.reveal_by_model(rows, waiting=not update)
            rows = {row: label for row, label in rows.items() if row in pool.by_model}
            self._state = replace(self._state, pool=pool)
        else:
            self._store_validation(measured)  # first: an unknown class is noticed before a label is taken
            if rows:
                self._state = replace(self._state, pool=self._state.pool.reveal(rows, waiting=not update))
        held = int(np.isin([*rows], self._state.pool.held).sum())
        known = len(self._state.pool)
        result = TeachResult(len(rows) - held, len(measured) + held, skipped, known, len(self._learnt))
        if unchanged := self._nothing_to_learn(len(labels), len(rows), update):
            return replace(result, reason=unchanged)
        record = self.update()
        return replace(result, round=record.round, trained=record, reason=record.reason)

    def _known(self, id: str) -> Answer | None:
        """Return the label of a text; None if there is none."""
        number = self._state.pool.labels[self._row(id)]
        return self.experiment.task.answer(number) if number >= 0 else None

    def _nothing_to_learn(self, given: int, learnt: int, update: bool) -> str:
        """Return why the model is not updated now, or ""."""
        pool = self._state.pool
        if not update:
            return "update=False"
        if not given and not pool.label_changes().changed:
            return "no labels were given"
        if not len(pool):
            return "there are no labels to learn from yet"
        return "" if learnt or pool.label_changes().changed else "all labels are of validation texts"

    def _split_validation(self, labels: Mapping[str, Answer]) -> tuple[Mapping[str, Answer], Mapping[str, Answer]]:
        """Split labels into those to learn from and those of validation texts."""
        return labels, {}

    def _store_validation(self, labels: Mapping[str, Answer]) -> None:
        """Store labels of validation texts."""

    def run(
        self, annotator: Annotator, rounds: int, model: Annotator | None = None, overlap: float = OVERLAP
    ) -> list[Round]:
        """Query, let the annotator label, and teach, for several rounds.

        With a `model`, it labels the texts, and the annotator those for validation, a random share of the others, and
        what the model leaves. The share shows how good the model is, so that its labels count accordingly.

        Args:
            annotator: Gives the labels, for example a `Callback`; an `LlmAnnotator` may work alone.
            rounds: Number of rounds; fewer if the annotator gives no labels or no text is left.
            model: A program that labels, such as an `LlmAnnotator` or a `Callback`.
            overlap: The share of the model's texts that the annotator labels too.

        Returns:
            The records of the new rounds.

        Raises:
            UserError: If the annotator has no method `label`, or returns no mapping.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> from hybridal import Callback
            >>> annotator = Callback(lambda texts: task.answers(texts))  # in place of a person or a program
            >>> [record.labels for record in learner.run(annotator, rounds=2)]
            [16, 32]
            >>> model = Callback(lambda texts: dict.fromkeys(texts, "sport"))
            >>> learner.run(annotator, rounds=1, model=model, overlap=0.5)[0].by_model
            8
        """
        team = team_of(annotator, model, overlap)
        if isinstance(team, Team) and isinstance(team.model, ModelAnnotator):
            team.model.begin(self.experiment.task, notify=self.observer.message)
        done: list[Round] = []
        while len(done) < rounds:
            ids, _ = self._choose(self._count(None))
            if not ids:
                break
            taught = self._ask_team(team, ids) if isinstance(team, Team) else self._ask(team, ids)
            if taught is None:
                break
            done += [taught.trained] if taught.trained else []
        return done

    def _ask(self, annotator: Annotator, ids: Sequence[str]) -> TeachResult | None:
        """Teach what an annotator answers; None if it gives no label."""
        task = self.experiment.task
        labels = _answers(annotator, {task.id(id): self._texts[id] for id in ids}, task, self._known)
        return self._teach(labels, update=True) if labels else None

    def _ask_team(self, team: Team, ids: Sequence[str]) -> TeachResult | None:
        """Teach what people and a model answer; None if they give no label."""
        task, pool = self.experiment.task, self._state.pool
        if isinstance(team.model, ModelAnnotator):
            team.model.show(self.experiment.examples(pool))
        exam = [task.train.ids[row] for row in self.experiment.exam(pool)]
        held = {task.train.ids[row] for row in pool.held}
        texts, asked = ({task.id(id): self._texts[id] for id in some} for some in (ids, exam))
        for_people = {task.id(id) for id in ids if id in held or id not in self._rows}
        answers = team.ask(texts, for_people, asked)
        people, model = (
            _given(given, None, task, self._known)[0] for given in (_mapping(answers.people), _mapping(answers.model))
        )
        self._state = replace(self._state, pool=pool.without_random())
        self._teach(people, update=False)
        return self._teach(model, update=True, by="model") if people or model else None

    def _last_round(self) -> Round:
        """Return the record of the last round, or raise UserError if there is none."""
        if not self.history:
            raise UserError("The model has not learnt anything yet; teach it first.")
        return self.history[-1]

    @property
    def next_update(self) -> Update:
        """The update that the schedule would choose now."""
        return decide(self.schedule, self.history, self.label_changes)

    @property
    def label_changes(self) -> LabelChanges:
        """Labels added, corrected and withdrawn since the last update."""
        return self._state.pool.label_changes()

    def advice(self) -> Advice:
        """Estimate what more labels would improve.

        Returns:
            The expected gain, and whether to stop.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> learner.advice().sentence
            'There is neither validation nor a second model to compare with yet. Keep labelling.'
        """
        return advise(self.history, len(self.experiment.task.classes), self._left)

    @property
    def _left(self) -> int:
        """Number of training texts without a label."""
        return int((self._state.pool.labels == UNKNOWN).sum())

    def _random_batch(self, n: int) -> Batch:
        """Make random candidates pending and held; earlier pending texts are candidates again."""
        task, pool = self.experiment.task, self._state.pool.reveal({})
        free = np.union1d(pool.candidates(), pool.by_model)
        drawn = stream(self.experiment.seed, "random query", len(pool.measured())).permutation(free)[:n]
        self._state = replace(self._state, pool=pool.choose(drawn[:0], held=drawn))
        queries = [Query(task.id(task.train.ids[row]), task.train.texts[row], None, None, None) for row in drawn]
        note = "" if len(drawn) == n else f"{n} were requested, and no other texts are without a label"
        return Batch(tuple(queries), None, note)

    def withdraw(self, ids: Iterable[Any], by: Literal["people", "model"] = "people") -> None:
        """Remove labels; the next update trains without them.

        Args:
            ids: Ids of labelled texts.
            by: With "model", what a model answered is forgotten, and people's labels stay.

        Raises:
            UserError: If an id is unknown.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach({"train-0": "sport", "train-1": "food"}, update=False)
            >>> learner.withdraw(["train-0"])
            >>> learner.labels
            {'train-1': 'food'}
        """
        rows = np.array([self._row(id) for id in listed(ids, "withdraw")], dtype=np.int64)
        pool = self._state.pool
        self._state = replace(self._state, pool=pool.forget_model(rows) if by == "model" else pool.withdraw(rows))

    def leave_out(self, ids: Iterable[Any]) -> None:
        """Exclude texts from queries and training, until the next call.

        Args:
            ids: Ids of all texts to exclude; an empty list includes every text again.

        Raises:
            UserError: If an id is unknown.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> learner.leave_out(task.train.ids[2:])
            >>> sorted(learner.query(10).ids)
            ['train-0', 'train-1']
        """
        rows = np.array([self._row(id) for id in listed(ids, "leave_out")], dtype=np.int64)
        self._state = replace(self._state, pool=self._state.pool.leave_out(rows))

    def update(self) -> Round:
        """Train one round, with the update that the schedule chooses.

        Returns:
            The record of the round.

        Raises:
            UserError: If there are no labels.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach({"train-0": "sport", "train-1": "food"}, update=False)
            >>> learner.update()
            Round(1, retrain, 2 labels, ...)
        """
        return self._learn(last=False)

    def finish(self) -> Round:
        """Train a final round before the model is used; the schedule `auto` trains once more on all labels.

        Returns:
            The record of the round.

        Raises:
            UserError: If there are no labels.

        Example:
            >>> from hybridal import ActiveLearner
            >>> from hybridal.testing.small import toy_task
            >>> task = toy_task()
            >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
            >>> result = learner.teach(task.answers(task.train.ids))
            >>> learner.finish().round
            2
        """
        self._state = self.experiment.without_pending(self._state)
        return self._learn(last=True)

    def _learn(self, last: bool) -> Round:
        if not len(self._state.pool):
            raise UserError("There are no labels to learn from yet; teach some first.")
        label_changes = self.experiment.label_changes(self._state, last)
        update = decide(self.schedule, self.history, label_changes)
        self.observer.round_started(len(self._learnt) + 1, None, update.spec)
        try:
            self._state, record = self.experiment.learn(self._state, update, label_changes)
        except BaseException:  # including Ctrl-C: predictions come from the last complete update
            self.experiment.load(self._state)
            raise
        self._learnt.append(record)
        self.observer.round_done(self.history)
        return record

    @cached_property
    def _texts(self) -> dict[str, str]:
        splits = [split for _, split in self.experiment.task.splits()]
        return {id: text for split in splits for id, text in zip(split.ids, split.texts, strict=True)}

    def _probabilities(self, ids: Sequence[str], candidates: TimedCandidates | None) -> list[list[float] | None]:
        """Return the calibrated probabilities of each text; None without a model, and for validation texts.

        Reuses the predictions of the acquisition; only other texts are read.
        """
        if not self.history:
            return [None] * len(ids)
        scale = self.history[-1].temperature or 1.0
        found: dict[str, list[float]] = {}
        if candidates is not None and (known := candidates.known(scale)) is not None:
            wanted = set(ids)
            found = {id: row.tolist() for id, row in zip(candidates.ids, known, strict=True) if id in wanted}
        unread = [id for id in ids if id in self._rows and id not in found]
        if unread:
            rows = np.array([self._rows[id] for id in unread], dtype=np.int64)
            read = self.experiment.model.candidates(rows, self._state.pool, self._state.round, scale).probabilities()
            found |= zip(unread, read.tolist(), strict=True)
        return [found.get(id) for id in ids]

    @property
    def _before_learning(self) -> str:
        """Return the state of the model before the first update, for `repr`."""
        return "nothing learnt yet"

    def __repr__(self) -> str:
        task, known = self.experiment.task, len(self._state.pool)
        start = f"{type(self).__name__}(task '{task.name}', {len(task.classes)} classes, {counted(known, 'label')}"
        if not self.history:
            return f"{start}, {self._before_learning})"
        found = measured(self.history[-1])
        score = f", {score_in_words(found)}" if found else ""
        return f"{start}, round {len(self.history)}{score}, next: {self.next_update.spec})"

    def _repr_html_(self) -> str:
        """Show the status, the learning curve and the next update in notebooks."""
        update = self.next_update
        why = f" ({escape(update.reason)})" if update.reason else ""
        lines = [f"<b>{escape(repr(self))}</b>", curve(self.history), f"Next update: {escape(update.spec)}{why}"]
        if self.history:
            lines.append(escape(self.advice().sentence))
        return "<br>".join(line for line in lines if line)

    def _count(self, n: int | None) -> int:
        n = self.experiment.rules.batch if n is None else n
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
            raise UserError(f"query({n!r}): ask for a whole number of texts, at least one.")
        return int(n)

    def _row(self, id: str) -> int:
        try:
            return self._rows[id]
        except KeyError:
            raise UserError(
                f"'{id:.40}' is not the id of a text of task '{self.experiment.task.name}' to learn from; give ids as "
                f"`query` does, such as '{self.experiment.task.train.ids[0]:.40}'."
            ) from None


def check_keywords(learner: type[Learner], overrides: Mapping[str, Any]) -> None:
    """Refuse keywords that are neither arguments of a learner nor fields of the protocol.

    >>> from hybridal.learners.active_learner import ActiveLearner
    >>> check_keywords(ActiveLearner, {"backbon": "tiny"})
    Traceback (most recent call last):
    hybridal.errors.UserError: `backbon` is neither an argument of ActiveLearner nor a field of its protocol; did ...
    """
    rules = [field.name for field in fields(Rules) if field.name != "name"]
    arguments = [name for name in signature(learner).parameters if name != "overrides"]
    for name in overrides:
        if name not in rules:
            raise UserError(
                f"`{name}` is neither an argument of {learner.__name__} nor a field of its protocol; "
                f"{hint_or_list(name, [*arguments, *sorted(rules)])}",
                field=name,
            )


def _given(
    texts: Mapping[Any, Any] | Batch | Iterable[Any], labels: Iterable[Any] | None, task: Task, known: KnownAnswer
) -> tuple[dict[str, Answer], int]:
    """Return labels by id, both as text, and the number of texts without a label."""
    if isinstance(texts, Mapping):
        if labels is not None:
            raise UserError("teach: pass a dict or labels, not both.")
        ids, labels = [*map(label_text, texts)], list(texts.values())
    else:
        ids = listed(texts.ids if isinstance(texts, Batch) else texts, "teach")
    if labels is None:
        raise UserError("teach: there are ids and no labels; pass {id: label}, or a list of labels after the ids.")
    if isinstance(labels, str | Mapping | set | frozenset) or not isinstance(labels, Iterable):
        raise UserError(f"teach: {labels!r:.40} is not a list of labels; give one per text, in the order of the ids.")
    labels = list(labels)
    if len(labels) != len(ids):
        there = f"{counted(len(ids), 'text')} and {counted(len(labels), 'label')}"
        raise UserError(f"teach: got {there}; give a label for each text, or None.")
    given: dict[str, Answer] = {}
    skipped = 0
    for id, label in zip(ids, labels, strict=True):
        if not is_several(label) and is_missing(label):
            skipped += 1
            continue
        answer = _answer(id, label, task, known)
        if given.setdefault(id, answer) != answer:
            raise UserError(f"teach: id '{id}' has two labels, {_shown(given[id])} and {_shown(answer)}; give it one.")
    return given, skipped


def _answer(id: str, label: Any, task: Task, known: KnownAnswer) -> Answer:
    """Convert a label to names; refuse several classes where a text has exactly one. A dict adds to what is known."""
    if isinstance(label, Decisions) and task.multi_label:  # from an annotator of ours
        return label
    if not is_several(label):
        return frozenset([label_text(label)]) if task.multi_label else label_text(label)
    if not task.multi_label:
        raise UserError(f"teach: the label of id '{id}' is {label!r:.40}; {ONE_LABEL}")
    if isinstance(label, Mapping):
        if not label or not all(isinstance(has, bool | np.bool_) for has in label.values()):
            raise UserError(f"teach: the label of id '{id}' is {label!r:.60}; give True or False for each class in it.")
        decisions = Decisions.of({label_text(name): bool(has) for name, has in label.items()})
        task.label_number(decisions)  # refuses unknown classes
        return decisions.added_to(known(id))
    return frozenset(map(label_text, label))


def _shown(answer: Answer) -> str:
    if isinstance(answer, Decisions):
        return str(answer.by_class())
    return f"'{answer}'" if isinstance(answer, str) else "{" + ", ".join(sorted(answer)) + "}"


def _answers(annotator: Annotator, texts: Mapping[Any, str], task: Task, known: KnownAnswer) -> dict[str, Answer]:
    if not hasattr(annotator, "label"):
        raise UserError(f"run: {annotator!r:.40} has no method `label`; give an annotator, such as Callback(function).")
    return _given(_mapping(annotator.label(texts)), None, task, known)[0]


def _mapping(answers: Any) -> Mapping[Any, Any]:
    if not isinstance(answers, Mapping):
        raise UserError(
            f"The annotator gave {answers!r:.40} where labels by id are expected; let it give {{id: label}}."
        )
    return answers


def listed(ids: Iterable[Any], what: str) -> list[str]:
    """Convert ids or queries to texts; refuse a single string, which would be read as a list of letters."""
    if isinstance(ids, str):
        raise UserError(f"{what}: '{ids:.40}' is one id; give a list of them.")
    if not isinstance(ids, Iterable):
        raise UserError(f"{what}: {ids!r:.40} is not a list of ids; give one.")
    return [label_text(id.id if isinstance(id, Query) else id) for id in ids]


def _known_labels(task: Task) -> Pool:
    """Start with the labels of the task, unless all texts have one: then labelling is simulated."""
    pool = Pool.unlabelled(len(task.train), task.label_sets)
    known = np.flatnonzero(task.train.labels != UNKNOWN)
    if len(known) == len(task.train):
        return pool
    return pool.reveal(dict(zip(known.tolist(), task.train.labels[known].tolist(), strict=True)))
