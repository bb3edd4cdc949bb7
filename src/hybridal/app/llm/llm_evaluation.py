"""May an LLM stand in for people? The alternative-annotator test of Calderon, Reichart and Dror (2025).

Each person is left out in turn. On every text, the LLM and the person left out are compared by how many of the others
they agree with; who agrees with at least as many as the rival wins it, so both win a tie. The test asks, person by
person, whether the LLM wins nearly as often: less than ε behind. ε is what an LLM's cheapness is worth: its authors
advise 0.2 where people are experts, 0.15 where they are skilled, 0.1 for crowds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import LlmAnswer, Text
from hybridal.app.insight.annotator_agreement import kappa, ratings
from hybridal.app.llm.annotator import LlmAnnotator
from hybridal.app.llm.records import is_shared

Labels = Mapping[str, str]  # text: class

MIN_TEXTS = 30  # below it the t-test's normality is not to be trusted
_LEVEL = 0.05


@dataclass(frozen=True)
class AgainstPerson:
    """The LLM against one person: the shares of `texts` that each wins (ties count for both), and the test of it.

    `p` is of the null hypothesis that the person wins by ε or more; `adjusted` allows for several people.
    """

    person: str
    texts: int
    llm_wins: float
    person_wins: float
    p: float
    adjusted: float = 1.0
    llm_holds: bool = False


@dataclass(frozen=True)
class AltTest:
    """`winning_rate` ω is the share of people against whom the LLM holds; from one half on, it `passes`.

    `advantage` ρ is how often the LLM does as well as a person, in the mean over people: the number to compare LLMs by.
    All are None where the test cannot be made, and `note` says what is missing.
    """

    people: tuple[AgainstPerson, ...]
    winning_rate: float | None
    advantage: float | None
    passes: bool | None
    epsilon: float
    note: str = ""


def alt_test(llm: Labels, people: Mapping[str, Labels], epsilon: float = 0.2) -> AltTest:
    """The test on the texts that the LLM and two or more people labelled; people with fewer than 30 of them sit out.

    >>> texts = [f"t{n}" for n in range(40)]
    >>> alike = {text: "bug" if n % 2 else "idea" for n, text in enumerate(texts)}
    >>> careless = {**alike, "t0": "bug", "t1": "idea", "t2": "bug"}
    >>> found = alt_test(alike, {"Ann": alike, "Bo": careless, "Cy": alike})
    >>> found.passes, found.winning_rate, found.advantage, found.people[1].person_wins
    (True, 1.0, 1.0, 0.925)
    >>> alt_test(alike, {"Ann": alike}).note
    'needs two people, better three, who each labelled 30 of the same texts as the LLM; now there is none'
    """
    from scipy.stats import false_discovery_control  # heavy, and rarely asked for

    others = {text: {person: said[text] for person, said in people.items() if text in said} for text in llm}
    shared = {text: said for text, said in others.items() if len(said) > 1}
    compared = [_compared(person, llm, shared, epsilon) for person in people]
    tested = [found for found in compared if found is not None]
    if len(tested) < 2:
        now = "there is none" if not tested else "there is one"
        missing = f"needs two people, better three, who each labelled {MIN_TEXTS} of the same texts as the LLM"
        return AltTest((), None, None, None, epsilon, f"{missing}; now {now}")
    adjusted = false_discovery_control([found.p for found in tested], method="by").tolist()
    judged = tuple(replace(found, adjusted=p, llm_holds=p <= _LEVEL) for found, p in zip(tested, adjusted, strict=True))
    rate = float(np.mean([found.llm_holds for found in judged]))
    advantage = float(np.mean([found.llm_wins for found in judged]))
    few = "with two people, one's habits weigh much: three are better" if len(judged) == 2 else ""
    return AltTest(judged, rate, advantage, rate >= 0.5, epsilon, few)


def _compared(person: str, llm: Labels, shared: Mapping[str, Labels], epsilon: float) -> AgainstPerson | None:
    llm_wins, person_wins = [], []
    for text, said in shared.items():
        if person in said:
            remaining = [name for other, name in said.items() if other != person]
            llm_agrees, person_agrees = remaining.count(llm[text]), remaining.count(said[person])
            llm_wins.append(llm_agrees >= person_agrees)
            person_wins.append(person_agrees >= llm_agrees)
    if len(llm_wins) < MIN_TEXTS:
        return None
    p = _p_value(np.subtract(person_wins, llm_wins, dtype=np.float64), epsilon)
    return AgainstPerson(person, len(llm_wins), float(np.mean(llm_wins)), float(np.mean(person_wins)), p)


def _p_value(behind: np.typing.NDArray[np.float64], epsilon: float) -> float:
    """The one-sided t-test of H0 "the mean is ε or more"; without any spread there is nothing to doubt."""
    from scipy.stats import ttest_1samp

    if np.ptp(behind) == 0:
        return 0.0 if behind[0] < epsilon else 1.0
    return float(ttest_1samp(behind, epsilon, alternative="less").pvalue)


def evaluate_llm(session: Session, llm: LlmAnnotator, epsilon: float = 0.2) -> dict[str, Any]:
    """The alternative-annotator test where there are people enough, and Cohen's κ with each of them in any case."""
    said = labels_of_llm(session, llm)
    people: dict[str, dict[str, str]] = {}
    for text, person, name in ratings(session, least=1):
        if text in said:
            people.setdefault(person, {})[text] = name
    kappas = []
    for person, classes in people.items():
        texts = sorted(classes)
        found = kappa([said[text] for text in texts], [classes[text] for text in texts])
        kappas.append({"person": person, **asdict(found)})
    return {**asdict(alt_test(said, people, epsilon)), "kappas": kappas}


def labels_of_llm(session: Session, llm: LlmAnnotator) -> dict[str, str]:
    """The LLM's classes of the texts that went to people whatever it said: of the others, people see the hard ones."""
    kept = session.execute(
        select(Text, LlmAnswer.class_name)
        .join(LlmAnswer, LlmAnswer.text_row == Text.row)
        .where(LlmAnswer.model == llm.name, LlmAnswer.class_name.is_not(None))
    )
    return {text.id: name for text, name in kept if name is not None and is_shared(llm, text)}
