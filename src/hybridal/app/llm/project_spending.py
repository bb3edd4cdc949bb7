"""What more labels cost and bring, by people or by the language model: the sentences of *Progress*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Consensus, LabelSet, LlmAnswer, Text
from hybridal.app.insight.activity import mean_seconds
from hybridal.app.labelling import classes
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.stored_class_sets import named
from hybridal.app.llm.annotator import PromptedModel, llm_annotator, load_settings
from hybridal.app.llm.llm_evaluation import labels_of_llm
from hybridal.app.llm.records import llm_counts, spent_tokens
from hybridal.app.prices import PricePlan, load_prices
from hybridal.app.project import Project, chapter_folders, read_chapters
from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Ints
from hybridal.measures.model_errors import label_weights, model_errors
from hybridal.measures.objective import MultiLabel, Objective, SingleLabel
from hybridal.measures.spending import LabellingModel, Prices, who_labels_next
from hybridal.sentences import Sentence

Label = str | frozenset[str]

NO_TIMES = Sentence("How long people take for a label is not known yet; enter a price per label instead.")
NO_MODEL = Sentence("There is no model yet.")


def spending_sentences(project: Project) -> list[Sentence]:
    """Compare more labels by people, more by the language model, and stopping; [] without a price of people's work."""
    with project.reads() as session:
        plan, settings, n = load_prices(session), load_settings(session), counts(session)
        if plan.people is None:
            return []
        seconds = mean_seconds(session)
        if plan.people_per == "hour" and seconds is None:
            return [NO_TIMES]
        people = plan.people if seconds is None or plan.people_per == "label" else plan.people * seconds / 3600
        llm = llm_annotator(session, settings) if settings.model else None
        price = None if llm is None else _price_of_model(session, plan)
        model = None if llm is None or price is None else _labelling_model(session, llm)
        names = [one.name for one in classes.active(session)]
    chapters = read_chapters(chapter_folders(project.runs))
    if not chapters or not chapters[-1].history:
        return [NO_MODEL]
    prices = Prices(people, price, seconds)
    return who_labels_next(chapters[-1].history, names, n["texts"] - n["labelled"], prices, model)


def _price_of_model(session: Session, plan: PricePlan) -> float | None:
    """The price of a label by the language model; by tokens it is known after its first answers."""
    if plan.model is None or plan.model_per == "label":
        return plan.model
    done = llm_counts(session)
    usable = done["asked"] - done["unusable"]
    return plan.model * spent_tokens(session) / 1e6 / usable if usable else None


def _labelling_model(session: Session, llm: PromptedModel) -> LabellingModel:
    """The language model with its errors on texts that people label in any case, and the weight of its labels."""
    given, known = labels_of_llm(session, llm), _labels_of_people(session, llm)
    numbers = {name: number for number, name in enumerate(llm.instructions.names)}
    objective = MultiLabel(LabelSets(len(numbers))) if llm.instructions.several else SingleLabel(len(numbers))
    both = [id for id in given if id in known and _names(given[id]) | _names(known[id]) <= {*numbers}]
    own, theirs = (_label_numbers([labels[id] for id in both], numbers, objective) for labels in (given, known))
    weighed = own if both else np.arange(len(numbers))
    weight = float(label_weights(weighed, own, theirs, objective).mean())
    return LabellingModel(llm.model, model_errors(own, theirs, objective), weight)


def _labels_of_people(session: Session, llm: PromptedModel) -> dict[str, Label]:
    """The labels by people of texts that the language model has answered; of sets, only whole ones."""
    found = select(Text.id, Class.name, LabelSet.classes).join(Consensus, Consensus.text_row == Text.row)
    found = found.outerjoin(Class, Class.number == Consensus.class_number)
    found = found.outerjoin(LabelSet, LabelSet.number == Consensus.label_set)
    answered = select(LlmAnswer.text_row).where(LlmAnswer.model == llm.name)
    found = found.where(Text.row.in_(answered), Consensus.source.in_(("people", "adjudicated")))
    names = {one.number: one.name for one in classes.active(session)}
    rows = session.execute(found)
    if not llm.instructions.several:
        return {id: name for id, name, _ in rows}
    return {id: frozenset(named(given, names)) for id, _, given in rows if given is not None and given.is_whole}


def _names(label: Label) -> frozenset[str]:
    return frozenset([label]) if isinstance(label, str) else label


def _label_numbers(labels: Sequence[Label], numbers: Mapping[str, int], objective: Objective) -> Ints:
    """The labels as numbers of the objective."""
    if isinstance(objective, MultiLabel):
        return np.array(
            [objective.sets.number(numbers[name] for name in _names(one)) for one in labels], dtype=np.int64
        )
    return np.array([numbers[str(one)] for one in labels], dtype=np.int64)
