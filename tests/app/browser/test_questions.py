"""Yes/no questions on the page Label, where a text may have several classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .axe import Axe
from .served import Served, served
from .test_axe import checked
from .test_label import saved, shown
from .test_several_classes import answers
from .test_several_lists import score
from .window import Window

pytestmark = pytest.mark.browser

READ_MS = 300  # a quicker answer is a bounce


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    texts = [f"text {number}" for number in range(4)]
    with served(tmp_path / "p", texts, multi_label=True, validation_first=0, validation_share=0.0) as opened:
        score(opened, {f"t{number}": [0.3, 0.45, 0.01] for number in range(4)})
        yield opened


def ask(page: Page) -> None:
    shown(page)
    page.get_by_label("How to answer").select_option("questions")
    expect(page.locator("#asked")).to_contain_text("Does this text have the class b? 1 of 2")


def press(page: Page, key: str) -> None:
    page.wait_for_timeout(READ_MS)
    page.keyboard.press(key)


def test_one_class_at_a_time_is_answered(window: Window, app: Served) -> None:
    page = window.open(app.link)
    ask(page)
    expect(page.locator("#classes")).to_be_hidden()
    first = shown(page)
    press(page, "y")
    expect(page.locator("#asked")).to_contain_text("a? 2 of 2")
    page.keyboard.press("y")  # a bounce
    page.keyboard.press("1")  # no class key
    assert shown(page) == first
    press(page, "n")
    expect(page.locator("#asked")).to_contain_text("b? 1 of 2")
    second = shown(page)
    assert second != first
    press(page, "s")
    expect(page.locator("#asked")).to_contain_text("a? 2 of 2")
    press(page, "u")
    expect(page.locator("#asked")).to_contain_text("b? 1 of 2")
    press(page, "u")
    expect(page.locator("#asked")).to_contain_text("a? 2 of 2")
    assert shown(page) == first
    expect(page.locator("#before")).to_have_text("Your previous label: No")
    press(page, "y")
    assert shown(page) == second
    saved(page)
    sets = ["2//", "/1/", "//2", None, None, "1//"]
    assert answers(app) == [*zip(["label"] * 3 + ["withdraw"] * 2 + ["label"], sets, strict=True)]
    page.reload()
    expect(page.locator("#asked")).to_contain_text("b? 1 of 2")
    assert shown(page) == second  # the mode is remembered, and the answered text is not asked again


def test_an_undone_answer_is_shown_with_its_own_question_only(window: Window, app: Served) -> None:
    page = window.open(app.link)
    ask(page)
    press(page, "y")
    press(page, "u")
    expect(page.locator("#before")).to_have_text("Your previous label: Yes")
    press(page, "n")
    expect(page.locator("#asked")).to_contain_text("a? 2 of 2")
    expect(page.locator("#before")).to_be_hidden()


def test_every_text_is_asked_before_one_comes_back(window: Window, app: Served) -> None:
    page = window.open(app.link)
    ask(page)
    for number in range(4):
        page.wait_for_timeout(READ_MS)
        page.get_by_role("button", name="Yes").click()
        expect(page.locator("#asked")).to_contain_text("a? 2 of 2")
        page.wait_for_timeout(READ_MS)
        page.get_by_role("button", name="No").click()
        expect(page.locator("#asked")).to_contain_text("c?" if number == 3 else "b? 1 of 2")
    press(page, "n")
    saved(page)
    expect(page.locator("#goal")).to_contain_text("4 of 4 labels")


def test_questions_are_accessible_and_fit_a_phone(
    window: Window, app: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(app.link, reduced_motion="reduce", has_touch=True)
    ask(page)
    shot(page, "question-desktop")
    assert checked(page, axe, "a question") == []
    page.set_viewport_size({"width": 360, "height": 740})
    boxes = [box for button in page.locator("main button:visible").all() if (box := button.bounding_box())]
    assert min(min(box["width"], box["height"]) for box in boxes) >= 40
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= 740 for box in boxes)
    shot(page, "question-phone-dark")
