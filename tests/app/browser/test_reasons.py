"""Why this prediction: words that speak for and against it, and similar labelled texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select, update

from hybridal.app.db.schema import Explanation, Prediction, Text
from hybridal.app.labelling.annotations import annotate

from ..made_up import me
from .axe import Axe
from .served import Served, served
from .test_axe import checked
from .test_predictions import embed
from .window import HURRY, Window

pytestmark = pytest.mark.browser

BODIES = ("😀 my refund is late", "a refund please", "the price is fine")
NO_VALIDATION: dict[str, Any] = {"validation_first": 0, "validation_share": 0.0}
FOUND = {
    "spans": [[2, 4], [5, 11], [12, 14], [15, 19]],
    "classes": [
        {"number": 1, "probability": 0.8, "weights": [0.01, 1.4, -0.02, -0.6]},
        {"number": 2, "probability": 0.15, "weights": [0.0, -1.2, 0.0, 0.9]},
    ],
}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    classes = ["refund", "delay"]
    with served(tmp_path / "p", BODIES, classes, show_predictions=True, **NO_VALIDATION) as opened:
        with opened.project.sessions.begin() as session:
            session.execute(update(Text).values(split="pool", required_votes=1))
            annotate(session, me(opened.project), "t1", "label", class_name="refund", key="1")
            annotate(session, me(opened.project), "t2", "label", class_name="delay", key="2")
            for row in session.scalars(select(Text.row)).all():
                session.add(Prediction(text_row=row, class_number=1, probability=0.8, entropy=0.3, round=1))
        yield opened


def answer(app: Served) -> None:
    """What the trainer does."""
    with app.project.sessions.begin() as session:
        session.execute(update(Explanation).values(round=1, found=FOUND))


def marked(page: Page, name: str) -> list[str]:
    """The words that are marked in the text."""
    words = """name => [...(CSS.highlights.get(name) ?? [])].map(
      ({startContainer, startOffset, endOffset}) => startContainer.textContent.slice(startOffset, endOffset))"""
    found: list[str] = page.evaluate(words, name)
    return found


def test_words_and_similar_texts_are_shown_next_to_the_text(
    window: Window, app: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    embed(app.project, {"t0": (1, 0), "t1": (1, 0.1), "t2": (0, 1)})
    page = window.open("about:blank")
    page.add_init_script(HURRY)
    page.goto(app.link)
    expect(page.locator("#text")).to_have_text(BODIES[0])
    expect(page.locator("#reasons")).to_be_hidden()
    page.keyboard.press(";")
    expect(page.locator("#reasons")).to_contain_text("The words follow as soon as the trainer is free.")
    expect(page.locator("#reasons .similar li").first).to_contain_text("a refund pleaserefund100% similar")
    answer(app)
    expect(page.locator("#reasons .reason.for")).to_have_text(["refund"])
    expect(page.locator("#reasons .reason.against")).to_have_text(["late"])
    assert (marked(page, "speaks-for"), marked(page, "speaks-against")) == (["refund"], ["late"])
    shot(page, "reasons")
    assert checked(page, axe, "reasons") == []
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_label("Explain the class").select_option("delay (15%)")
    expect(page.locator("#reasons .reason.for")).to_have_text(["late"])
    assert (marked(page, "speaks-for"), marked(page, "speaks-against")) == (["late"], ["refund"])
    page.reload()  # the choice is remembered
    expect(page.locator("#reasons .reason.for")).to_have_text(["refund"])
    page.get_by_role("button", name="Why this prediction?").click()
    expect(page.locator("#reasons")).to_be_hidden()
    assert marked(page, "speaks-for") == []


def test_a_text_of_a_list_is_explained_in_its_dialog(window: Window, app: Served, axe: Axe) -> None:
    with app.project.sessions.begin() as session:
        session.add(Explanation(text_row=1, round=1, found=FOUND))
    page = window.open(app.link, at="/texts")
    page.locator(".item").filter(has_text=BODIES[0]).get_by_role("button", name="Open").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Why this prediction?").first.click()
    expect(dialog.locator(".reason.for")).to_have_text(["refund"])
    expect(dialog).to_contain_text("The model has not read this text yet.")
    assert marked(page, "speaks-against") == ["late"]
    assert axe.faults(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert marked(page, "speaks-for") == []


def test_who_sees_no_predictions_sees_no_reasons(window: Window, app: Served) -> None:
    app.project.decide({"show_predictions": False})
    page = window.open(app.link)
    expect(page.locator("#text")).not_to_be_empty()
    expect(page.locator("#why")).to_be_hidden()
    page.keyboard.press(";")
    expect(page.locator("#reasons")).to_be_hidden()
