from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from hybridal.app.labelling import classes
from hybridal.app.labelling.tally import counts

from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


@pytest.fixture
def page(window: Window, app: Served) -> Page:
    opened = window.open(app.link)
    opened.goto(f"{app.address}/settings")
    expect(opened.get_by_label("Name of a", exact=True)).to_be_visible()
    return opened


def names(app: Served) -> list[str]:
    with app.project.reads() as session:
        return [one.name for one in classes.active(session)]


def test_classes_are_renamed_moved_merged_and_added(page: Page, app: Served) -> None:
    page.get_by_label("Name of a", exact=True).fill("apple")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Move apple down").click()
    expect(page.locator("#class-list input").first).to_have_value("b")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("Merge c into another class").select_option(label="apple")
    expect(page.locator("#class-list li")).to_have_count(2)
    page.get_by_label("New class").fill("date")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#class-list li")).to_have_count(3)
    assert names(app) == ["b", "apple", "date"]


def test_a_name_that_is_taken_is_refused_with_a_sentence(page: Page, app: Served) -> None:
    page.get_by_label("New class").fill("b")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("There is a class 'b' already.")
    assert names(app) == ["a", "b", "c"]


def test_the_plan_changes_and_texts_are_added(page: Page, app: Served) -> None:
    page.get_by_label("Labels planned").fill("50")
    page.locator("#plan").get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    assert app.project.setting("budget") == 50
    file = {"name": "more.csv", "mimeType": "text/csv", "buffer": b"body\nnew one\nnew two\n"}
    page.locator("#upload [name=file]").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_label("Column of texts").fill("body")
    page.get_by_role("button", name="Add these texts").click()
    expect(page.locator("#upload-said")).to_have_text("2 texts added, 0 known already.")
    with app.project.reads() as session:
        assert counts(session)["texts"] == 22


def test_what_is_not_there_yet_is_said_instead_of_downloaded(page: Page, app: Served) -> None:
    page.get_by_role("link", name="Model folder").click()
    expect(page.locator("#toasts")).to_contain_text("model")
