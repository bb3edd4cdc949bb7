from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select, text, update

from hybridal.app.db import search as by_words
from hybridal.app.db.schema import Person, Prediction, Text, fold
from hybridal.app.db.search import INDEX, VOCABULARY
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_search import (
    MAX_COUNTED,
    PAGE_SIZE,
    Conditions,
    Order,
    State,
    _filters,
    _predictions,
    rows_found,
    search,
)
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import add
from hybridal.app.project import Project

from ..made_up import make, me, people


def found(project: Project, *arguments: object) -> list[str]:
    with project.reads() as session:
        return [text.id for text in search(session, *arguments).texts]  # type: ignore[arg-type]


def say(project: Project, person: Person, id: str, name: str | None, **more: bool) -> None:
    with project.sessions.begin() as session:
        action = "label" if name else "skip"
        annotate(session, person, id, action, class_name=name, key=f"{person.number}-{id}-{more}", **more)  # type: ignore[arg-type]


def test_all_words_must_occur_and_signs_are_meant_literally(tmp_path: Path, db: str | None) -> None:
    bodies = ["A blue sky", "Blue is all", "100% grey", "snake_case \\ slash"]
    rows = [(str(i), body, None) for i, body in enumerate(bodies, start=1)]
    project = Project.create(Source("s", rows), tmp_path / "p", db=db)
    words = {"blue": "12", "BLUE sky": "1", "100%": "3", "_": "4", "\\": "4", "'": "", "": "1234"}
    assert {asked: "".join(found(project, asked)) for asked in words} == words
    project.close()


BODIES = [
    "Die Übung",
    "Er lebt in МОСКВА",
    "Straße",
    "CAFÉ crème",
    "Ёлка",
    "e\u0301t\u00e9",
    "東京タワー",
    'say "hi"',
    "x" * 9,
]


def test_words_are_found_without_case_and_accents_and_as_parts_in_every_script(tmp_path: Path, db: str | None) -> None:
    rows = [(str(i), body, None) for i, body in enumerate(BODIES, start=1)]
    project = Project.create(Source("s", rows), tmp_path / "p", db=db)
    words = {"übung": "1", "UBUN": "1", "москва": "2", "оскв": "2", "STRASSE": "3", "cafe": "4", "cafe creme": "4"}
    words |= {
        "елка": "5",
        "ete": "6",
        "ÉTÉ": "6",
        "東京": "7",
        "京タワ": "7",
        '"hi"': "8",
        "u": "1",
        "ёл": "5",
        "xxxx": "9",
    }
    assert {asked: "".join(found(project, asked)) for asked in words} == words
    project.close()


def test_search_without_an_index_finds_the_same(project: Project) -> None:
    with project.sessions.begin() as session:
        for name in ("added", "removed", "changed"):
            session.execute(text(f"DROP TRIGGER {INDEX}_{name}"))
        session.execute(text(f"DROP TABLE {VOCABULARY}"))
        session.execute(text(f"DROP TABLE {INDEX}"))
    assert found(project, "TEXT 17") == ["t17"]


def test_substrings_of_one_or_two_letters_are_found_and_many_matches_are_not_all_counted(
    tmp_path: Path, db: str | None
) -> None:
    rare = ["zq at the start", "in the mi zq ddle", "at the end zq", "zq", "nothing of it", "q z"]
    rows = [(str(at), body, None) for at, body in enumerate([*rare, *["a common one"] * MAX_COUNTED])]
    project = Project.create(Source("s", rows), tmp_path / "p", db=db)
    words = {"zq": "0123", "Q": "01235", "zq at": "02", "zq mi": "1", "zq common": "", "жу": "", "qz": ""}
    assert {asked: "".join(found(project, asked)) for asked in words} == words
    with project.reads() as session:
        many, few = search(session, "on"), search(session, "zq")
    assert (many.total, many.more, many.pages, len(many.texts)) == (MAX_COUNTED, False, 20, PAGE_SIZE)
    assert (few.total, few.more) == (4, False)
    with project.sessions.begin() as session:
        add(session, [("more", "and one more", None)])
    with project.reads() as session:
        many, last, exact = search(session, "on"), search(session, "on", page=21), search(session, "on", exact=True)
    assert (many.total, many.more, many.pages) == (MAX_COUNTED, True, 20)
    assert ([text.id for text in last.texts], last.total, last.more) == (["more"], MAX_COUNTED + 1, False)
    assert (exact.total, exact.more, len(exact.texts)) == (MAX_COUNTED + 1, False, PAGE_SIZE)
    project.close()


