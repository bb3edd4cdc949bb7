"""The page Label where a text may have several classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Annotation, LabelSet, Prediction, Text
from hybridal.app.labelling.removal import delete_texts
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.labelling.texts import add
from hybridal.app.project_settings import write

from .axe import Axe
from .served import Served, served
from .test_axe import checked
from .test_label import saved, shown
from .window import Window

pytestmark = pytest.mark.browser


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "p", multi_label=True, validation_first=0, validation_share=0.0) as opened:
        yield opened


def answers(app: Served) -> list[tuple[str, str | None]]:
    """The annotations in the order of their rows: the action, and the set of classes."""
    found = select(Annotation.action, LabelSet.classes).outerjoin(LabelSet, LabelSet.number == Annotation.label_set)
    with app.project.reads() as session:
        rows = session.execute(found.order_by(Annotation.number))
        return [(action, None if classes is None else classes.encode()) for action, classes in rows]


def predict(app: Served, present: list[int], probabilities: list[float], classes: Sequence[int] = (1, 2, 3)) -> None:
    """Give each text the prediction of a model."""
    with app.project.sessions.begin() as session:
        rows = session.scalars(select(Text.row)).all()
        number = store_sets(session, [ClassSet.of(present)])[ClassSet.of(present)]
        about: dict[str, Any] = {"class_number": 1, "probability": max(probabilities), "entropy": 0.3, "round": 1}
        session.add_all(Prediction(text_row=row, label_set=number, **about) for row in rows)
        write(session, {"show_predictions": True})
    app.project.probabilities.begin({"classes": [*classes]}, 3)
    app.project.probabilities.write(rows, [probabilities] * len(rows), [2] * len(rows))  # type: ignore[arg-type]


def test_keys_choose_classes_and_enter_saves_them(window: Window, app: Served) -> None:
    page = window.open(app.link)
    first = shown(page)
    page.keyboard.press("3")
    page.keyboard.press("1")
    expect(page.locator("#chosen button")).to_have_text(["a✕", "c✕"])
    expect(page.get_by_role("button", name="c", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="Save 2 classes")).to_be_visible()
    page.wait_for_timeout(300)
    page.keyboard.press("1")
    expect(page.locator("#last")).to_have_text("Removed “a”")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    second = shown(page)
    assert second != first
    expect(page.locator("#last")).to_have_text("Labelled “b”, “c”")
    expect(page.locator("#chosen button")).to_have_count(0)
    page.wait_for_timeout(300)
    page.keyboard.press("0")
    expect(page.locator("#last")).to_have_text("Labelled none of these")
    page.keyboard.press("s")
    page.keyboard.press("u")
    page.keyboard.press("u")
    assert shown(page) == second
    expect(page.locator("#before")).to_have_text("Your previous label: none of these")
    page.keyboard.press("u")
    assert shown(page) == first
    expect(page.locator("#before")).to_have_text("Your previous label: “b”, “c”")
    expect(page.locator("#chosen button")).to_have_text(["b✕", "c✕"])
    saved(page)
    sets = ["2,3/*/", "/*/", None, None, None, None]
    assert answers(app) == [*zip(["label", "label", "skip", *["withdraw"] * 3], sets, strict=True)]


def test_an_empty_answer_needs_its_own_key_and_bounces_count_once(window: Window, app: Served) -> None:
    page = window.open(app.link)
    first = shown(page)
    page.keyboard.press("Enter")
    expect(page.locator("#last")).to_have_text("Choose classes first, or press 0 for none of these")
    assert shown(page) == first
    page.keyboard.press("1")
    page.keyboard.press("1")  # a bounce: it would remove the class again
    page.keyboard.press("Enter")
    page.keyboard.press("0")  # so soon that it was not meant for the second text
    saved(page)
    assert answers(app) == [("label", "1/*/")]


def test_sets_wait_for_a_connection(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    shown(page)
    page.route("**/api/annotations", lambda route: route.abort())
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    page.keyboard.press("f")
    page.keyboard.press("Enter")
    expect(page.locator("#saved")).to_have_text("2 annotations waiting to be sent")
    page.unroute_all()
    page.reload()
    saved(page)
    assert answers(app) == [("label", "1/*/"), ("label", "2/*/")]


def test_predicted_classes_are_accepted_and_chosen_already_if_the_owner_wants(window: Window, app: Served) -> None:
    predict(app, [1, 3], [0.8, 0.1, 0.6])
    page = window.open(app.link)
    first = shown(page)
    expect(page.locator("#classes .prediction:not(:empty)")).to_contain_text(["80%", "60%"])
    expect(page.locator("#proposed")).to_have_text("Predicted: a, 80%; c, 60%")
    page.keyboard.press(".")
    assert shown(page) != first
    saved(page)
    with app.project.sessions.begin() as session:
        write(session, {"preselect": True})
    page.reload()
    shown(page)
    expect(page.locator("#chosen button")).to_have_text(["a✕", "c✕"])
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.locator("#chosen button")).to_have_text(["a✕", "c✕"])
    saved(page)
    assert answers(app) == [("label", "1,3/*/"), ("label", "1,2,3/*/")]


def test_suggestions_of_the_file_are_marked_and_chosen_only_if_the_owner_wants(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", multi_label=True, validation_first=0, validation_share=0.0) as app:
        with app.project.sessions.begin() as session:
            delete_texts(session, session.scalars(select(Text.row)).all(), at=1.0)
            add(session, [("x", "suggested", frozenset(["a", "c"]))], suggested=True)
        page = window.open(app.link)
        shown(page)
        expect(page.locator("#classes .prediction:not(:empty)")).to_have_text(["suggested", "suggested"])
        expect(page.locator("#chosen button")).to_have_count(0)
        with app.project.sessions.begin() as session:
            write(session, {"preselect": True})
        page.reload()
        expect(page.locator("#chosen button")).to_have_text(["a✕", "c✕"])
        page.keyboard.press("3")
        page.keyboard.press("Enter")
        saved(page)
        assert answers(app) == [("label", "1/*/")]


def test_a_text_does_not_change_under_a_choice(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    first = shown(page)
    page.keyboard.press("1")
    other = page.context.new_page()
    other.goto(app.address)
    shown(other)
    other.keyboard.press("0")  # the same text, in another tab
    saved(other)
    assert shown(page) == first
    page.keyboard.press("Enter")
    assert shown(page) != first
    saved(page)
    assert answers(app) == [("label", "/*/"), ("label", "1/*/")]


def test_many_classes_are_found_by_their_names(window: Window, tmp_path: Path) -> None:
    names = [f"class {number:02}" for number in range(40)]
    with served(tmp_path / "p", classes=names, multi_label=True) as app:
        predict(app, [39], [0.1, 0.2, 0.3], classes=[1, 2, 39])
        page = window.open(app.link)
        first = shown(page)
        page.get_by_role("button", name="Predicted: choose class 38").click()  # it is out of sight
        expect(page.locator("#chosen button")).to_have_text(["class 38✕"])
        page.get_by_role("button", name="Remove class 38").click()
        expect(page.locator("#classes button").nth(39)).to_have_text(re.compile("class 39"))  # all stay in place
        page.keyboard.press("/")
        page.keyboard.type("37")
        page.keyboard.press("Enter")
        page.keyboard.type("class 08")
        page.keyboard.press("Enter")
        expect(page.locator("#chosen button:not(.open)")).to_have_text(["class 08✕", "class 37✕"])
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.press("Enter")
        assert shown(page) != first
        expect(page.get_by_role("searchbox")).not_to_be_focused()
        saved(page)
        assert answers(app) == [("label", "9,38/*/")]


def test_the_page_is_accessible_and_fits_a_phone(
    window: Window, app: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    predict(app, [1, 3], [0.8, 0.1, 0.6])
    page = window.open(app.link, reduced_motion="reduce", has_touch=True, viewport={"width": 1280, "height": 800})
    shown(page)
    page.get_by_role("button", name="b", exact=True).click()
    shot(page, "several-desktop")
    assert checked(page, axe, "several classes") == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size({"width": 360, "height": 740})
    boxes = [box for button in page.locator("main button:visible").all() if (box := button.bounding_box())]
    assert min(min(box["width"], box["height"]) for box in boxes) >= 40
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= 740 for box in boxes)
    shot(page, "several-phone-dark")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("save that the text has none of the classes")
    shot(page, "several-help")
