"""A comment is addressed to a person by @name, read, answered and done, in two browsers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select, update

from hybridal.app.db.schema import Comment, Person, Text
from hybridal.app.labelling.comments import begin_thread
from hybridal.app.people import User, add_person, sign_in
from hybridal.app.web.auth import cookie_name

from .axe import Axe
from .served import Served
from .test_axe import checked
from .window import Window

pytestmark = pytest.mark.browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
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
    expect(rea.locator("#items")).to_have_text("Nothing unread.")

    ann.goto(f"{app.address}/comments")
    expect(ann.locator("#unread")).to_have_text("1 unread")
    expect(ann.get_by_label("Show")).to_have_value("unread")  # also what is not addressed to her
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


def ask(app: Served, body: str, to: str, text: str = "t0", role: str = "annotator") -> None:
    """A new person addresses a comment to another one; the project has only this text to label."""
    with app.project.sessions.begin() as session:
        number = session.scalar(select(Person.number).where(Person.name == to))
        person = User(add_person(session, f"Ann {role}", role), "", "")
        begin_thread(session, person, text, number, body, f"key {role}")
        session.execute(update(Text).where(Text.id != text).values(split="pool", open=False))


def test_a_person_who_labels_a_text_sees_answers_and_ends_the_comments_on_it(
    window: Window, app: Served, shot: Callable[[Page, str], None], axe: Axe
) -> None:
    bo = page_of(window, app, "Bo", "annotator", "/")
    expect(bo.locator("#text")).not_to_be_empty()
    expect(bo.locator("#threads")).to_be_hidden()
    ask(app, f"is it {HOSTILE}", "Bo")
    bo.goto(app.address)
    threads = bo.get_by_role("region", name="Comments on this text")
    expect(threads.locator("li[data-thread]")).to_contain_text(["Ann annotator to Bo"])
    expect(threads.locator(".written")).to_have_text(f"is it {HOSTILE}")
    expect(bo.locator("#commented")).to_have_text("There are comments on this text.")
    expect(bo.get_by_role("link", name="Comments", exact=True)).to_be_visible()  # read after a while
    assert checked(bo, axe, "comments on a text") == []
    for scheme in SCHEMES:
        for name, width in (("desk", 1280), ("phone", 375)):
            bo.emulate_media(color_scheme=scheme)
            bo.set_viewport_size({"width": width, "height": 740})
            shot(bo, f"text-threads-{scheme}-{name}")
    answer = threads.get_by_label("Answer")
    answer.fill("1 is right")
    answer.press("Enter")
    expect(threads.locator(".history")).to_contain_text("1 is right")
    expect(bo.locator("#last")).to_have_text("Answer sent")
    expect(bo.locator("#body")).to_be_focused()
    threads.get_by_role("button", name="Mark as done").click()
    expect(threads.locator(".history")).to_contain_text("Bo marked it as done")
    threads.get_by_label("Answer").fill("thanks")  # goes along with the label
    bo.get_by_role("button", name="a", exact=False).and_(bo.locator("#classes button")).first.click()
    expect(bo.locator("#threads")).to_be_hidden()
    expect(bo.locator("#saved")).to_have_text("Saved")
    bo.keyboard.press("u")  # back to the text, whose thread is open again, and then done
    expect(threads.get_by_label("Answer")).to_be_visible()
    expect(bo.locator("#saved")).to_have_text("Saved")
    threads.get_by_role("button", name="Mark as done").click()
    expect(threads.get_by_role("button", name="Mark as done")).to_have_count(0)
    bo.reload()
    expect(threads.get_by_text("done", exact=True)).to_be_visible()
    expect(threads.get_by_label("Answer")).to_be_hidden()  # folded
    bo.keyboard.press("1")
    expect(bo.locator("#threads")).to_be_hidden()
    expect(bo.locator("#saved")).to_have_text("Saved")
    with app.project.reads() as session:
        written = session.scalars(select(Comment.body).order_by(Comment.number)).all()
    assert written == [f"is it {HOSTILE}", "1 is right", "", "thanks", ""]
    assert app.answers() == [("t0", "label"), ("t0", "withdraw"), ("t0", "label")]


def test_comments_to_others_are_not_beside_a_text_and_without_a_connection_answers_wait(
    window: Window, app: Served
) -> None:
    page_of(window, app, "Bo", "annotator", "/").close()
    cy = page_of(window, app, "Cy", "annotator", "/comments")
    ask(app, "for Bo", "Bo")
    ask(app, "for Cy", "Cy", role="reviewer")
    cy.goto(app.address)
    expect(cy.locator("#threads li[data-thread]")).to_have_count(1)
    expect(cy.locator("#threads")).to_contain_text("for Cy")
    cy.context.set_offline(True)
    cy.locator("#threads").get_by_label("Answer").fill("later")
    cy.get_by_role("button", name="Mark as done").click()
    expect(cy.locator("#saved")).to_have_text("1 annotation waiting to be sent")
    cy.context.set_offline(False)
    expect(cy.locator("#threads")).to_contain_text("Cy marked it as done")
