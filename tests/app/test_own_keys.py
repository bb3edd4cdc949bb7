from __future__ import annotations

import re
from pathlib import Path

import pytest

import hybridal.app.web
from hybridal.app.own_keys import CHANGEABLE_KEYS, set_own_keys
from hybridal.app.project import Project
from hybridal.errors import UserError

from .made_up import me


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"s": "5"}, "digits are keys of classes"),
        ({"s": " "}, "Type a letter or a sign"),
        ({"s": "xy"}, "Type a letter or a sign"),
        ({"s": ""}, "Type a letter or a sign"),
        ({"s": 7}, "Type a letter or a sign"),
        ({"s": "x", "u": "x"}, "Two functions"),
        ({"q": "x"}, "Only the keys of functions"),
    ],
)
def test_unusable_keys_are_refused(keys: dict[str, str], problem: str, project: Project) -> None:
    with pytest.raises(UserError, match=problem), project.sessions.begin() as session:
        set_own_keys(session, me(project), keys)
    assert me(project).own_keys is None


def test_keys_of_a_person_replace_those_before(project: Project) -> None:
    person = me(project)
    for keys in ({"s": "ß", "u": "ع"}, {}):
        with project.sessions.begin() as session:
            set_own_keys(session, person, keys)
        assert me(project).own_keys == keys


def test_all_functions_of_the_page_can_be_changed() -> None:
    page = (Path(hybridal.app.web.__file__).parent / "templates" / "label.html").read_text()
    assert {*re.findall(r'data-key="(.)"', page)} == CHANGEABLE_KEYS
