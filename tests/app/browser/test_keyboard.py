"""Use without a mouse: focus is never lost, and nothing happens before it is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from hybridal.app.db.schema import Scoring, Trainer
from hybridal.app.people import add_person, invite

from ..made_up import me
from .served import Served, served
from .test_axe import furnish
from .test_label import shown
from .test_review import says
from .window import Window

pytestmark = pytest.mark.browser

PHONE = {"width": 320, "height": 640}


def test_focus_returns_to_the_text_after_saving_in_its_dialog(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/texts")
    text = page.get_by_role("group", name="text 6", exact=True)
    text.get_by_role("button", name="Open").press("Enter")
    page.get_by_role("combobox", name="Your label").press("ArrowDown")
    page.get_by_role("dialog").get_by_role("button", name="Save").press("Enter")
    expect(text.locator(".facts")).to_contain_text("a")  # it is drawn again
    expect(text.get_by_role("checkbox")).to_have_count(0)
    expect(text.get_by_role("button", name="Open")).to_be_focused()


def test_focus_moves_to_the_next_text_after_a_review_decision(window: Window, app: Served) -> None:
    for text in ("t1", "t2"):
        says(app, me(app.project), text, "a", flagged=True)
    page = window.open(app.link, at="/review#flagged")
    rest = page.locator("#items").get_by_role("group")
    expect(rest).to_have_count(2)
    rest.first.get_by_role("button", name="Open").press("Enter")
    page.get_by_label("Flag it for a reviewer").uncheck()
    page.get_by_role("dialog").get_by_role("button", name="Save").press("Enter")
    expect(rest).to_have_count(1)
    expect(rest.locator(":focus")).to_have_count(1)
    rest.get_by_role("button", name="Keep a").press("Enter")
    expect(page.get_by_role("tabpanel")).to_be_focused()


def test_other_pages_of_a_list_are_read_from_their_beginning(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", [f"text {n}" for n in range(120)]) as app:
        page = window.open(app.link, at="/texts")
        page.get_by_role("button", name="Next").press("Enter")
        expect(page.get_by_role("list", name="Texts, Page 2 of 3")).to_be_focused()
        page.locator("#items").get_by_role("checkbox").first.check()
        page.get_by_label("Label the selected texts as").press("ArrowDown")
        page.get_by_role("button", name="Save", exact=True).press("Enter")
        expect(page.locator("#toasts")).to_contain_text("1 text labelled.")
        expect(page.get_by_label("Select all on this page")).to_be_focused()


def test_arrow_keys_walk_through_the_classes_to_hunt_for(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", show_predictions=True) as app:
        page = window.open(app.link)
        shown(page)
        hunt = page.get_by_label("What to label next")
        hunt.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(hunt).to_have_value("b")
        page.keyboard.press("Escape")
        expect(hunt).not_to_be_focused()
        page.wait_for_timeout(300)
        shown(page)
        page.keyboard.press("s")  # keys are for the text again
        expect(page.locator("#last")).to_have_text("Skipped")


def test_dialogs_take_the_focus_and_return_it(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", guidelines="# How\n\nRead.", validation_first=20) as app:
        page = window.open(app.link)
        shown(page)
        why = page.get_by_role("button", name="Set aside for validation")
        for opener, inside in (
            (why, page.get_by_role("button", name="Got it")),
            (page.get_by_role("button", name="Help"), page.get_by_role("button", name="Back to the texts")),
            (page.get_by_role("button", name="New class"), page.get_by_role("textbox", name="Name")),
        ):
            opener.press("Enter")
            expect(inside).to_be_focused()
            page.keyboard.press("Escape")
            expect(opener).to_be_focused()
        for _ in range(2):
            page.keyboard.press("0")
        expect(page.get_by_role("complementary", name="About this text")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="About this text", exact=True)).to_be_focused()
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        menu = page.get_by_role("button", name="Menu")
        menu.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_role("navigation").get_by_role("link", name="Label")).to_be_focused()
        page.keyboard.press("Escape")
        expect(menu).to_be_focused()


def test_dialog_errors_are_shown_and_linked_to_their_field(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    shown(page)
    page.keyboard.press("+")
    page.keyboard.type("b")
    page.keyboard.press("Enter")
    name = page.get_by_role("textbox", name="Name")
    expect(name).to_have_accessible_description("A class 'b' already exists.")
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(name).to_be_focused()
    page.goto(f"{app.address}/texts")
    page.get_by_role("button", name="Open").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Save").press("Enter")
    label = dialog.get_by_role("combobox", name="Your label")
    expect(label).to_have_accessible_description("Choose a class first.")
    expect(label).to_have_attribute("aria-invalid", "true")
    expect(label).to_be_focused()
    page.route("**/api/texts/delete", lambda route: route.abort())
    dialog.get_by_role("button", name="Delete").press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("The server cannot be reached.")


def test_refused_sign_in_keeps_the_focus_and_shows_the_reason(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        add_person(session, "Ann", "annotator", "correct horse")
    page = window.open(f"{app.address}/login")
    page.get_by_label("Name").fill("Ann")
    page.get_by_label("Password").fill("wrong horse")
    enter = page.get_by_role("button", name="Sign in")
    enter.press("Enter")
    expect(page.locator("#problem")).not_to_be_empty()
    expect(enter).to_be_focused()
    expect(page.get_by_label("Password")).to_have_accessible_description(page.locator("#problem").inner_text())


def test_a_control_that_is_off_between_two_texts_has_the_keyboard_again(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    shown(page)
    held: list[Route] = []
    page.route("**/api/next*", lambda route: held.append(route))
    button = page.get_by_role("button", name="b", exact=True)
    button.focus()
    while page.locator("#text").is_visible():
        page.keyboard.press("Enter")
        page.wait_for_timeout(260)  # longer than what counts as a bounce
    expect(button).not_to_be_focused()
    page.unroute_all()  # which lets go what is held
    shown(page)
    expect(button).to_be_focused()


def test_buttons_that_go_away_when_pressed_leave_the_keyboard_near(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        trainer, scoring = session.get_one(Trainer, 1), session.get_one(Scoring, 1)
        trainer.phase, trainer.error = "failed", "The disk is full."
        scoring.done, scoring.total, scoring.round = 5, 20, 2
        invite(session, "reviewer")
    page = window.open(app.link, at="/export")
    page.get_by_role("button", name="Pause scoring").press("Enter")
    expect(page.get_by_role("button", name="Resume scoring")).to_be_focused()
    page.get_by_role("button", name="Retry").focus()
    with app.project.sessions.begin() as session:
        session.get_one(Trainer, 1).phase = "waiting"
    expect(page.get_by_role("main")).to_be_focused()
    page.goto(f"{app.address}/people")
    page.get_by_role("button", name="Withdraw the link for the role reviewer").press("Enter")
    expect(page.get_by_role("region", name="Invitations")).to_be_focused()


def test_messages_stay_while_they_have_focus(window: Window, app: Served) -> None:
    page = window.person().new_page()
    page.context.request.get(app.link)
    page.clock.install()
    page.goto(f"{app.address}/settings")
    page.get_by_label("Labels planned").fill("50")
    page.locator("#plan").get_by_role("button", name="Save").click()
    close = page.locator("#toasts").get_by_role("button", name="Close")
    close.focus()
    page.mouse.move(0, 700)
    page.clock.run_for(10_000)
    expect(close).to_be_focused()
    page.get_by_label("Labels planned").focus()
    page.clock.run_for(2_000)
    expect(close).to_have_count(0)


def test_the_ring_around_what_has_the_keyboard_is_seen_on_a_message(window: Window, app: Served) -> None:
    furnish(app)
    page = window.open(app.link, at="/settings")
    page.get_by_label("New class").fill("b")
    page.get_by_role("button", name="Add", exact=True).click()
    close = page.locator("#toasts").get_by_role("button", name="Close")
    close.focus()
    page.keyboard.press("Shift")  # a ring is for who uses the keyboard
    look = "button => [getComputedStyle(button).outlineColor, getComputedStyle(button).color]"
    ring, words = close.evaluate(look)
    assert ring == words


def test_keys_of_functions_are_chosen_by_each_person(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(app.link)
    first = shown(page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys and classes")
    dialog.get_by_text("Change keys").click()
    field = dialog.get_by_role("textbox", name="skip this text")
    field.fill("5")
    assert field.evaluate("field => field.validationMessage") == "Type a letter or a sign; digits are keys of classes."
    field.fill("u")
    assert field.evaluate("field => field.validationMessage") == "“u” has a function already."
    with page.expect_response("**/api/own-keys"):
        field.fill("x")
    shot(page, "own-keys")
    dialog.get_by_role("button", name="Back to the texts").click()
    page.evaluate("localStorage.clear()")  # as on another device
    page.reload()
    skip = page.get_by_role("button", name="Skip")
    expect(skip).to_have_attribute("aria-keyshortcuts", "x")
    expect(skip).to_contain_text("x")
    page.keyboard.press("s")
    assert shown(page) == first
    page.wait_for_timeout(300)
    page.keyboard.press("x")
    expect(page.locator("#last")).to_have_text("Skipped")
    page.keyboard.press("?")
    dialog.get_by_text("Change keys").click()
    dialog.get_by_role("button", name="Usual keys").click()
    expect(skip).to_have_attribute("aria-keyshortcuts", "s")
    page.route("**/api/own-keys", lambda route: route.abort())
    field.fill("x")
    expect(dialog.locator("#keys-problem")).to_have_text("The server cannot be reached.")
    expect(skip).to_have_attribute("aria-keyshortcuts", "s")


def test_a_class_whose_key_is_taken_gets_another(window: Window, tmp_path: Path) -> None:
    """The keys are those of a browser that kept them before accounts did: its first person takes them over."""
    with served(tmp_path / "q", classes=[f"class number {n}" for n in range(12)]) as app:
        page = window.open(app.link)
        tenth = page.get_by_role("button", name="class number 9")
        expect(tenth).to_have_attribute("aria-keyshortcuts", "a")
        page.evaluate("localStorage.setItem('hybridal.own-keys', JSON.stringify({'.': 'a'}))")
        page.evaluate("localStorage.setItem('hybridal.own-keys/taken-over-by', 'Ada')")
        page.reload()
        expect(tenth).to_have_attribute("aria-keyshortcuts", "a")
        page.evaluate("localStorage.removeItem('hybridal.own-keys/taken-over-by')")
        page.reload()
        expect(tenth).to_have_attribute("aria-keyshortcuts", "e")  # the others keep theirs
        expect(page.locator("#accept")).to_have_attribute("aria-keyshortcuts", "a")
        assert me(app.project).own_keys == {".": "a"}
