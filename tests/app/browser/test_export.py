from __future__ import annotations

import pytest
from playwright.sync_api import expect

from hybridal.app.people import invite

from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


def test_a_reviewer_takes_labels_away_and_is_told_what_is_not_there_yet(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        _, token = invite(session, "reviewer")
    page = window.open(f"{app.address}/join/{token}")
    page.get_by_label("Name").fill("Rex")
    page.get_by_label("Password").fill("correct horse")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Export").click()
    expect(page.get_by_role("button", name="Score all texts")).to_be_enabled()  # before, links are the browser's own
    with page.expect_download() as download:
        page.get_by_role("link", name="JSONL").click()
    assert download.value.suggested_filename == "labels.jsonl"
    page.get_by_role("link", name="Model folder").click()
    expect(page.locator("#toasts")).to_contain_text("model")


def test_a_download_that_something_else_answers_is_told_in_a_sentence(window: Window, app: Served) -> None:
    page = window.open(app.link)
    page.goto(f"{app.address}/export")
    expect(page.get_by_role("button", name="Score all texts")).to_be_enabled()
    page.route("**/labels.csv", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
    page.get_by_role("link", name="CSV").first.click()
    expect(page.locator("#toasts")).to_contain_text("The response was incomplete or not from the server")