ODD = ["it's a \\ b", "a 'quoted' %_|&!:* word", 'say "hi"', "abcab", "bcabc", "ab\nca", "東京タワー", "e\u0301t\u00e9"]
ODD.append("x" * 80_000 + " needle")  # more than a vector of PostgreSQL holds
ASKED = ["it's", "\\", "'quoted'", "%_|&!:*", ":*", '"hi"', "abca", "bca", "ab", "b", "東京", "タワー", "京", "ÉTÉ"]
ASKED += ["needle", "ne", "ed", "x dle", "abcab ca", "a b", "a b qq", "nothing", "|", "' a", "\u0301"]


@pytest.mark.parametrize("common", [-1.0, 1.0])
def test_an_index_finds_the_same_as_a_look_at_each_text_in_every_list(
    tmp_path: Path, db: str | None, common: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_words, "COMMON", common)
    rows = [(str(at), body, None) for at, body in enumerate(ODD)]
    project = Project.create(Source("s", rows, ("a",)), tmp_path / "p", db=db)
    with project.sessions.begin() as session:
        fields = {"class_number": 1, "entropy": 0.5, "round": 1}
        for row in session.scalars(select(Text.row)):
            session.add(Prediction(text_row=row, probability=row / 10, **fields))
    for asked in ASKED:
        having = [id for id, body, _ in rows if all(one in fold(body) for one in fold(asked).split())]
        orders: tuple[Order | None, ...] = (None, "sure")
        for order, wanted in zip(orders, (having, having[::-1]), strict=True):
            with project.reads() as session:
                assert [text.id for text in search(session, asked, order=order).texts] == wanted, (asked, order)
    project.close()


def test_short_frequent_parts_that_rarely_meet_are_found_by_the_index(tmp_path: Path, db: str | None) -> None:
    rows = [(str(at), "zq" if at % 2 else "xj", None) for at in range(100)]
    project = Project.create(Source("s", [*rows, ("both", "xj and zq", None)]), tmp_path / "p", db=db)
    assert found(project, "zq xj") == ["both"]
    with project.reads() as session:
        assert INDEX in str(by_words.containing(session, "zq xj"))
        assert INDEX not in str(by_words.containing(session, "zq"))
    project.close()


@pytest.mark.postgres
def test_postgresql_finds_what_few_texts_have_by_its_index_as_soon_as_they_are_there(
    tmp_path: Path, empty_postgres: str
) -> None:
    project = make(tmp_path / "p", texts=500, db=empty_postgres)
    with project.sessions.begin() as session:
        add(session, [("rare", "zq", None)])
    with project.sessions.begin() as session:
        assert session.scalar(text("SELECT gin_clean_pending_list('text_search_by_parts')")) == 0
        for words in ("zq", "z", "text 317"):
            query = by_words.containing(session, words).compile(dialect=session.get_bind().dialect)
            plan = session.connection().exec_driver_sql(f"EXPLAIN {query}", query.params).scalars().all()
            assert any("text_search_by_parts" in step for step in plan), plan
    project.close()


@given(st.text(), st.text())
def test_folding_twice_changes_nothing_and_parts_stay_parts(before: str, after: str) -> None:
    assert fold(fold(before)) == fold(before)
    assert fold(after) in fold(f"{before} {after}")


