"""Working with predictions: lists, one key, a whole page at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import select, update

from hybridal.app.db.schema import Scoring, Text
from hybridal.app.labelling import classes
from hybridal.app.project import Project
from hybridal.app.trainer.stored_predictions import ScoredTexts, keep_predictions
from hybridal.app.vectors import stamp_of

from ..made_up import consensus
from .served import Served
from .window import HURRY, Window

pytestmark = pytest.mark.browser


def predict(project: Project, shares: dict[str, tuple[float, float, float]], round: int = 1) -> None:
    """Store these predictions, as by the model of a round."""
    keep_predictions(project, round, ScoredTexts([*shares], np.array([*shares.values()]), (1, 2, 3)))
    with project.sessions.begin() as session:
        session.get_one(Scoring, 1).round = round


def test_texts_are_listed_by_the_newest_predictions(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    predict(app.project, {"t1": (0.1, 0.7, 0.2), "t2": (0.05, 0.9, 0.05), "t3": (0.4, 0.3, 0.3)})
    with app.project.sessions.begin() as session:
        session.execute(update(Text).values(split="pool"))  # so that all can be selected
    page = window.open(app.link, at="/texts")
    items = page.locator(".item")
    expect(items).to_have_count(20)
    page.get_by_label("Order").select_option("most certain")
    expect(items.locator(".written")).to_have_text(["text 2", "text 1", "text 3"])
    page.get_by_label("Order").select_option("least certain")
    expect(items.locator(".written")).to_have_text(["text 3", "text 1", "text 2"])
    page.get_by_label("Predicted").select_option("b")
    expect(items.locator(".written")).to_have_text(["text 1", "text 2"])
    page.reload()
    expect(items).to_have_count(2)  # it is in the address
    shot(page, "texts-predicted")
    # A newer model comes: the visible texts are scored first and updated in place.
    with app.project.sessions.begin() as session:
        session.get_one(Scoring, 1).round = 2
    page.add_init_script(HURRY)
    with page.expect_response("**/api/scoring/first"):
        page.reload()
    with app.project.reads() as session:
        assert session.get_one(Scoring, 1).first == "2,3"
    predict(app.project, {"t1": (0.2, 0.75, 0.05), "t2": (0.6, 0.35, 0.05)}, round=2)
    expect(items.first).to_contain_text("75%")
    expect(items.nth(1)).to_contain_text("60%")  # of another class: it would not be listed any more
    expect(items.locator(".written")).to_have_text(["text 1", "text 2"])
    # Selected stays selected, unless another class is predicted by now than who selected it saw.
    with app.project.sessions.begin() as session:
        session.get_one(Scoring, 1).round = 3
    with page.expect_response("**/api/scoring/first"):
        page.goto(f"{app.address}/texts?order=sure")
    expect(items.locator(".written")).to_have_text(["text 1", "text 2", "text 3"])
    page.get_by_label("Select all on this page").check()
    expect(page.locator("#bulk")).to_contain_text("3 selected")
    predict(app.project, {"t1": (0.1, 0.85, 0.05), "t2": (0.1, 0.7, 0.2), "t3": (0.5, 0.3, 0.2)}, round=3)
    expect(items.first).to_contain_text("85%")
    expect(page.locator("#bulk")).to_contain_text("2 selected")
    boxes = items.locator("input[type=checkbox]")
    assert [boxes.nth(at).is_checked() for at in range(3)] == [True, False, True]


def test_a_prediction_is_accepted_with_one_key(window: Window, app: Served) -> None:
    app.project.decide({"show_predictions": True})
    predict(app.project, {f"t{at}": (0.1, 0.7, 0.2) for at in range(19)})
    page = window.open(app.link)
    accept = page.get_by_role("button", name="Accept")
    ways: list[Callable[[], None]] = [
        lambda: page.keyboard.press("."),
        lambda: accept.click(),
        lambda: page.keyboard.press("NumpadDecimal"),
    ]
    for accepts in ways:
        expect(accept).to_be_enabled()
        shown = page.locator("#text").inner_text()
        page.wait_for_timeout(300)  # the same answer sooner is a key that bounced
        accepts()
        expect(page.locator("#text")).not_to_have_text(shown)
    expect(page.locator("#last")).to_have_text("Labelled “b”")
    expect(page.locator("#saved")).to_have_text("Saved")
    assert [name for name, _ in consensus(app.project).values()] == ["b"] * 3
    page.keyboard.press("u")
    expect(page.locator("#before")).to_contain_text("b")


def test_a_page_of_predictions_is_confirmed_at_once_and_taken_back(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    with app.project.reads() as session:
        pool = [*session.scalars(select(Text.id).where(Text.split == "pool").order_by(Text.row.desc()))]
        measured = session.scalars(select(Text.id).where(Text.split == "validation")).first()
    assert measured is not None
    predict(app.project, dict.fromkeys([*pool[:6], measured], (0.05, 0.9, 0.05)) | {pool[6]: (0.8, 0.1, 0.1)})
    page = window.open(app.link, at="/texts?order=sure&state=unlabelled")
    expect(page.locator(".item")).to_have_count(8)
    boxes = page.locator(".item input[type=checkbox]")
    expect(boxes).to_have_count(7)  # not of the one that is only measured on
    expect(page.get_by_role("button", name="Confirm predictions")).to_be_disabled()
    page.get_by_label("Select all on this page").check()
    boxes.first.uncheck()
    expect(page.locator("#bulk")).to_contain_text("6 selected")
    shot(page, "texts-bulk")
    page.get_by_role("button", name="Confirm predictions").click()
    expect(page.locator("#toasts")).to_contain_text("6 texts labelled.")
    expect(page.locator(".item")).to_have_count(2)
    labels = consensus(app.project)
    assert ([labels[id][0] for id in pool[1:7]], len(labels)) == (["b"] * 5 + ["a"], 6)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#toasts")).to_contain_text("6 labels undone.")
    expect(page.locator(".item")).to_have_count(8)
    assert consensus(app.project) == {}
    # All as one class: what is selected, and no more.
    boxes.nth(1).check()
    boxes.nth(2).check()
    page.get_by_label("Label the selected texts as").select_option("c")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".item")).to_have_count(6)
    assert {*consensus(app.project).values()} == {("c", "people")}
    page.set_viewport_size({"width": 390, "height": 844})
    shot(page, "texts-bulk-phone")


def embed(project: Project, vectors: dict[str, tuple[float, float]]) -> None:
    """Store vectors of these texts."""
    with project.reads() as session:
        texts = session.scalars(select(Text).where(Text.id.in_(vectors)).order_by(Text.row)).all()
    project.embeddings.begin({}, 2)
    found = np.array([vectors[text.id] for text in texts])
    project.embeddings.write([text.row for text in texts], found, [stamp_of(text.digest) for text in texts])


def test_more_like_a_text_are_found_and_labelled_at_once(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(app.link, at="/texts?search=text")
    expect(page.locator(".item")).to_have_count(20)
    page.locator(".item").first.get_by_role("button", name="More like this").click()
    expect(page.locator("#toasts")).to_contain_text("The model has not read this text yet")
    with app.project.reads() as session:
        one, *others = session.scalars(select(Text.id).where(Text.split == "pool").order_by(Text.row))
    near, far = others[:4], others[4:8]
    embed(app.project, {one: (1, 0), **dict.fromkeys(near, (1, 0.1)), **dict.fromkeys(far, (0.1, 1))})
    page.goto(f"{app.address}/texts")
    page.locator(f"[data-id={one}]").get_by_role("button", name="More like this").click()
    expect(page.locator("#like")).to_contain_text("Most similar to")
    expect(page.locator(".item")).to_have_count(8)
    assert {*page.locator(".item").evaluate_all("items => items.slice(0, 4).map(item => item.dataset.id)")} == {*near}
    expect(page.locator(".item").first).to_contain_text("100% similar")
    boxes = page.locator(".item input[type=checkbox]")
    for at in range(4):
        boxes.nth(at).check()
    page.get_by_label("Label the selected texts as").select_option("c")
    shot(page, "texts-alike")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("4 texts labelled.")
    expect(page.locator(".item")).to_have_count(4)
    assert consensus(app.project) == dict.fromkeys(near, ("c", "people"))
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".item")).to_have_count(8)
    assert consensus(app.project) == {}
    page.locator(".item").last.get_by_role("button", name="Open").click()
    page.get_by_role("dialog").get_by_role("link", name="More like this").click()  # of that one now
    expect(page.locator(".item").last).to_contain_text("10% similar")
    page.get_by_role("button", name="Show all texts").click()
    expect(page.locator(".item")).to_have_count(20)
    expect(page.locator("#like")).to_be_hidden()


def test_texts_most_likely_of_a_rare_class_come_first(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    with app.project.reads() as session:
        pool = [*session.scalars(select(Text.id).where(Text.split == "pool").order_by(Text.row))]
    predict(app.project, {id: (0.9 - at / 50, 0.1, at / 50) for at, id in enumerate(pool)})
    bodies = [id.replace("t", "text ") for id in reversed(pool)]
    page = window.open(app.link, routed=True)
    text, choice = page.locator("#text"), page.get_by_label("What to label next")
    expect(text).to_contain_text("text")
    choice.select_option("Most likely: c")
    expect(text).not_to_have_text("")
    seen = []
    for _ in range(6):
        expect(page.get_by_role("button", name="Skip")).to_be_enabled()
        seen.append(text.inner_text())
        page.wait_for_timeout(300)
        page.keyboard.press("3" if text.inner_text() in bodies else "1")
        expect(text).not_to_have_text(seen[-1])
    assert [one for one in seen if one in bodies] == bodies[:3]
    assert "likely=c" in page.url
    shot(page, "label-next-choice")
    page.reload()
    expect(choice).to_have_value("c")
    page.set_viewport_size({"width": 390, "height": 844})
    shot(page, "label-next-choice-phone")
    choice.select_option("Most useful texts first")
    expect(text).to_contain_text("text")
    assert "likely" not in page.url
    # One that no model knows is no reason to be silent.
    with app.project.sessions.begin() as session:
        classes.add(session, ["new"])
    held: list[Route] = []
    page.route("**/api/next?*", lambda route: route.continue_() if held else held.append(route))
    page.reload()
    choice.select_option("Most likely: new")  # while the first texts are still on their way
    held[0].continue_()
    expect(page.get_by_text("The model does not know “new” yet")).to_be_visible(timeout=2500)
    expect(text).to_contain_text("text")
    shot(page, "label-next-choice-unknown")
    choice.select_option("Most likely: c")
    expect(page.locator("#next-choice-note")).to_be_hidden()
