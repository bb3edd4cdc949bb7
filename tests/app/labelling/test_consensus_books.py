"""Property test: votes, consensus and counts follow from the annotations, in every order of actions."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import func, select

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.schema import Annotation, Class, Person, Text, Vote
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.removal import delete_texts, restore_texts
from hybridal.app.labelling.requirements import apply_rule_to_some
from hybridal.app.labelling.texts import add
from hybridal.app.people import machine_annotator
from hybridal.app.project_settings import read

from ..made_up import check_books, make, me, merge_classes, people

WHO, WHICH = st.integers(0, 3), st.integers(0, 5)


class Books(RuleBasedStateMachine):
    """Three people and an LLM annotate, undo, decide, merge and delete; a dict is the reference model."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.project = make(Path(self.folder.name) / "p", texts=6, overlap=0.5, overlap_people=3, validation_first=1)
        with self.project.sessions.begin() as session:
            llm = machine_annotator(session, "(llm)", "llm")
        self.people: list[Person] = [me(self.project), *people(self.project, 2), llm]
        self.annotations: dict[tuple[int, str], list[str | None]] = {}
        self.order: list[list[str]] = [[] for _ in self.people]
        self.keys = 0
        self.texts = 6
        self.deleted: set[str] = set()

    def key(self) -> str:
        self.keys += 1
        return f"k{self.keys}"

    @rule(who=WHO, which=WHICH, name=st.sampled_from(["a", "b", "c", None]), flagged=st.booleans())
    def say(self, who: int, which: int, name: str | None, flagged: bool) -> None:
        key, id = self.key(), f"t{which}"
        action = "skip" if name is None else "label"
        if id in self.deleted:
            with self.project.sessions.begin() as session, pytest.raises(MissingError, match="was deleted"):
                annotate(session, self.people[who], id, action, class_name=name, key=key)  # type: ignore[arg-type]
            return
        for _ in range(2):  # sent twice, it counts once
            with self.project.sessions.begin() as session:
                annotate(session, self.people[who], id, action, class_name=name, flagged=flagged, key=key)  # type: ignore[arg-type]
        self.annotations.setdefault((who, id), []).append(name)
        self.order[who] = [other for other in self.order[who] if other != id] + [id]

    @rule(which=WHICH)
    def delete_or_restore(self, which: int) -> None:
        id = f"t{which}"
        with self.project.sessions.begin() as session:
            row = session.scalars(select(Text.row).where(Text.id == id)).all()
            assert (restore_texts(session, row) if id in self.deleted else delete_texts(session, row, at=1.0)) == 1
        self.deleted ^= {id}

    @rule(which=WHICH, name=st.sampled_from(["a", "b", "c"]))
    def decide(self, which: int, name: str) -> None:
        if f"t{which}" in self.deleted:
            return
        with self.project.sessions.begin() as session:
            annotate(session, self.people[0], f"t{which}", "label", class_name=name, key=self.key(), decides=True)
        self.annotations.setdefault((0, f"t{which}"), []).append(name)
        self.order[0] = [other for other in self.order[0] if other != f"t{which}"] + [f"t{which}"]

    @rule(who=WHO)
    def take_back(self, who: int) -> None:
        with self.project.sessions.begin() as session:
            standing = select(Vote.text_row).join(Text).where(Vote.person_number == self.people[who].number)
            standing = standing.where(Text.deleted.is_(None))
            newest = session.scalar(standing.order_by(Vote.annotation_number.desc()).limit(1))
            expected = None if newest is None else session.get_one(Text, newest).id
        key = self.key()
        for _ in range(2):
            with self.project.sessions.begin() as session:
                text = undo(session, self.people[who], key)
                assert (text.id if text else None) == expected
        if expected is not None:
            self.annotations[who, expected].pop()

    @rule(which=st.sampled_from([("a", "b"), ("b", "c"), ("c", "a")]))
    def merge(self, which: tuple[str, str]) -> None:
        gone, left = which
        with self.project.sessions.begin() as session:
            numbers = {one.name: one.number for one in session.scalars(select(Class))}
            try:
                merge_classes(session, numbers[gone], numbers[left])
            except ConflictError:
                session.rollback()

    @rule(how=st.sampled_from(["majority", "adjudication"]))
    def settle(self, how: str) -> None:
        self.project.decide({"on_disagreement": how})

    @rule()
    def settle_one(self) -> None:
        with self.project.sessions.begin() as session:
            apply_rule_to_some(session, 1)

    @rule(who=WHO, n=st.integers(1, 4))
    def ask(self, who: int, n: int) -> None:
        with self.project.sessions.begin() as session:
            lease_texts(session, self.people[who], n, read(session))

    @rule(label=st.none() | st.sampled_from(["a", "d"]))
    def more(self, label: str | None) -> None:
        with self.project.sessions.begin() as session:
            add(session, [(f"t{self.texts}", f"text {self.texts}", label)])
        self.texts += 1

    @invariant()
    def the_books_agree(self) -> None:
        with self.project.reads() as session:
            check_books(session)
            now = {one.name: classes.find(session, one.name).name for one in session.scalars(select(Class))}
            numbers = {person.number: who for who, person in enumerate(self.people)}
            found = session.execute(
                select(Vote.person_number, Text.id, Class.name)
                .join(Text, Text.row == Vote.text_row)
                .outerjoin(Class, Class.number == Vote.class_number)
                .where(Vote.person_number.in_(numbers))
            )
            expected = {place: now.get(given[-1] or "") for place, given in self.annotations.items() if given}
            assert {(numbers[who], id): name for who, id, name in found} == expected
            answers = session.scalar(select(func.count()).select_from(Annotation).where(Annotation.key.startswith("k")))
            assert answers is not None
            assert answers <= self.keys

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.project.close()
            self.folder.cleanup()


TestBooks = Books.TestCase
TestBooks.settings = settings(
    max_examples=5, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
