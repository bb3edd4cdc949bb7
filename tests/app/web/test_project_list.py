from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.look_alike_groups import copy_answer, find_groups
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.app.web.project_list import summary

from ..made_up import me

OTHERS = ("The river is high.", "A stone tower.", "Bread and silver.")


def parcel(number: int) -> str:
    return f"Your parcel {number} has been shipped today, and it will arrive within three working days at your address."


def test_copies_to_look_alikes_are_neither_labels_nor_planned(tmp_path: Path) -> None:
    rows = [(f"t{n}", text, None) for n, text in enumerate([*map(parcel, range(7)), *OTHERS])]
    plain: dict[str, Any] = {"validation_first": 0, "validation_share": 0.0, "budget": 300}
    made = Project.create(Source("parcels", rows, ("a", "b")), tmp_path / "p", **plain)
    find_groups(made.sessions, made.reads)
    person = me(made)
    with made.sessions.begin() as session:
        annotate(session, person, "t0", "label", class_name="a", key="1")
    assert copy_answer(made.sessions, person, "1", {"class_name": "a"}, ()) == 6
    app = SimpleNamespace(state=SimpleNamespace(project=made))
    one: Any = SimpleNamespace(name="p", folder=made.folder, busy=False, problem="", served=app)
    host: Any = SimpleNamespace(archived={}, turns=SimpleNamespace(before=lambda _name: []))
    found = summary(host, one)
    assert (found.labelled, found.planned, found.texts) == (1, 4, 10)
    made.close()
