"""Accessibility: axe-core reports no violation on any page, in light and dark mode, on a desktop and a small phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from hybridal.app.db.schema import Prediction, Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.comments import begin_thread
from hybridal.app.people import User, add_person
from hybridal.app.project_settings import write

from ..made_up import make, me
from .axe import Axe
from .served import Served
from .test_looks import PATHS
from .test_progress import PROGRESS
from .test_start import served as several
from .window import Window, go_and_settle

pytestmark = pytest.mark.browser

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 320, "height": 640}
COLOURS = "color-contrast"


def furnish(app: Served) -> None:
    """Add an example of everything that pages show."""
    with app.project.sessions.begin() as session:
        ada, owner = add_person(session, "Ada", "annotator"), me(app.project)
        annotate(session, owner, "t3", "label", class_name="a", key="1", flagged=True, comment="hm")
        annotate(session, ada, "t3", "label", class_name="b", key="2")
        annotate(session, owner, "t4", "label", class_name="a", key="3")
        begin_thread(session, User(ada, "", ""), "t3", owner.number, "Why *a*?", "4")
        classes.describe(session, 1, "What *a* is", "an example\nanother")
        classes.archive(session, classes.add(session, ["d"])[0].number, "out")
        write(
            session, {"guidelines": "# How to label\n\n**Read** it. [More](https://example.com)\n\n|a|b|\n|-|-|\n|1|2|"}
        )
        for row in session.scalars(select(Text.row)).all():
            session.add(Prediction(text_row=row, class_number=2, probability=0.9, entropy=0.3, round=1))


def checked(page: Page, axe: Axe, where: str) -> list[str]:
    """The violations on a page, by all rules once per size and colour scheme; `test_looks` has a phone's colours."""
    found: list[str] = []
    for size, scheme, *rules in ((DESK, "light"), (DESK, "dark", COLOURS), (PHONE, "dark")):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        found += [f"{where} ({scheme}, {size}) {fault}" for fault in axe.faults(page, *rules)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{where} ({size}) scrolls sideways")
    if page.get_by_role("heading", level=1).count() > 1:
        found.append(f"{where} has several headings of the first level")
    return found


def test_axe_reports_no_violation_on_any_page(window: Window, app: Served, axe: Axe) -> None:
    furnish(app)
    page = window.open(app.link, routed=True)
    page.route("**/api/progress", lambda route: route.fulfill(json=PROGRESS))
    faults: list[str] = []
    for path in PATHS:
        go_and_settle(page, app.address + path)
        expect(page.locator("#trainer p")).not_to_be_empty()
        if path == "/programs/api":  # a page of a thousand elements, which are a few kinds
            faults += axe.faults(page)
            continue
        faults += checked(page, axe, path)
        if path == "/":
            page.keyboard.press("?")
            faults += checked(page, axe, "help")
        if path == "/texts":
            page.get_by_role("button", name="Open").nth(3).click()
            expect(page.get_by_role("dialog")).to_be_visible()
            faults += checked(page, axe, "a text")
    stranger = window.open(f"{app.address}/login", reduced_motion="reduce")
    for path in ("/login", "/join/nothing", "/nowhere"):
        stranger.goto(app.address + path)
        faults += checked(stranger, axe, path)
    assert faults == []
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert "button-name" in "".join(axe.faults(page))  # it would have told


def test_nor_has_the_start_page_of_a_server(window: Window, tmp_path: Path, axe: Axe) -> None:
    make(tmp_path / "all" / "old", classes=()).close()  # nothing to learn: no trainer is started for it
    with several(tmp_path / "all") as link:
        page = window.open(link)
        expect(page.locator("#projects > li")).to_have_count(1)
        assert checked(page, axe, "start") == []
