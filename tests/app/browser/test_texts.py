from __future__ import annotations

import re

import pytest
from playwright.sync_api import Dialog, expect
from sqlalchemy import select, update

from hybridal.app.db.schema import Prediction, Text
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.text_search import MAX_COUNTED
from hybridal.app.labelling.texts import add

from ..made_up import consensus, me
from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


def test_texts_are_deleted_one_by_one_and_all_that_were_found_and_come_back(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        annotate(session, me(app.project), "t12", "label", class_name="a", key="1")
    page = window.open(app.link)
    page.goto(f"{app.address}/texts?search=text+1")
    found, deleting = page.locator("#found"), page.get_by_role("button", name="Delete all 11 texts")
    page.once("dialog", lambda dialog: dialog.dismiss())
    deleting.click()
    page.once("dialog", lambda dialog: dialog.accept())
    deleting.click()
    expect(page.locator("#toasts")).to_contain_text("11 texts deleted.")
    expect(found).to_have_text("0 texts")
    assert consensus(app.project) == {}
    page.get_by_role("button", name="Undo").click()
    expect(found).to_have_text("11 texts")
    assert consensus(app.project) == {"t12": ("a", "people")}

    page.get_by_label("Search").fill("text 12")
    expect(found).to_have_text("1 text")
    page.get_by_role("button", name="Open").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(found).to_have_text("0 texts")
    page.get_by_label("Search").fill("")
    expect(found).to_have_text("19 texts")
    expect(page.get_by_role("button", name="Delete all")).to_have_count(0)  # no filter is set

    page.get_by_label("State").select_option("deleted")
    expect(found).to_have_text("1 text")
    expect(page.locator(".item")).to_contain_text("deleted")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Save")).to_have_count(0)
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(found).to_have_text("0 texts")
    with app.project.reads() as session:
        assert counts(session)["texts"] == 20


def test_a_text_that_was_skipped_and_undone_shows_its_history(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        annotate(session, me(app.project), "t12", "skip", key="1")
        undo(session, me(app.project), "2")
    page = window.open(app.link)
    page.goto(f"{app.address}/texts?search=text+12")
    page.get_by_role("button", name="Open").click()
    history = page.get_by_role("dialog").locator(".history li")
    expect(history).to_have_text([re.compile("^me undid that"), re.compile("^me skipped it")])


def test_large_counts_are_approximate_until_texts_are_deleted(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        add(session, [(f"m{at}", f"one of many {at}", None) for at in range(MAX_COUNTED + 1)])
    page = window.open(app.link)
    page.goto(f"{app.address}/texts?search=many&page=20")
    found, pager = page.locator("#found"), page.locator("#pager")
    expect(found).to_have_text("more than 1,000 texts")
    expect(pager).to_contain_text("Page 20 of more than 20")
    pager.get_by_role("button", name="Next").click()
    expect(found).to_have_text("1,001 texts")
    expect(pager).to_contain_text("Page 21 of 21")
    expect(page.locator(".item")).to_have_count(1)
    expect(pager.get_by_role("button", name="Next")).to_be_disabled()

    pager.get_by_role("button", name="Back").click()
    messages: list[str] = []

    def agree(dialog: Dialog) -> None:
        messages.append(dialog.message)
        dialog.accept()

    page.once("dialog", agree)
    page.get_by_role("button", name="Delete all texts found").click()
    expect(page.locator("#toasts")).to_contain_text("1,001 texts deleted.")
    assert messages[0].startswith("Delete all 1,001 texts found?")
    with app.project.reads() as session:
        assert counts(session)["texts"] == 20


def test_predictions_of_a_list_are_accepted_by_a_key(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        session.execute(update(Text).values(split="pool"))
        session.execute(update(Text).where(Text.id == "t2").values(split="validation"))
        for row in session.scalars(select(Text.row).where(Text.row <= 4)).all():
            session.add(Prediction(text_row=row, class_number=2, probability=0.9, entropy=0.3, round=1))
    page = window.open(app.link, at="/texts?predicted=b")
    expect(page.locator(".item")).to_have_count(4)
    expect(page.get_by_role("button", name="Accept")).to_have_count(3)  # not of the validation text
    page.keyboard.press(".")
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    expect(page.locator("[data-id=t3] .facts")).not_to_contain_text("no label")
    expect(page.locator("[data-id=t1]").get_by_role("button", name="Accept")).to_be_focused()
    page.keyboard.press(".")
    expect(page.locator("[data-id=t1] .facts")).not_to_contain_text("no label")
    assert consensus(app.project) == {"t3": ("b", "people"), "t1": ("b", "people")}
    page.locator("#toasts").get_by_role("button", name="Undo").last.click()
    expect(page.locator("[data-id=t1] .facts")).to_contain_text("no label")
