"""What more labels cost and bring, by people or by the language model: the sentences of *Progress*."""

from __future__ import annotations

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import LlmAnswer
from hybridal.app.insight.activity import LabelSeconds, label_seconds
from hybridal.app.labelling.consensus import counts
from hybridal.app.llm.annotator import PromptedModel, llm_annotator, load_settings
from hybridal.app.llm.records import llm_counts, spent_tokens
from hybridal.app.prices import PricePlan, load_prices
from hybridal.app.project import Project, chapter_folders, read_chapters
from hybridal.app.trainer.label_pool import label_pool
from hybridal.app.trainer.snapshot import Snapshot, learnt_classes, snapshot
from hybridal.core.outputs import Ints
from hybridal.measures.model_errors import label_weights, model_errors, pool_weights
from hybridal.measures.objective import MultiLabel, Objective
from hybridal.measures.spending import LabellingModel, Prices, who_labels_next
from hybridal.sentences import Sentence

NO_TIMES = Sentence("How long people take for a label is not known yet; enter a price per label instead.")
NO_MODEL = Sentence("There is no model yet.")
ALL_ANSWERS = Sentence(
    "This counts all answers so far, also those of earlier models and instructions: its labels are weighted by the "
    "same errors."
)


def spending_sentences(project: Project) -> list[Sentence]:
    """Compare more labels by people, more by the language model, and stopping; [] without a price of people's work."""
    with project.reads() as session:
        plan, settings, n = load_prices(session), load_settings(session), counts(session)
        if plan.people is None:
            return []
        times = label_seconds(session)
        if plan.people_per == "hour" and times is None:
            return [NO_TIMES]
        seconds = None if times is None else times.mean
        people = plan.people if seconds is None or plan.people_per == "label" else plan.people * seconds / 3600
        price = _price_of_model(session, plan) if settings.model else None
        names, model = [*learnt_classes(session).values()], None
        if price is not None and len(names) > 1:
            earlier = _has_earlier_answers(session, llm_annotator(session, settings))
            model = _labelling_model(snapshot(session), settings.model, ALL_ANSWERS if earlier else None)
    chapters = read_chapters(chapter_folders(project.runs))
    if not chapters or not chapters[-1].history:
        return [NO_MODEL]
    prices = Prices(people, price, seconds)
    told = who_labels_next(chapters[-1].history, names, n["texts"] - n["labelled"], prices, model)
    return [*told[:1], _time_in_words(times), *told[1:]] if told and times is not None else told


def _time_in_words(times: LabelSeconds) -> Sentence:
    """What the time of many labels follows from; the page shows medians as "Time per label"."""
    return Sentence(
        "So far a label took {mean} s on average and {median} s in the median, without pauses of more than five "
        "minutes. The total time follows from the average.",
        mean=f"{times.mean:.1f}",
        median=f"{times.median:.1f}",
    )


def _price_of_model(session: Session, plan: PricePlan) -> float | None:
    """The price of a label by the language model; by tokens it is known after its first answers."""
    if plan.model is None or plan.model_per == "label":
        return plan.model
    done = llm_counts(session)
    usable = done["asked"] - done["unusable"]
    return plan.model * spent_tokens(session) / 1e6 / usable if usable else None


def _labelling_model(now: Snapshot, name: str, note: Sentence | None) -> LabellingModel:
    """The language model with its errors and the weight of its labels, both as the trainer has them.

    Before its first label the weight is that of its answers, or of one label of each class.
    """
    pool, objective = label_pool(now)
    answers, people = pool.compared()
    weights = pool_weights(pool, objective)
    if weights is None:
        given = answers if len(answers) else _one_of_each_class(objective)
        weight = label_weights(given, answers, people, objective).mean()
    else:
        weight = weights[np.isin(pool.order, pool.by_model)].mean()
    return LabellingModel(name, model_errors(answers, people, objective), float(weight), note)


def _one_of_each_class(objective: Objective) -> Ints:
    every = range(objective.classes)
    numbers = [objective.sets.number([one]) for one in every] if isinstance(objective, MultiLabel) else every
    return np.array(numbers, dtype=np.int64)


def _has_earlier_answers(session: Session, llm: PromptedModel) -> bool:
    """Whether there are usable answers of another model, or under other instructions."""
    usable = LlmAnswer.class_name.is_not(None)
    return session.scalar(select(LlmAnswer.question).where(usable, LlmAnswer.model != llm.name).limit(1)) is not None
