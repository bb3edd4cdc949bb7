from pathlib import Path

import pytest

from hybridal.app.labelling import classes
from hybridal.app.labelling.merge import merge
from hybridal.app.llm.annotator import annotator, choose_examples
from hybridal.app.llm.plan import Plan
from hybridal.errors import UserError

from .projects import llm_of, made, says


def test_it_is_told_of_the_active_classes_and_the_examples(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        bug, _ = classes.active(session)
        classes.describe(session, bug.number, "something is broken")
        says(session, "me", "t3", "idea")
        found = llm_of(session, shown=("t3", "gone"))
    assert found.instructions.classes == (("bug", "something is broken"), ("idea", ""))
    assert found.instructions.examples == (("text 3", "idea"),)


def test_other_instructions_make_another_annotator(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        names = {llm_of(session).name, llm_of(session, model="large").name}
        bug, _ = classes.active(session)
        classes.describe(session, bug.number, "something is broken")
        names.add(llm_of(session).name)
        says(session, "me", "t3", "idea")
        assert llm_of(session).name in names
        names.add(llm_of(session, shown=("t3",)).name)
    assert len(names) == 4


def test_it_needs_something_to_choose_from(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        bug, idea = classes.active(session)
        merge(session, bug.number, idea.number)
        with pytest.raises(UserError, match="two classes"):
            annotator(session, Plan(model="small")).insist()


def test_examples_are_the_first_texts_that_people_labelled(tmp_path: Path) -> None:
    project = made(tmp_path)
    with project.sessions.begin() as session:
        for id, name in (("t5", "bug"), ("t1", "bug"), ("t2", "bug"), ("t4", "idea")):
            says(session, "me", id, name)
        says(session, "me", "t6", "bug")
        says(session, "you", "t6", "idea")
        assert choose_examples(session, 0) == ()
        assert choose_examples(session, 1) == ("t5", "t4")
        assert choose_examples(session, 2) == ("t5", "t1", "t4")
