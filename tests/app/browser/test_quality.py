"""The quality of each class on the page Progress, and the lists of texts that its figures open."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select, update

from hybridal.app.db.schema import Annotation, Person, Prediction, Text, now
from hybridal.app.labelling.annotations import annotate
from hybridal.app.people import add_person, sign_in
from hybridal.app.web.auth import cookie_name

from ..made_up import me
from .axe import Axe
from .served import Served
from .test_axe import checked
from .window import Window

pytestmark = pytest.mark.browser


@pytest.fixture
def measured(app: Served) -> Served:
    """Twelve labelled validation texts: two are predicted as another class, and two people differ on one."""
    with app.project.sessions.begin() as session:
        ada = add_person(session, "Ada", "annotator")
        session.execute(update(Text).values(split="pool", required_votes=2))
        session.execute(update(Text).where(Text.row <= 12).values(split="validation"))
        owner = me(app.project)
        for row in range(1, 15):
            name = "c" if row > 12 else "a"
            annotate(session, owner, f"t{row - 1}", "label", class_name=name, key=f"{row}")
            number = 2 if row in (11, 12) else 1
            session.add(Prediction(text_row=row, class_number=number, probability=0.8, entropy=0.3, round=1))
        annotate(session, ada, "t12", "label", class_name="a", key="ada")
    return app


def test_quality_per_class_has_intervals_and_a_matrix_whose_cells_open_their_texts(
    window: Window, measured: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(measured.link, at="/progress")
    rows = page.get_by_role("region", name="Quality per class").get_by_role("row")
    expect(rows.nth(1)).to_have_text(re.compile(r"^a1210100% \(72% to 100%\)83% \(55% to 95%\)$"))
    expect(rows.nth(2)).to_have_text(re.compile("^b02too few labels to telltoo few labels to tell$"))
    matrix = page.get_by_role("region", name="Confusion matrix")
    expect(matrix.get_by_role("row").nth(1)).to_have_text("a102")
    between = page.get_by_role("region", name="Classes that people confuse").get_by_role("row").nth(1)
    expect(between).to_have_text(re.compile("^ac1 of 1100%"))
    matrix.scroll_into_view_if_needed()
    shot(page, "quality")
    assert checked(page, axe, "quality") == []
    page.set_viewport_size({"width": 1280, "height": 800})
    matrix.get_by_role("link", name="2 texts with a, predicted as b").click()
    expect(page.locator("#found")).to_have_text("2 texts")
    assert {text.inner_text() for text in page.locator(".item .written").all()} == {"text 10", "text 11"}
    page.go_back()
    page.get_by_role("link", name="1 of 1 between a and c").click()
    expect(page.locator("#conditions")).to_contain_text("One person gave them “a”, another person “c”.")
    expect(page.locator(".item .written")).to_have_text("text 12")
    assert axe.faults(page) == []
    page.locator("#conditions").get_by_role("button", name="Show all texts").click()
    expect(page.locator("#found")).to_have_text("20 texts")


def test_annotators_see_the_quality_without_links_to_texts(window: Window, measured: Served) -> None:
    with measured.project.sessions.begin() as session:
        person = session.scalar(select(Person).where(Person.name == "Ada"))
        assert person is not None
        cookie = sign_in(session, person)
    context = window.person()
    context.add_cookies([{"name": cookie_name(measured.project), "value": cookie, "url": measured.address}])
    page = context.new_page()
    page.goto(f"{measured.address}/progress")
    expect(page.get_by_role("region", name="Confusion matrix")).to_contain_text("10")
    expect(page.locator("figure a")).to_have_count(0)
    expect(page.get_by_role("heading", name="Classes that people confuse")).to_have_count(0)
    expect(page.get_by_role("region", name="Time per label", exact=True).get_by_role("row")).to_have_text(
        [re.compile("Person"), "Ada0too few labels to tell"]
    )


def test_labels_per_day_and_time_per_label_are_shown(
    window: Window, measured: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    with measured.project.sessions.begin() as session:
        for number in range(1, 15):
            session.execute(update(Annotation).where(Annotation.number == number).values(at=now() - 100 + 4 * number))
    page = window.open(measured.link, at="/progress")
    chart = page.get_by_role("figure").filter(has=page.get_by_role("heading", name="Labels per day"))
    expect(chart.get_by_role("img")).to_have_attribute("aria-label", "Labels per day. 15 texts were labelled.")
    expect(chart.locator("rect")).to_have_count(30)
    chart.get_by_text("The numbers").click()
    expect(chart.get_by_role("row").first).to_have_text("DayAdame")
    expect(chart.get_by_role("row").nth(1)).to_have_text(re.compile("114$"))
    times = page.get_by_role("region", name="Time per label", exact=True)
    expect(times.get_by_role("row").last).to_have_text("me134.0 s4.0 s to 4.0 s")
    page.get_by_text("Time per label of each class").first.click()
    expect(page.get_by_role("region", name="Time per label of each class").get_by_role("row").nth(1)).to_contain_text(
        "4.0"
    )
    times.scroll_into_view_if_needed()
    shot(page, "activity")
    assert axe.faults(page) == []
