from __future__ import annotations

from itertools import combinations, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from hybridal.app.insight.annotator_agreement import ratings
from hybridal.app.insight.confused_classes import confused_classes
from hybridal.app.insight.set_votes import set_ratings
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_search import search
from hybridal.app.project import Project
from hybridal.tasks.answers import Decisions

from ..made_up import make, people

ANSWERS = st.lists(
    st.tuples(st.sampled_from("stuvw"), st.sampled_from(["Ann", "Bo", "Cy"]), st.frozensets(st.sampled_from("abcd"))),
    unique_by=lambda answer: answer[:2],
    max_size=15,
)


@given(ANSWERS)
def test_pairs_are_counted_by_text(answers: list[tuple[str, str, frozenset[str]]]) -> None:
    found = {(one.one, one.other): one for one in confused_classes(answers)}
    texts = [[mine for text, _, mine in answers if text == name] for name in "stuvw"]
    shared = [given for given in texts if len(given) > 1]
    for pair in combinations("abcd", 2):
        a, b = pair
        times = sum(
            any(a in x and b not in x and b in y and a not in y for x, y in permutations(given, 2)) for given in shared
        )
        of = sum(any(a in one or b in one for one in given) for given in shared)
        assert (found[pair].texts, found[pair].of) == (times, of) if times else pair not in found
        if times:
            interval = proportion_confint(times, of, method="wilson")
            assert (found[pair].low, found[pair].high) == pytest.approx(interval, abs=1e-12)


def test_open_decisions_are_no_confusion() -> None:
    answers = [("t", "Ann", Decisions.of({"a": True})), ("t", "Bo", Decisions.of({"b": True}))]
    assert confused_classes(answers) == []


@pytest.mark.parametrize("several", [False, True])
def test_the_texts_of_a_pair_are_listed(tmp_path: Path, several: bool) -> None:
    project: Project = make(tmp_path / "p", texts=4, multi_label=several)
    ann, bo = people(project, 2)
    with project.sessions.begin() as session:
        for id, mine, theirs in [("t0", "a", "b"), ("t1", "a", "a"), ("t2", "b", "a"), ("t3", "c", "a")]:
            for person, name in ((ann, mine), (bo, theirs)):
                label = {"class_names": [name]} if several else {"class_name": name}
                annotate(session, person, id, "label", key=f"{id}{person.number}", **label)
    with project.reads() as session:
        found = confused_classes(set_ratings(session) if several else ratings(session))
        assert [(one.one, one.other, one.texts, one.of) for one in found] == [("a", "b", 2, 4), ("a", "c", 1, 4)]
        assert {text.id for text in search(session, confused=("a", "b")).texts} == {"t0", "t2"}
        assert search(session, confused=("b", "c")).total == 0
    project.close()
