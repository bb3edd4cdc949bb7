from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from hybridal.app.db.schema import Scoring
from hybridal.app.people import invite

from .served import Served
from .window import HURRY, Window

pytestmark = pytest.mark.browser


def test_reviewer_exports_labels_and_sees_which_exports_are_not_ready(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        _, token = invite(session, "reviewer")
    page = window.open(f"{app.address}/join/{token}")
    page.get_by_label("Name").fill("Rex")
    page.get_by_label("Password").fill("correct horse")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Export").click()
    expect(page.locator("#scoring-state")).to_contain_text("no model yet")  # before, links are the browser's own
    with page.expect_download() as download:
        page.get_by_role("link", name="JSONL").click()
    assert download.value.suggested_filename == "labels.jsonl"
    expect(page.locator("#no-model")).to_contain_text("once all texts are scored or the model is finished")
    expect(page.get_by_role("link", name="Model folder")).to_be_hidden()
    (app.project.exports / "model").mkdir(parents=True)
    page.reload()
    expect(page.locator("#no-model")).to_be_hidden()
    page.get_by_role("link", name="Model folder").click()  # gone by now, as where a trainer replaces it
    expect(page.locator("#toasts")).to_contain_text("There is no model to download yet")
    page.goto(f"{app.address}/api/export/model.zip")  # a link opened in a tab of its own
    expect(page.locator("main")).to_contain_text("There is no model to download yet")


def test_failed_download_shows_one_sentence(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/export", routed=True)
    expect(page.locator("#scoring-state")).to_contain_text("no model yet")
    page.route("**/labels.csv", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
    page.get_by_role("link", name="CSV").first.click()
    expect(page.locator("#toasts")).to_contain_text("The response was incomplete or not from the server")


def test_scoring_has_a_bar_and_can_be_paused(window: Window, app: Served, shot: Callable[[Page, str], None]) -> None:
    page = window.open(app.link, at="/export")
    state, bar = page.locator("#scoring-state"), page.locator("#scoring-bar")
    expect(state).to_have_text("There is no model yet. Label some texts first.")
    expect(bar).to_be_hidden()
    with app.project.sessions.begin() as session:
        scoring = session.get_one(Scoring, 1)
        scoring.done, scoring.total, scoring.seconds_left, scoring.round = 5, 20, 75.0, 2
    page.reload()
    expect(state).to_contain_text("The model of round 2 has scored 5 of 20 texts. About 1 min 15 s left")
    assert bar.evaluate("bar => bar.value") == 0.25
    shot(page, "export-scoring")
    page.get_by_role("button", name="Pause scoring").click()
    expect(state).to_have_text("Paused at 5 of 20 texts. The scores so far are kept.")
    page.add_init_script(HURRY)
    page.reload()
    page.get_by_role("button", name="Resume scoring").click()
    expect(state).to_contain_text("Training takes precedence")
    with app.project.sessions.begin() as session:
        session.get_one(Scoring, 1).done = 20
    expect(state).to_have_text("The model of round 2 has scored all 20 texts.")
    expect(bar).to_be_hidden()
    expect(page.get_by_role("button", name="Pause scoring")).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    shot(page, "export-phone")
