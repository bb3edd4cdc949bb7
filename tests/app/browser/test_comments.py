"""A comment is addressed to a person by @name, read, answered and done, in two browsers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from hybridal.app.people import add_person, sign_in
from hybridal.app.web.auth import cookie_name

from .served import Served
from .window import Window

pytestmark = pytest.mark.browser

HOSTILE = "<b>sarcasm</b>?"


def page_of(window: Window, app: Served, name: str, role: str, at: str) -> Page:
    """A page of a new person who is signed in."""
    with app.project.sessions.begin() as session:
        token = sign_in(session, add_person(session, name, role))
    context = window.person(routed=False)
    context.add_cookies([{"name": cookie_name(app.project), "value": token, "url": app.address}])
    page = context.new_page()
    page.goto(app.address + at)
    return page


def test_a_comment_is_addressed_by_name_answered_and_done(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    rea = page_of(window, app, "Rea", "reviewer", "/comments")
    ann = page_of(window, app, "Ann", "annotator", "/")
    expect(ann.locator("#text")).not_to_be_empty()
    text = ann.locator("#text").inner_text()
    ann.keyboard.press("c")
    expect(ann.get_by_label("Addressed to").locator("option")).to_have_count(4)
    ann.keyboard.type("is it @re")
    expect(ann.locator("#mentions li")).to_have_text(["the reviewers", "Rea"])
    shot(ann, "comment-names")
    ann.keyboard.press("ArrowDown")
    ann.keyboard.press("Enter")
    expect(ann.get_by_label("Addressed to")).to_have_value("2")
    ann.keyboard.type(HOSTILE)
    shot(ann, "comment-addressed")
    ann.keyboard.press("Enter")
    expect(ann.locator("#last")).to_have_text("Sent to Rea")
    expect(ann.locator("#text")).to_have_text(text)
    expect(ann.locator("#note")).to_be_hidden()
    ann.keyboard.press("1")  # keys are for the text again
    expect(ann.locator("#text")).not_to_have_text(text)

    rea.reload()
    expect(rea.get_by_role("link", name="Comments 1 unread")).to_be_visible()
    shot(rea, "comments")
    item = rea.locator("#items .item")
    expect(item.locator(".written")).to_have_text(text)
    expect(item.locator(".remark")).to_have_text(f"is it {HOSTILE}")
    item.get_by_role("button", name="Open").click()
    dialog = rea.get_by_role("dialog")
    expect(dialog.get_by_label("Answer")).to_be_focused()
    expect(rea.get_by_role("link", name="Comments", exact=True)).to_be_visible()  # it is read
    dialog.get_by_label("Answer").fill("Yes, it is.")
    shot(rea, "comment-thread")
    dialog.get_by_role("button", name="Mark as done").click()
    expect(dialog.locator(".threads .history")).to_contain_text("Rea marked it as done")
    dialog.get_by_role("button", name="Close").click()
    expect(rea.locator("#items .nothing")).to_be_visible()

    ann.goto(f"{app.address}/comments")
    expect(ann.locator("#unread")).to_have_text("1 unread")
    ann.get_by_label("Show").select_option("By you")
    expect(ann.locator("#items .item")).to_contain_text("done")
    ann.get_by_role("button", name="Open").click()
    expect(ann.get_by_role("dialog").locator(".threads")).to_contain_text("Yes, it is.")
    expect(ann.locator("#unread")).to_be_empty()
    form = ann.get_by_role("dialog").locator("form").last
    ann.get_by_role("dialog").locator("summary", has_text="New comment").click()
    form.get_by_label("New comment").fill("thanks")
    form.get_by_label("Addressed to").select_option("the reviewers")
    form.get_by_role("button", name="Send").click()
    expect(ann.locator(".threads > li")).to_have_count(2)
    expect(ann.locator(".threads > li").last).to_contain_text("Ann to the reviewers")
