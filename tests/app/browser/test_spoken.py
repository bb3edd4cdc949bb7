"""Changes are announced to screen readers: once, in order, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from hybridal.app.db.schema import Prediction, Scoring, Text

from ..made_up import make
from .served import Served, served
from .test_label import MANY, saved, shown
from .test_start import served as several
from .window import HURRY, Window

pytestmark = pytest.mark.browser

SPOKEN = Path(__file__).with_name("spoken.js").read_text(encoding="utf-8")


def listening(page: Page, hurried: bool = False) -> Page:
    """A page whose announcements are recorded from the start."""
    if hurried:
        page.add_init_script(HURRY)
    page.add_init_script(SPOKEN)
    page.reload()
    return page


def heard(page: Page) -> list[str]:
    """The announcements since the last call."""
    words: list[str] = page.evaluate("spoken.splice(0)")
    return words


def predict(app: Served) -> None:
    with app.project.sessions.begin() as session:
        for row in session.scalars(select(Text.row)).all():
            session.add(Prediction(text_row=row, class_number=2, probability=0.9, entropy=0.3, round=1))


def test_annotation_flag_and_undo_are_announced_before_the_next_text(window: Window, app: Served) -> None:
    page = listening(window.open(app.link))
    first = shown(page)
    saved(page)
    heard(page)
    page.keyboard.press("1")
    saved(page)
    second = shown(page)
    assert heard(page) == ["Labelled “a”", second]
    page.keyboard.press("f")
    page.keyboard.press("f")
    assert heard(page) == ["Flagged", "Flag removed"]
    with page.expect_response("**/api/undo"):
        page.keyboard.press("u")
    saved(page)
    assert heard(page) == ["Undone", first]


def test_prediction_is_announced_with_the_text(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", show_predictions=True) as app:
        predict(app)
        page = listening(window.open(app.link))
        text = shown(page)
        assert heard(page)[-2:] == [text, "Predicted: b, 90%"]
        page.keyboard.press(".")
        text = shown(page)
        assert heard(page) == ["Labelled “b”", text, "Predicted: b, 90%"]
        accept = page.get_by_role("button", name="Accept", exact=True)
        expect(accept).to_have_accessible_description("Predicted: b, 90%")


def test_empty_queue_is_announced_once_and_its_links_keep_the_focus(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", ["the only one"]) as app:
        page = listening(window.open(app.link, routed=True), hurried=True)
        shown(page)
        page.keyboard.press("1")
        export = page.get_by_role("link", name="Export the labels")
        export.focus()
        for _ in range(2):  # it goes on looking
            page.wait_for_event("response", lambda reply: "/api/next" in reply.url)
        saved(page)
        expect(export).to_be_focused()
        assert len([words for words in heard(page) if words.startswith("Nothing to label")]) == 1


def test_unsent_annotations_and_their_delivery_are_announced(window: Window, app: Served) -> None:
    page = listening(window.open(app.link, routed=True), hurried=True)
    shown(page)
    page.route("**/api/annotations", lambda route: route.abort(), times=1)
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_have_text("1 annotation waiting to be sent")
    saved(page)
    late = heard(page)
    assert late.index("1 annotation waiting to be sent") < late.index("Saved")
    page.keyboard.press("2")
    saved(page)
    assert "Saved" not in heard(page)


def test_class_search_announces_the_choice_of_enter(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", classes=MANY) as app:
        page = listening(window.open(app.link))
        shown(page)
        page.keyboard.press("/")
        page.get_by_role("searchbox").fill("car arr")
        assert heard(page)[-1] == "Enter picks card_arrival, the first of 2"
        page.get_by_role("searchbox").fill("zzz")
        assert heard(page)[-1] == "No class matches"


def test_scoring_is_announced_at_its_end_only(window: Window, app: Served) -> None:
    def scored(done: int) -> None:
        with app.project.sessions.begin() as session:
            scoring = session.get_one(Scoring, 1)
            scoring.done, scoring.total, scoring.round = done, 20, 2

    scored(5)
    page = listening(window.open(app.link, at="/export"), hurried=True)
    for done in (5, 6, 7):
        scored(done)
        expect(page.locator("#scoring-state")).to_contain_text(f"{done} of 20 texts")
    scored(20)
    expect(page.locator("#scoring-state")).to_contain_text("has scored all 20")
    assert [words for words in heard(page) if "scored" in words] == ["The model of round 2 has scored all 20 texts."]


def test_lost_server_is_announced_once_on_the_start_page(window: Window, tmp_path: Path) -> None:
    make(tmp_path / "all" / "old", classes=()).close()
    with several(tmp_path / "all") as link:
        page = listening(window.open(link, routed=True), hurried=True)
        expect(page.locator("#projects > li")).to_have_count(1)
        page.route("**/api/projects", lambda route: route.abort())
        for _ in range(3):
            page.wait_for_event("requestfailed")
        assert heard(page) == ["The server cannot be reached."]
