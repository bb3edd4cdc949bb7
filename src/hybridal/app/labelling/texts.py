"""Texts come in: from a file at the start, and later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import alone
from hybridal.app.db.schema import Answer, Standing, Text, Verdict, clean
from hybridal.app.errors import ConflictError
from hybridal.app.labelling import classes
from hybridal.app.labelling.split import reserve
from hybridal.app.labelling.tally import counts, move
from hybridal.app.people.accounts import the_file
from hybridal.app.settings import read
from hybridal.randomness import stream
from hybridal.task.classes import sort_names

Row = tuple[str, str, str | None]
"""An id, a text, and its label if it has one."""

_AT_ONCE = 500


@dataclass(frozen=True)
class Added:
    """How many texts are new, and how many were there already."""

    added: int
    known: int


def add(session: Session, rows: Iterable[Row], *, numbered: bool = False) -> Added:
    """Adds texts, some of them set aside for validation at random; their labels are answers of the file.

    A text that is there stays as it is. `numbered` rows have only row numbers for ids: behind other texts they get
    new ones, and a row is known by its text.
    """
    alone(session)
    given = [(clean(id), clean(body), label) for id, body, label in rows]
    before = counts(session)["texts"]
    new = _count_on(session, given) if numbered and before else _unknown(session, given)
    if new:
        _insert(session, new, before)
    return Added(len(new), len(given) - len(new))


def _insert(session: Session, new: Sequence[Row], before: int) -> None:
    settings, n = read(session), len(new)
    random = stream(settings["seed"], "texts", before)
    held_out = set(random.permutation(n)[: reserve(n, before + n, settings)].tolist())
    places, opinions = random.random(n).tolist(), (random.random(n) < settings["overlap"]).tolist()
    values = [
        {
            "id": id,
            "body": body,
            "split": "validation" if i in held_out else "pool",
            "place": places[i],
            "wanted": 1 + opinions[i],
            "open": label is None,
        }
        for i, (id, body, label) in enumerate(new)
    ]
    numbers = session.scalars(insert(Text).returning(Text.row, sort_by_parameter_order=True), values).all()
    labelled = [i for i in range(n) if new[i][2] is not None]
    _label(session, [(numbers[i], new[i][2] or "") for i in labelled])
    moved = Counter({"texts": n, "labelled": len(labelled)}) + Counter(values[i]["split"] for i in labelled)
    move(session, Counter(), moved)


def _label(session: Session, labels: Sequence[tuple[int, str]]) -> None:
    """Many answers of the file at once, to texts that nobody has answered yet."""
    names = sort_names(name for _, name in labels)
    number = {name: found.number for name, found in zip(names, classes.add(session, names), strict=True)}
    person = the_file(session).number if labels else 0
    said = [{"text_row": row, "person_number": person, "class_number": number[name]} for row, name in labels]
    for part in chunks(said):
        answers = [{**one, "action": "label", "key": f"file-{one['text_row']}"} for one in part]
        made = session.scalars(insert(Answer).returning(Answer.number, sort_by_parameter_order=True), answers).all()
        pairs = [*zip(part, made, strict=True)]
        session.execute(insert(Standing), [{**one, "answer_number": answer} for one, answer in pairs])
        session.execute(
            insert(Verdict),
            [
                {"text_row": one["text_row"], "class_number": one["class_number"], "source": "file", "changed": answer}
                for one, answer in pairs
            ],
        )


def _unknown(session: Session, rows: Sequence[Row]) -> list[Row]:
    """The rows whose ids are not there yet."""
    bodies: dict[str, str] = {}
    for part in chunks(rows):
        found = session.execute(select(Text.id, Text.body).where(Text.id.in_([id for id, _, _ in part])))
        bodies.update((id, body) for id, body in found)
    new: list[Row] = []
    for id, body, label in rows:
        if id not in bodies:
            new.append((id, body, label))
        if bodies.setdefault(id, body) != body:
            raise ConflictError(f"The id '{id:.40}' is that of another text already; give this one an id of its own.")
    return new


def _count_on(session: Session, rows: Sequence[Row]) -> list[Row]:
    """The rows whose texts are not there yet, with numbers that are not taken."""
    ids: set[str] = set()
    bodies: set[bytes] = set()
    for id, body in session.execute(select(Text.id, Text.body).execution_options(yield_per=_AT_ONCE)):
        ids.add(id)
        bodies.add(_digest(body))
    new = [row for row in rows if _digest(row[1]) not in bodies]
    free = (str(number) for number in count(len(ids) + 1) if str(number) not in ids)
    return [(next(free), body, label) for _, body, label in new]


def _digest(body: str) -> bytes:
    return sha256(body.encode()).digest()


def chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The items, some at a time.

    >>> [len(part) for part in chunks(range(1200))]
    [500, 500, 200]
    """
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
