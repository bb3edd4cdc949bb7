"""Sets of classes in the database: annotations, undo, merging, deleting, and a state machine against a dict."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import func, select

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Class, LabelSet, Person, Text, Vote
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.bulk import decide_many, undo_many
from hybridal.app.labelling.consensus import counts, settled_by_text, votes_on
from hybridal.app.labelling.removal import delete_texts, restore_texts
from hybridal.app.labelling.removed_classes import remove, rows_to_update, update_texts
from hybridal.app.labelling.requirements import apply_rule_to_some
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.labelling.text_search import search
from hybridal.app.labelling.texts import add
from hybridal.app.people import machine_annotator
from hybridal.app.project import Project
from hybridal.errors import UserError
from hybridal.tasks.answers import Decisions

from ..made_up import check_books, make, me, merge_classes, people


def settled(project: Project) -> dict[str, dict[str, bool | None]]:
    """The decision on each class of each text that has a consensus."""
    with project.reads() as session:
        names = {one.name: one.number for one in classes.current(session)}
        rows = dict(session.execute(select(Text.row, Text.id)).all())
        return {
            rows[row]: {name: found.label.decision(number) for name, number in names.items()}  # type: ignore[union-attr]
            for row, found in settled_by_text(session, [*rows]).items()
        }


def test_sets_and_decisions_accumulate_and_are_undone(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, multi_label=True)
    [ann] = people(project, 1)

    def say(key: str, **label: object) -> None:
        with project.sessions.begin() as session:
            annotate(session, ann, "t1", "label", key=key, **label)  # type: ignore[arg-type]
            check_books(session)

    say("1", decisions={"a": True})
    say("2", decisions={"b": False})
    say("2", decisions={"b": False})
    assert settled(project) == {"t1": {"a": True, "b": False, "c": None}}
    with project.reads() as session:
        assert session.scalars(select(Text.open).where(Text.id == "t1")).one()
    say("3", decisions={"c": False})  # every class is decided: the set is whole
    with project.reads() as session:
        text = session.scalars(select(Text).where(Text.id == "t1")).one()
        assert (text.open, text.vote_count) == (False, 1)
        assert votes_on(session, text)[ann.number].label == ClassSet.of([1])
    say("4", class_names=[])
    assert settled(project) == {"t1": {"a": False, "b": False, "c": False}}
    for key, expected in (
        ("u1", {"a": True, "b": False, "c": False}),
        ("u2", {"a": True, "b": False, "c": None}),
        ("u3", {"a": True, "b": None, "c": None}),
    ):
        with project.sessions.begin() as session:
            undo(session, ann, key)
            check_books(session)
        assert settled(project) == {"t1": expected}
    project.close()


@pytest.mark.parametrize(
    ("multi_label", "label", "sentence"),
    [
        (True, {"class_name": "a"}, "may have several classes: give `classes`"),
        (True, {}, "needs either `classes`"),
        (True, {"class_names": ["a"], "decisions": {"b": True}}, "needs either `classes`"),
        (True, {"decisions": {}}, "at least one class"),
        (True, {"class_names": ["x"]}, "There is no class 'x'"),
        (False, {"class_names": ["a"]}, "exactly one class: give `class`"),
        (False, {"decisions": {"a": True}}, "exactly one class: give `class`"),
    ],
)
def test_the_wrong_kind_of_label_is_refused(
    tmp_path: Path, multi_label: bool, label: dict[str, object], sentence: str
) -> None:
    project = make(tmp_path / "p", multi_label=multi_label)
    with project.sessions.begin() as session, pytest.raises((UserError, MissingError), match=sentence):
        annotate(session, me(project), "t1", "label", key="1", **label)  # type: ignore[arg-type]
    project.close()


def test_the_kind_of_a_project_is_fixed(tmp_path: Path) -> None:
    project = make(tmp_path / "p", multi_label=True)
    project.decide({"multi_label": True})
    with pytest.raises(UserError, match="fixed when a project is made"):
        project.decide({"multi_label": False})
    project.close()


def test_classes_that_are_merged_or_deleted_keep_their_meaning_in_sets(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, multi_label=True)
    ann, bo = people(project, 2)
    with project.sessions.begin() as session:
        number = {one.name: one.number for one in classes.active(session)}
        annotate(session, ann, "t1", "label", class_names=["a", "c"], key="1")
        annotate(session, bo, "t1", "label", class_names=["b", "c"], key="2")
        annotate(session, ann, "t2", "label", decisions={"c": True}, key="3")
        annotate(session, ann, "t3", "label", class_names=["a"], key="4")
    assert settled(project).keys() == {"t2", "t3"}
    with project.sessions.begin() as session:
        merge_classes(session, number["a"], number["b"])
        check_books(session)
    assert settled(project)["t1"] == {"b": True, "c": True}
    with project.sessions.begin() as session:
        assert remove(session, number["c"]) == 2
        update_texts(session, rows_to_update(session))
        check_books(session)
        assert not rows_to_update(session)
        undo(session, bo, "u")  # leaves Ann's answer alone
        check_books(session)
        assert search(session, class_name="b").total == 2
    assert settled(project) == {"t1": {"b": True}, "t3": {"b": True}}
    project.close()


def test_labels_of_a_file_may_be_sets(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=1, db=db, multi_label=True, validation_first=0)
    rows = [("x", "both", frozenset(["a", "d"])), ("y", "none", frozenset()), ("z", "unknown", None)]
    with project.sessions.begin() as session:
        add(session, rows)
        check_books(session)
    found = settled(project)
    assert found == {"x": {"a": True, "b": False, "c": False, "d": True}, "y": dict.fromkeys("abcd", False)}
    project.close()


def test_a_reviewer_keeps_the_rest_of_their_own_answer(tmp_path: Path) -> None:
    project = make(tmp_path / "p", multi_label=True)
    with project.sessions.begin() as session:
        annotate(session, me(project), "t1", "label", class_names=["a", "b"], flagged=True, key="1")
        annotate(session, me(project), "t1", "label", decisions={"a": False}, key="2", decides=True)
        check_books(session)
        assert counts(session)["flagged"] == 0
    assert settled(project) == {"t1": {"a": False, "b": True, "c": False}}
    with project.sessions.begin() as session:
        undo(session, me(project), "3")
        check_books(session)
    assert settled(project) == {"t1": {"a": True, "b": True, "c": False}}
    project.close()


def test_a_file_may_decide_some_classes(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=1, multi_label=True, validation_first=0)
    some, every = Decisions.of({"a": True, "b": False}), Decisions.of({"a": True, "b": False, "c": False})
    with project.sessions.begin() as session:
        add(session, [("x", "some", some), ("y", "every", every)])
        check_books(session)
        assert dict(session.execute(select(Text.id, Text.open)).all()) == {"t0": True, "x": True, "y": False}
    assert settled(project) == {"x": {"a": True, "b": False, "c": None}, "y": {"a": True, "b": False, "c": False}}
    project.close()


def test_equal_sets_share_a_row(tmp_path: Path) -> None:
    project = make(tmp_path / "p", multi_label=True)
    with project.sessions.begin() as session:
        first = store_sets(session, [ClassSet.of([1, 2]), ClassSet.of([2, 1]), ClassSet.of([])])
        assert store_sets(session, [ClassSet.of([2, 1])]) == {ClassSet.of([1, 2]): first[ClassSet.of([1, 2])]}
        assert session.scalar(select(func.count()).select_from(LabelSet)) == 2
    project.close()


def test_one_class_is_decided_for_many_texts_and_undone(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, multi_label=True, validation_first=0, validation_share=0.0)
    ann, bo = people(project, 2)
    with project.sessions.begin() as session:
        annotate(session, ann, "t1", "label", decisions={"b": True}, key="1")
        annotate(session, bo, "t2", "label", class_names=["b"], key="2")
        annotate(session, bo, "t3", "label", decisions={"a": False}, key="3")
        annotate(session, bo, "t4", "label", decisions={"b": False}, key="4")
    for _ in range(2):
        assert decide_many(project.sessions, ann, ["t1", "t2", "t3", "t4", "t5", "no"], "a", True, "k") == 3
    before = settled(project)
    assert before["t1"] == {"a": True, "b": True, "c": None}
    assert before["t2"] == {"a": False, "b": True, "c": False}
    assert before["t3"] == {"a": False, "b": None, "c": None}
    assert before["t4"] == {"a": True, "b": False, "c": None}
    assert before["t5"] == {"a": True, "b": None, "c": None}
    assert undo_many(project.sessions, ann, "u", "k") == 3
    after = settled(project)
    assert (after["t1"], after["t4"], "t5" in after) == (
        {"a": None, "b": True, "c": None},
        {"a": None, "b": False, "c": None},
        False,
    )
    with project.sessions.begin() as session:
        check_books(session)
    project.close()


WHO, WHICH, NAME = st.integers(0, 2), st.integers(0, 3), st.sampled_from("abc")


class SetBooks(RuleBasedStateMachine):
    """Two people and an LLM give sets, decisions and skips, undo and merge; a dict is the reference."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.project = make(Path(self.folder.name) / "p", texts=4, overlap=0.5, validation_first=1, multi_label=True)
        with self.project.sessions.begin() as session:
            llm = machine_annotator(session, "(llm)", "llm")
            self.number = {one.name: one.number for one in classes.active(session)}
        self.people: list[Person] = [me(self.project), *people(self.project, 1), llm]
        # The answers of each person to each text: None for a skip, or decisions by class, and "*" for a whole set.
        self.answers: dict[tuple[int, str], list[dict[str, bool] | None]] = {}
        self.keys = 0
        self.merged: dict[str, str] = {}
        self.deleted: set[str] = set()

    def annotate(self, who: int, which: int, action: str, answer: dict[str, bool] | None, **more: object) -> None:
        self.keys += 1
        id = f"t{which}"
        if id in self.deleted:
            return
        for _ in range(2):
            with self.project.sessions.begin() as session:
                annotate(session, self.people[who], id, action, key=f"k{self.keys}", **more)  # type: ignore[arg-type]
        self.answers.setdefault((who, id), []).append(answer)

    @rule(who=WHO, which=WHICH, names=st.sets(NAME))
    def whole(self, who: int, which: int, names: set[str]) -> None:
        self.annotate(who, which, "label", {"*": True} | dict.fromkeys(names, True), class_names=sorted(names))

    @rule(who=WHO, which=WHICH, decisions=st.dictionaries(NAME, st.booleans(), min_size=1))
    def some(self, who: int, which: int, decisions: dict[str, bool]) -> None:
        if len({self.merged.get(name, name) for name in decisions}) == len(decisions):
            self.annotate(who, which, "label", decisions, decisions=decisions)

    @rule(who=WHO, which=WHICH)
    def skip(self, who: int, which: int) -> None:
        self.annotate(who, which, "skip", None)

    @rule(who=WHO)
    def take_back(self, who: int) -> None:
        self.keys += 1
        with self.project.sessions.begin() as session:
            text = undo(session, self.people[who], f"k{self.keys}")
        if text is not None:
            self.answers[who, text.id].pop()

    @rule(which=WHICH)
    def delete_or_restore(self, which: int) -> None:
        id = f"t{which}"
        with self.project.sessions.begin() as session:
            row = session.scalars(select(Text.row).where(Text.id == id)).all()
            assert (restore_texts(session, row) if id in self.deleted else delete_texts(session, row, at=1.0)) == 1
        self.deleted ^= {id}

    @rule(how=st.sampled_from(["majority", "adjudication"]), per=st.sampled_from(["set", "class"]))
    def settle(self, how: str, per: str) -> None:
        self.project.decide({"on_disagreement": how, "consensus_per": per})

    @rule()
    def settle_one(self) -> None:
        with self.project.sessions.begin() as session:
            apply_rule_to_some(session, 1)

    @rule()
    def merge(self) -> None:
        with self.project.sessions.begin() as session:
            try:
                merge_classes(session, self.number["a"], self.number["b"])
                self.merged["a"] = "b"
            except ConflictError:
                session.rollback()

    @invariant()
    def the_books_agree(self) -> None:
        with self.project.reads() as session:
            check_books(session)
            numbers = {person.number: who for who, person in enumerate(self.people)}
            found = session.execute(
                select(Vote.person_number, Text.id, LabelSet.classes)
                .join(Text, Text.row == Vote.text_row)
                .outerjoin(LabelSet, LabelSet.number == Vote.label_set)
                .where(Vote.person_number.in_(numbers))
            )
            votes = {(numbers[who], id): label for who, id, label in found}
            live = [one.name for one in session.scalars(select(Class)) if one.merged_into is None]
        answered = {place for place, given in self.answers.items() if given}
        assert votes.keys() <= answered
        if self.merged:  # what a decision on a merged class means is tested above
            return
        assert votes.keys() == answered
        for place, label in votes.items():
            expected: dict[str, bool | None] | None = None
            for given in self.answers[place]:
                if given is None:
                    expected = None
                elif "*" in given:
                    expected = {name: name in given for name in live}
                else:
                    expected = {**(expected or dict.fromkeys(live)), **given}
            shown = None if label is None else {name: label.decision(self.number[name]) for name in live}
            assert shown == expected

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.project.close()
            self.folder.cleanup()


TestSetBooks = SetBooks.TestCase
TestSetBooks.settings = settings(
    max_examples=6, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
