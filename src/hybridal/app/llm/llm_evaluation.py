"""Can an LLM replace people? The alternative-annotator test of Calderon, Reichart and Dror (2025).

Each person is left out in turn. On every text, the LLM and this person are compared by the number of other people they
agree with; the one with at least as many agreements wins, so a tie is a win for both. The test asks for each person
whether the LLM's share of wins is less than ε behind the person's. ε is the loss that is accepted because LLMs are
cheaper: the authors advise 0.2 if people are experts, 0.15 if they are skilled, 0.1 for crowd workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import LlmAnswer, Text
from hybridal.app.insight.annotator_agreement import Kappa, kappa, ratings
from hybridal.app.insight.class_agreement import decision_on
from hybridal.app.insight.set_agreement import masi_distances
from hybridal.app.insight.set_votes import set_ratings
from hybridal.app.labelling.llm_answers import is_shared
from hybridal.app.llm.annotator import PromptedModel
from hybridal.app.llm.records import label_of
from hybridal.sentences import Sentence, translatable
from hybridal.tasks.answers import Decisions
from hybridal.tasks.label_cells import write_cell

Labels = Mapping[str, Any]  # text: class, or set of classes
Similarity = Callable[[Any, Any], float]


def equality(one: Any, other: Any) -> float:
    """1 for equal labels, else 0."""
    return float(one == other)


@lru_cache(maxsize=100_000)
def masi_similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """The similarity of two sets of classes: 1 − their MASI distance.

    >>> round(masi_similarity(frozenset(["bug"]), frozenset(["bug", "idea"])), 3)
    0.333
    """
    return float(1 - masi_distances([one, other])[0, 1])


MIN_TEXTS = 30  # with fewer, the t-test's assumption of normality is doubtful
_LEVEL = 0.05


@dataclass(frozen=True)
class AgainstPerson:
    """The LLM against one person: the share of `texts` that each wins (ties count for both), and the test.

    `p` belongs to the null hypothesis that the person wins by ε or more; `adjusted` is corrected for several people.
    """

    person: str
    texts: int
    llm_wins: float
    person_wins: float
    p: float
    adjusted: float = 1.0
    llm_holds: bool = False


_NONE = translatable(
    "The test needs two people, better three, who each labelled {texts} of the same texts as the LLM;"
    " now there is none."
)
_ONE = translatable(
    "The test needs two people, better three, who each labelled {texts} of the same texts as the LLM; now there is one."
)
_TWO = translatable("With only two people the result depends much on each of them; three are better.")


@dataclass(frozen=True)
class AltTest:
    """The result of the test; without enough texts or people all numbers are None and `note` says what is missing.

    Attributes:
        people: The comparison with each person.
        winning_rate: ω, the share of people against whom the LLM passes.
        advantage: ρ, the mean share of texts on which the LLM does as well as a person, to compare LLMs.
        passes: Whether the winning rate is one half or more.
        epsilon: The accepted loss ε.
        note: What is missing, or limits the result.
    """

    people: tuple[AgainstPerson, ...]
    winning_rate: float | None
    advantage: float | None
    passes: bool | None
    epsilon: float
    note: str = ""


def alt_test(
    llm: Labels, people: Mapping[str, Labels], epsilon: float = 0.2, similarity: Similarity = equality
) -> AltTest:
    """Run the test on the texts labelled by the LLM and two or more people; skip people with fewer than 30 of them.

    `similarity` says how far two labels agree, from 0 to 1.

    >>> texts = [f"t{n}" for n in range(40)]
    >>> alike = {text: "bug" if n % 2 else "idea" for n, text in enumerate(texts)}
    >>> careless = {**alike, "t0": "bug", "t1": "idea", "t2": "bug"}
    >>> found = alt_test(alike, {"Ann": alike, "Bo": careless, "Cy": alike})
    >>> found.passes, found.winning_rate, found.advantage, found.people[1].person_wins
    (True, 1.0, 1.0, 0.925)
    >>> alt_test(alike, {"Ann": alike}).note
    'The test needs two people, better three, who each labelled 30 of the same texts as the LLM; now there is none.'
    """
    from scipy.stats import false_discovery_control  # slow to import and rarely needed

    others = {text: {person: labels[text] for person, labels in people.items() if text in labels} for text in llm}
    shared = {text: labels for text, labels in others.items() if len(labels) > 1}
    compared = [_compared(person, llm, shared, epsilon, similarity) for person in people]
    tested = [found for found in compared if found is not None]
    if len(tested) < 2:
        return AltTest((), None, None, None, epsilon, Sentence(_ONE if tested else _NONE, texts=MIN_TEXTS))
    adjusted = false_discovery_control([found.p for found in tested], method="by").tolist()
    judged = tuple(replace(found, adjusted=p, llm_holds=p <= _LEVEL) for found, p in zip(tested, adjusted, strict=True))
    rate = float(np.mean([found.llm_holds for found in judged]))
    advantage = float(np.mean([found.llm_wins for found in judged]))
    return AltTest(judged, rate, advantage, rate >= 0.5, epsilon, Sentence(_TWO) if len(judged) == 2 else "")


def _compared(
    person: str, llm: Labels, shared: Mapping[str, Labels], epsilon: float, similarity: Similarity
) -> AgainstPerson | None:
    llm_wins, person_wins = [], []
    for text, labels in shared.items():
        if person in labels:
            remaining = [name for other, name in labels.items() if other != person]
            llm_agrees, person_agrees = (
                sum(similarity(one, o) for o in remaining) for one in (llm[text], labels[person])
            )
            llm_wins.append(llm_agrees >= person_agrees)
            person_wins.append(person_agrees >= llm_agrees)
    if len(llm_wins) < MIN_TEXTS:
        return None
    p = _p_value(np.subtract(person_wins, llm_wins, dtype=np.float64), epsilon)
    return AgainstPerson(person, len(llm_wins), float(np.mean(llm_wins)), float(np.mean(person_wins)), p)


def _p_value(behind: np.typing.NDArray[np.float64], epsilon: float) -> float:
    """The p-value of the one-sided t-test of "the mean is ε or more"; 0 or 1 if all values are equal."""
    from scipy.stats import ttest_1samp

    if np.ptp(behind) == 0:
        return 0.0 if behind[0] < epsilon else 1.0
    return float(ttest_1samp(behind, epsilon, alternative="less").pvalue)


def evaluate_llm(session: Session, llm: PromptedModel, epsilon: float = 0.2) -> dict[str, Any]:
    """The alternative-annotator test, if there are enough people, and Cohen's κ with each person.

    If a text may have several classes, labels agree as far as their MASI distance says, κ is about equal sets, and
    `classes` has κ of the decisions on each class with those of all people.
    """
    several, llm_labels = llm.instructions.several, labels_of_llm(session, llm)
    people: dict[str, dict[str, Any]] = {}
    ratings_of_people: Sequence[tuple[str, str, Any]] = set_ratings(session, 1) if several else ratings(session, 1)
    known = [rating for rating in ratings_of_people if rating[0] in llm_labels]
    for text, person, label in known:
        if not isinstance(label, Decisions):
            people.setdefault(person, {})[text] = label
    kappas = []
    for person, labels in people.items():
        pairs = [(write_cell(llm_labels[text]), write_cell(labels[text])) for text in sorted(labels)]
        kappas.append({"person": person, **asdict(_kappa(pairs))})
    found = alt_test(llm_labels, people, epsilon, masi_similarity if several else equality)
    by_class = [_kappa_of_class(name, llm_labels, known) for name in llm.instructions.names if several]
    return {**asdict(found), "note": found.note, "kappas": kappas, **({"classes": by_class} if several else {})}


def _kappa(pairs: Sequence[tuple[str, str]]) -> Kappa:
    return kappa([one for one, _ in pairs], [other for _, other in pairs])


def _kappa_of_class(name: str, llm: Labels, known: Sequence[tuple[str, str, Any]]) -> dict[str, Any]:
    """κ of the decisions on a class, and how often the LLM and people gave it."""
    decided = [(name in llm[text], has) for text, _, label in known if (has := decision_on(label, name)) is not None]
    found = _kappa([(str(one), str(other)) for one, other in decided])
    return {
        "class": name,
        **asdict(found),
        "llm": sum(one for one, _ in decided),
        "people": sum(other for _, other in decided),
        "both": sum(one and other for one, other in decided),
    }


def labels_of_llm(session: Session, llm: PromptedModel) -> dict[str, Any]:
    """The LLM's labels of texts that people label in any case; of the others, people see only the difficult ones."""
    answers = session.execute(
        select(Text, LlmAnswer)
        .join(LlmAnswer, LlmAnswer.text_row == Text.row)
        .where(LlmAnswer.model == llm.name, LlmAnswer.class_name.is_not(None))
    )
    labels = {text.id: label_of(answer, llm) for text, answer in answers if is_shared(llm.rule, text)}
    return {id: label.answer for id, label in labels.items() if label is not None}
