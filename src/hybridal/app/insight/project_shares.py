"""Shares of classes among all texts of a project, by the labels of texts drawn at random and the stored predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Annotation, Class, Consensus, Draw, LabelSet, Person, Prediction, Text
from hybridal.app.labelling.classes import current_classes, deleted_classes
from hybridal.app.project_settings import read
from hybridal.app.vectors import StoredVectors
from hybridal.core.outputs import Floats
from hybridal.core.provenance import RandomDraw
from hybridal.errors import UserError
from hybridal.measures.shares.groups import By, group_by
from hybridal.measures.shares.labelled_texts import LabelledTexts
from hybridal.measures.shares.share_table import CONFIDENCE, FEWEST, Basis, ShareTable, share_table
from hybridal.sentences import Sentence, translatable

Flags = NDArray[np.bool_]
MAX_WAITING = 0.005  # of the texts may wait for a label before the next draw is used
TOLERANCE = 0.05  # by which the sampling fractions of uploads may differ that count as one draw

NO_CLASSES = translatable("There are no classes yet; add them on the page Settings.")
NO_PREDICTIONS = translatable("The model has not scored the texts yet; label some texts, and come back in a minute.")


class NoSharesError(UserError):
    """There is no estimate; `sentence` says why, for translation."""

    def __init__(self, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence, field=field)
        self.sentence = sentence


@dataclass(frozen=True, eq=False)
class ProjectTexts:
    """What the database knows of the texts of a project; element i of each array belongs to row `rows[i]`.

    Attributes:
        rows: The rows of the texts that are not deleted.
        added: When each was added.
        draw: The number of the draw that set it aside, 0 for none.
        first: The number of its first annotation by a person or a file, a high one without.
        how: How that came about (`Annotation.drawn`), "" without.
        targets: 1 or 0 as people labelled it, NaN without a label, (N, C).
    """

    rows: NDArray[np.int64]
    added: Floats
    draw: NDArray[np.int64]
    first: NDArray[np.int64]
    how: NDArray[np.str_]
    targets: Floats

    @property
    def labelled(self) -> Flags:
        found: Flags = np.asarray(~np.isnan(self.targets).all(axis=1))
        return found

    @property
    def annotated(self) -> Flags:
        return np.asarray(self.first < NEVER)

    @property
    def brought(self) -> Flags:
        """Texts whose first label was brought along: others chose which ones have one."""
        return np.asarray(np.isin(self.how, ("file", "import")))

    @property
    def waiting(self) -> Flags:
        """Texts that were drawn and not seen yet."""
        found: Flags = (self.draw > 0) & ~self.annotated
        return found


NEVER = np.iinfo(np.int64).max


def project_shares(
    session: Session,
    stored: StoredVectors | None,
    by: str = "",
    classes: Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
) -> ShareTable:
    """Estimate the shares of the classes of a project.

    Args:
        session: A session.
        stored: The stored probabilities.
        by: The spec of a column of the texts' context, such as `month:date`; "" for none.
        classes: The classes to estimate; None for all.
        confidence: The probability with which each interval contains the truth.

    Returns:
        The table.

    Raises:
        UserError: If there are too few random labels, no predictions, or the column cannot be used.
    """
    settings = read(session)
    column = By.of(by) if by else None
    if column is not None and column.column not in settings["columns"]:
        raise NoSharesError(
            Sentence("The texts have no column “{column}”; choose another one.", column=column.column), field="by"
        )
    names = _class_names(session)
    if not names:
        raise NoSharesError(NO_CLASSES)
    texts = project_texts(session, [*names])
    draws = usable_draws(session.scalars(select(Draw).order_by(Draw.number)).all(), texts)
    random = sum(len(draw.drawn) for draw in draws)
    if random < FEWEST:
        raise NoSharesError(_too_few(random))
    predicted = _predicted(session, stored, texts.rows, [*names])
    answers = _answers(session, predicted, [*names], settings["multi_label"])
    groups = None if column is None else group_by(_values(session, texts.rows, column.column), column)
    basis = _basis(session, texts, draws)
    found = LabelledTexts(texts.targets, answers, predicted[None], draws)
    asked = [name for name in classes if name in names.values()] if classes else None
    return share_table(found, [*names.values()], basis, groups, asked, confidence, settings["multi_label"])


def project_texts(session: Session, numbers: Sequence[int]) -> ProjectTexts:
    """Read the texts with their labels by people; those of language models are left out."""
    given = select(Text.row, Text.added, func.coalesce(Text.draw, 0)).where(Text.deleted.is_(None)).order_by(Text.row)
    every = session.execute(given).all()
    rows = np.array([row for row, _, _ in every], dtype=np.int64)
    place = {int(row): at for at, row in enumerate(rows)}
    first, how = np.full(len(rows), NEVER), np.full(len(rows), "", dtype="U8")
    for row, number, drawn in session.execute(_FIRST):
        if row in place:
            first[place[row]], how[place[row]] = number, drawn
    targets = np.full((len(rows), len(numbers)), np.nan)
    now, gone = current_classes(session), deleted_classes(session)
    labels = select(Consensus.text_row, Consensus.class_number, LabelSet.classes)
    labels = labels.outerjoin(LabelSet, LabelSet.number == Consensus.label_set).where(Consensus.source != "llm")
    for row, number, several in session.execute(labels):
        if row in place and several is not None:
            targets[place[row]] = _target(several.renamed(now, gone), numbers)
        elif row in place and number is not None and now[number] in numbers:
            targets[place[row]] = _target(ClassSet.of([now[number]]), numbers)
    added = np.array([added for _, added, _ in every], dtype=np.float64)
    return ProjectTexts(rows, added, np.array([draw for _, _, draw in every], dtype=np.int64), first, how, targets)


_BY_PEOPLE = (
    select(Annotation.text_row, func.min(Annotation.number).label("number"))
    .join(Person)
    .where(Person.kind != "llm")
    .group_by(Annotation.text_row)
    .subquery()
)
_FIRST = select(_BY_PEOPLE.c.text_row, _BY_PEOPLE.c.number, Annotation.drawn).join(
    Annotation, Annotation.number == _BY_PEOPLE.c.number
)


def _target(label: ClassSet, numbers: Sequence[int]) -> NDArray[np.float64]:
    """The label of a text as 1, 0 or NaN for each class."""
    decided = [label.decision(number) for number in numbers]
    return np.array([np.nan if one is None else float(one) for one in decided])


def usable_draws(draws: Sequence[Draw], texts: ProjectTexts) -> list[RandomDraw]:
    """Return the draws with the texts that each speaks of.

    An upload is a draw from its own texts, and uploads of which the same share has been labelled are one draw. A later
    draw is from all texts without annotations; it is used once nearly all texts of the draws before have been
    seen, because these could not be drawn again. Texts that were seen and got no label are taken to be like others.
    Labels that were brought along are known and no random ones, unless a file labels all of its texts.
    """
    found, labelled = _uploads(draws, texts), texts.labelled
    for draw in draws:
        if draw.upload:
            continue
        before = (texts.draw > 0) & (texts.draw < draw.number)
        if np.mean(before & texts.waiting) > MAX_WAITING:
            break
        covers = texts.added <= draw.made
        unresolved = before & texts.annotated & ~labelled
        frame = covers & ~texts.brought & (((texts.first > draw.newest) & ~before) | unresolved)
        drawn = np.flatnonzero((texts.draw == draw.number) & labelled & ~texts.brought)
        if len(drawn):
            found.append(RandomDraw(frame, drawn, covers))
    return found


def _uploads(draws: Sequence[Draw], texts: ProjectTexts) -> list[RandomDraw]:
    """The draws from single uploads, joined where the same share of their texts has a random label."""
    found: list[RandomDraw] = []
    for draw in draws:
        covers = texts.added == draw.made
        known = texts.brought & covers
        if known.sum() == covers.sum():  # a file that labels all texts has chosen none
            known = np.zeros_like(known)
        frame = covers & ~known
        drawn = np.flatnonzero((texts.draw == draw.number) & texts.labelled & ~known)
        if not draw.upload or not len(drawn):
            continue
        for at, other in enumerate(found):
            joined = RandomDraw(other.frame | frame, np.concatenate([other.drawn, drawn]), other.covered | covers)
            expected = joined.probability * frame.sum()
            if abs(len(drawn) - expected) <= max(1.0, TOLERANCE * expected):
                found[at] = joined
                break
        else:
            found.append(RandomDraw(frame, drawn, covers))
    return found


def _basis(session: Session, texts: ProjectTexts, draws: Sequence[RandomDraw]) -> Basis:
    random = np.zeros(len(texts.rows), dtype=bool)
    random[np.concatenate([draw.drawn for draw in draws])] = True
    reached = np.any([draw.frame for draw in draws], axis=0)
    newest = session.scalar(select(func.max(Prediction.round))) or 0
    return Basis(
        len(texts.rows),
        int(random.sum()),
        len(draws),
        unanswered=int(((texts.draw > 0) & ~texts.labelled).sum()),
        others=int((texts.labelled & ~random).sum()),
        model=f"encoder {read(session)['backbone']} after {newest} rounds",
        uncovered=int((~texts.labelled & ~reached).sum()),
        picked=int((random & (texts.how == "picked")).sum()),
    )


def _too_few(labels: int) -> str:
    return Sentence.plural(
        "There is {n} random label, and an estimate takes at least {fewest}: let the app draw texts at random and "
        "label them.",
        "There are {n} random labels, and an estimate takes at least {fewest}: let the app draw texts at random and "
        "label them.",
        labels,
        fewest=FEWEST,
    )


def _class_names(session: Session) -> dict[int, str]:
    """The classes that are shown, by number."""
    shown = select(Class.number, Class.name).where(Class.merged_into.is_(None), Class.archived.in_(("", "kept")))
    return dict(session.execute(shown.order_by(Class.number)).all())


def _predicted(
    session: Session, stored: StoredVectors | None, rows: NDArray[np.int64], numbers: Sequence[int]
) -> Floats:
    """The newest probabilities of each class; texts that were not scored yet get the mean of the others."""
    found = np.zeros((len(rows), len(numbers)))
    known = np.zeros(len(rows), dtype=bool)
    if stored is not None and len(stored.stamps):
        inside = rows < len(stored.stamps)
        known[inside] = stored.stamps[rows[inside]] > 0
        values, now = np.asarray(stored.values[rows[known]], dtype=np.float64), current_classes(session)
        for at, old in enumerate(stored.about["classes"]):
            if (number := now.get(old, old)) in numbers:
                found[known, list(numbers).index(number)] += values[:, at]
    if not known.any():
        raise NoSharesError(NO_PREDICTIONS)
    found[~known] = found[known].mean(axis=0)
    return np.clip(found, 0.0, 1.0)


def _answers(session: Session, predicted: Floats, numbers: Sequence[int], several: bool) -> Flags:
    if several:
        thresholds = dict(session.execute(select(Class.number, Class.threshold)).all())
        given: Flags = predicted >= np.array([thresholds[number] or 0.5 for number in numbers])
        return given
    answers = np.zeros(predicted.shape, dtype=bool)
    answers[np.arange(len(answers)), predicted.argmax(axis=1)] = True
    return answers


def _values(session: Session, rows: NDArray[np.int64], column: str) -> list[Any]:
    """The value of a column for each text."""
    known = dict(session.execute(select(Text.row, Text.context).where(Text.deleted.is_(None))).all())
    return [(known[row] or {}).get(column) for row in rows.tolist()]
