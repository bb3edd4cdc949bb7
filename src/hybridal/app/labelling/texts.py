"""Texts come in: from a file at the start, and later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import Sessions, alone
from hybridal.app.db.schema import Answer, Standing, Text, Verdict
from hybridal.app.labelling import classes
from hybridal.app.labelling.known import Row, chunks, new_rows
from hybridal.app.labelling.split import reserve
from hybridal.app.labelling.tally import counts, move
from hybridal.app.people.accounts import the_file
from hybridal.app.settings import read
from hybridal.randomness import stream
from hybridal.tasks.classes import sort_names

__all__ = ["LONGEST", "LONGEST_ID", "Added", "Row", "add", "add_in_parts", "chunks"]

LONGEST = 100_000
"""So many characters a text may have: some forty pages. Nobody reads more before they answer."""

LONGEST_ID = 500

_A_PART = 2000


@dataclass(frozen=True)
class Added:
    """How many texts are new, and how many were there already."""

    added: int
    known: int


def add(session: Session, rows: Iterable[Row], *, numbered: bool = False) -> Added:
    """Adds texts, some of them set aside for validation at random; their labels are answers of the file.

    A text that is there stays as it is (see `new_rows`).
    """
    alone(session)
    given = [*rows]
    new = new_rows(session, given, numbered)
    if new:
        _insert(session, new, counts(session)["texts"])
    return Added(len(new), len(given) - len(new))


def add_in_parts(sessions: Sessions, rows: Sequence[Row], *, numbered: bool = False) -> Added:
    """Adds many texts while people label: in short transactions, once it is clear that all can be added.

    If it is interrupted, the same again adds the rest.
    """
    with sessions.begin() as session:
        new = new_rows(session, rows, numbered)
    added = 0
    for part in chunks(new, _A_PART):
        with sessions.begin() as session:
            added += add(session, part).added
    return Added(added, len(rows) - added)


def _insert(session: Session, new: Sequence[Row], before: int) -> None:
    settings, n = read(session), len(new)
    random = stream(settings["seed"], "texts", before)
    reserved = session.scalar(select(func.count()).where(Text.split == "validation")) or 0
    held_out = set(random.permutation(n)[: reserve(n, settings, before, reserved)].tolist())
    places, opinions = random.random(n).tolist(), (random.random(n) < settings["overlap"]).tolist()
    moved = Counter({"texts": n})
    for part in chunks(range(n)):
        values = [
            {
                "id": new[i][0],
                "body": new[i][1],
                "split": "validation" if i in held_out else "pool",
                "place": places[i],
                "wanted": 1 + opinions[i],
                "open": new[i][2] is None,
            }
            for i in part
        ]
        rows = session.scalars(insert(Text).returning(Text.row, sort_by_parameter_order=True), values).all()
        labels = [(row, value["split"], new[i][2]) for i, row, value in zip(part, rows, values, strict=True)]
        _label(session, [(row, label) for row, _, label in labels if label is not None])
        moved.update(split for _, split, label in labels if label is not None)
    moved["labelled"] = moved["validation"] + moved["pool"]
    move(session, Counter(), moved)


def _label(session: Session, labels: Sequence[tuple[int, str]]) -> None:
    """Answers of the file to texts that nobody has answered yet."""
    if not labels:
        return
    names = sort_names(name for _, name in labels)
    number = {name: found.number for name, found in zip(names, classes.add(session, names), strict=True)}
    person = the_file(session).number
    said = [{"text_row": row, "person_number": person, "class_number": number[name]} for row, name in labels]
    # No page can draw such a key: it has a colon.
    answers = [{**one, "action": "label", "key": f"file:{one['text_row']}"} for one in said]
    made = session.scalars(insert(Answer).returning(Answer.number, sort_by_parameter_order=True), answers).all()
    standings, verdicts = [], []
    for one, answer in zip(said, made, strict=True):
        standings.append({**one, "answer_number": answer})
        kept = {"text_row": one["text_row"], "class_number": one["class_number"]}
        verdicts.append({**kept, "source": "file", "changed": answer})
    session.execute(insert(Standing), standings)
    session.execute(insert(Verdict), verdicts)
