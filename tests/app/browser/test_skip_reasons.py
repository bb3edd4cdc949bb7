"""Texts are skipped and flagged with a reason and a note, and listed by it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from hybridal.app.db.schema import Annotation

from .axe import Axe
from .served import Served
from .test_axe import checked
from .window import Window

pytestmark = pytest.mark.browser


def test_a_text_is_skipped_with_a_reason_and_found_by_it(window: Window, app: Served, axe: Axe) -> None:
    page = window.open(app.link)
    expect(page.locator("#text")).not_to_be_empty()
    text = page.locator("#text").inner_text()
    page.keyboard.press("c")
    page.get_by_label("Comment, saved with your label").fill("who is meant?")
    page.get_by_label("Reason, if you skip or flag the text").select_option("The text is unclear")
    assert checked(page, axe, "a reason") == []
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_label("Reason, if you skip or flag the text").press("Enter")
    expect(page.locator("#note")).to_be_hidden()
    page.keyboard.press("s")
    expect(page.locator("#text")).not_to_have_text(text)
    page.keyboard.press("c")
    expect(page.get_by_label("Reason, if you skip or flag the text")).to_have_value("")  # of the next text
    page.goto(f"{app.address}/review#skipped")
    expect(page.locator(".item")).to_have_count(1)
    expect(page.locator(".item")).to_contain_text("The text is unclear")
    expect(page.locator(".item .remark")).to_have_text("who is meant?")
    page.goto(f"{app.address}/texts")
    page.get_by_label("Reason").select_option("No class fits")
    expect(page.locator("#found")).to_have_text("0 texts")
    page.get_by_label("Reason").select_option("The text is unclear")
    expect(page.locator(".item .written")).to_have_text(text)
    page.get_by_role("button", name="Open").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_have_value("unclear")
    expect(dialog.locator(".history")).to_contain_text("The text is unclear")
    with app.project.reads() as session:
        assert session.scalars(select(Annotation.reason)).all() == ["unclear"]