def test_the_index_follows_texts_that_go(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    with project.sessions.begin() as session:
        session.execute(delete(Text).where(Text.id == "t17"))
        session.execute(update(Text).where(Text.id == "t3").values(folded=fold("Ganz anders")))
    assert found(project, "text 17") == []
    assert found(project, "ANDERS") == ["t3"]
    assert found(project, "text 3") == ["t13"]
    project.close()


def test_texts_are_found_by_their_status(project: Project) -> None:
    [other] = people(project, 1)
    say(project, me(project), "t1", "a", flagged=True)
    say(project, me(project), "t2", "b")
    say(project, me(project), "t3", None)
    say(project, me(project), "t4", None, flagged=True)
    say(project, other, "t4", "a")
    assert found(project, "", "", "labelled") == ["t4", "t2", "t1"]
    assert found(project, "", "a") == ["t4", "t1"]
    assert found(project, "", "a", "flagged") == ["t4", "t1"]
    assert found(project, "", "", "skipped") == ["t3"]
    assert len(found(project, "", "", "unlabelled")) == 17
    assert len(found(project, "", "", "validation")) == 4
    say(project, other, "t1", "b", decides=True)
    assert found(project, "", "", "flagged") == ["t4"]


def test_sets_are_found_by_the_classes_that_they_have_and_deny(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, multi_label=True, validation_first=0, validation_share=0.0)
    [other] = people(project, 1)
    given: dict[str, dict[str, Any]] = {
        "t1": {"class_names": ["a", "b"]},
        "t2": {"class_names": []},
        "t3": {"class_names": ["c"]},
        "t4": {"decisions": {"a": False, "b": True}},
        "t5": {"decisions": {"b": None, "c": False}},
    }
    with project.sessions.begin() as session:
        owner = me(project)
        for id, label in given.items():
            annotate(session, owner, id, "label", key=id, **label)
        annotate(session, other, "t6", "label", key="other", class_names=["a"])

    def listed(name: str = "", state: State | None = None, **more: Any) -> list[str]:
        with project.reads() as session:
            found = search(session, "", name, state, **more)
            if not {"by", "order"} & {*more}:
                conditions = Conditions(class_name=name, state=state, lacks=more.get("lacks", ""))
                assert len(rows_found(session, conditions)) == len(found.texts)
        assert found.total == len(found.texts)
        return sorted(text.id for text in found.texts)

    assert listed(lacks="a") == ["t2", "t3", "t4"]
    assert listed(lacks="b") == ["t2", "t3", "t6"]
    assert listed(lacks="c") == ["t1", "t2", "t5", "t6"]
    assert listed("a", lacks="b") == ["t6"]
    assert listed(lacks="unknown") == []
    assert listed(state="none") == ["t2"] == listed(state="none", lacks="c")
    assert listed(lacks="b", by=other.number) == ["t6"]
    assert listed(state="none", by=other.number) == [] == listed(lacks="a", order="sure")
    project.close()


def test_search_by_person_ignores_other_people(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    [other] = people(project, 1)
    say(project, me(project), "t1", "a", flagged=True)
    say(project, me(project), "t2", None)
    say(project, other, "t3", "b")
    say(project, other, "t4", None, flagged=True)
    say(project, other, "t1", "c")
    say(project, me(project), "t4", "a", decides=True)

    def theirs(name: str = "", state: State | None = None) -> list[str]:
        with project.reads() as session:
            return [text.id for text in search(session, "", name, state, by=other.number).texts]

    assert [theirs(name) for name in ("a", "b", "c")] == [[], ["t3"], ["t1"]]
    assert theirs(state="labelled") == ["t1", "t3"]
    assert theirs(state="skipped") == theirs(state="flagged") == ["t4"]
    assert len(theirs(state="unlabelled")) == 18
    project.close()


def test_pages_follow_one_another(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=PAGE_SIZE + 1)
    with project.reads() as session:
        first, second, third = (search(session, page=page) for page in (1, 2, 3))
    assert (first.total, first.pages, len(first.texts)) == (51, 2, 50)
    assert [text.id for text in second.texts] == ["t50"]
    assert third.texts == []
    project.close()


def test_texts_are_listed_by_class_probability_and_doubt(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    predictions = [(1, 0.9, 0.3), (2, 0.8, 0.9), (2, 0.95, 0.2), (2, 0.8, 0.5), (3, 0.4, 1.1)]  # of t1 to t5
    with project.sessions.begin() as session:
        rows = {text.id: text.row for text in session.scalars(select(Text))}
        for at, (number, sure, doubt) in enumerate(predictions, start=1):
            values = {"class_number": number, "probability": sure, "entropy": doubt, "round": 1}
            session.add(Prediction(text_row=rows[f"t{at}"], **values))
    [other] = people(project, 1)
    say(project, me(project), "t3", "a")
    say(project, other, "t4", None)

    def listed(words: str = "", name: str = "", state: State | None = None, **more: Any) -> list[str]:
        with project.reads() as session:
            found = search(session, words, name, state, **more)
        assert found.total == len(found.texts)
        return [text.id for text in found.texts]

    assert listed(order="sure") == ["t3", "t1", "t4", "t2", "t5"]
    assert listed(order="doubt") == ["t5", "t2", "t4", "t1", "t3"]
    assert listed(predicted="b") == ["t3", "t4", "t2"]
    assert listed(predicted="b", order="doubt", state="unlabelled") == ["t2", "t4"]
    assert listed(order="sure", state="labelled") == ["t3"] == listed(order="sure", name="a")
    assert listed(order="sure", state="skipped") == ["t4"]
    assert listed("text 2", predicted="b", state="unlabelled") == ["t2"]
    assert listed(order="sure", state="unlabelled", by=other.number) == ["t3", "t1", "t4", "t2", "t5"]
    assert listed(predicted="unknown") == []
    project.close()


def test_a_list_by_probability_walks_along_an_index(project: Project) -> None:
    with project.reads() as session:
        for query in (_predictions("", "sure"), _predictions("", "doubt"), _predictions("b", None)):
            free = query.where(*_filters(session, Prediction.text_row, Conditions(state="unlabelled"))).limit(50)
            sql = str(free.compile(session.get_bind(), compile_kwargs={"literal_binds": True}))
            plan = [step.detail for step in session.execute(text(f"EXPLAIN QUERY PLAN {sql}"))]
            assert any("INDEX predictions_" in step for step in plan), plan
            assert not any("TEMP B-TREE" in step for step in plan), plan


def test_texts_are_found_by_the_group_of_their_class(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    [other] = people(project, 1)
    with project.sessions.begin() as session:
        for name in ("a", "b"):
            classes.put_in_group(session, classes.find(session, name).number, "fruit")
        owner = me(project)
        for id, name in {"t1": "a", "t2": "b", "t3": "c"}.items():
            annotate(session, owner, id, "label", class_name=name, key=id)
        assert {text.id for text in search(session, class_group="fruit").texts} == {"t1", "t2"}
        assert search(session, class_group="fruit", class_name="a").total == 1
        assert search(session, class_group="fruit", by=other.number).total == 0
        assert search(session, class_group="unknown").total == 0
    project.close()


def test_sets_are_found_by_the_group_of_one_of_their_classes(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, multi_label=True)
    with project.sessions.begin() as session:
        classes.put_in_group(session, classes.find(session, "a").number, "fruit")
        owner = me(project)
        for id, names in {"t1": ["a", "c"], "t2": ["c"], "t3": []}.items():
            annotate(session, owner, id, "label", class_names=names, key=id)
        assert [text.id for text in search(session, class_group="fruit").texts] == ["t1"]
    project.close()
