"""One answer for texts that are almost the same, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from hybridal.app.db.schema import Person, Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.look_alike_groups import find_groups
from hybridal.app.people import add_person

from ..labelling.test_look_alike_groups import WORDS, parcel
from ..made_up import consensus
from .axe import Axe
from .served import Served, served
from .window import Window

pytestmark = pytest.mark.browser


@pytest.fixture
def parcels(tmp_path: Path) -> Iterator[Served]:
    """Thirty-eight parcels that are almost the same, and two other texts, none of them set aside."""
    texts = [*(parcel(n) for n in range(38)), " ".join(WORDS), " ".join(reversed(WORDS))]
    with served(tmp_path / "p", texts, validation_first=0, validation_share=0.0) as app:
        find_groups(app.project.sessions, app.project.reads)
        yield app


def on_a_parcel(page: Page) -> None:
    """Answer other texts until a parcel is on the page."""
    text = page.locator("#text")
    expect(text).not_to_be_empty()
    while not (before := text.inner_text()).startswith("Your parcel"):
        page.keyboard.press("3")
        expect(text).not_to_have_text(before)
        page.wait_for_timeout(300)


def label_parcels(app: Served, besides: str, left: int) -> None:
    """Another person labels the parcels, so that this one and the first `left` others have no label."""
    with app.project.sessions.begin() as session:
        other = session.scalar(select(Person).where(Person.name == "Ann")) or add_person(session, "Ann", "annotator")
        others = select(Text.id).where(Text.body.startswith("Your parcel"), Text.body != besides, Text.open)
        for id in session.scalars(others.order_by(Text.row)).all()[left:]:
            annotate(session, other, id, "label", class_name="b", key=f"Ann {id}")


def saved(page: Page) -> None:
    expect(page.locator("#saved")).to_have_text("Saved")


def test_one_answer_labels_all_without_those_excluded_and_undo_takes_all_back(
    window: Window, parcels: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(parcels.link)
    on_a_parcel(page)
    strip = page.locator("#look-alikes")
    expect(strip).to_contain_text("Also label 37 texts that are almost the same")
    shot(page, "look-alikes")
    page.keyboard.press("=")
    dialog = page.get_by_role("dialog", name="Texts that are almost the same")
    rows = dialog.locator("#differences li")
    expect(rows).to_have_count(37)
    own = page.locator("#text").inner_text().split()[2]
    assert rows.first.locator("del [aria-hidden]").inner_text() == own
    assert rows.first.locator("ins [aria-hidden]").inner_text() in ("0", "1")
    for at in (0, 5):
        rows.nth(at).get_by_role("checkbox").uncheck()
    assert axe.faults(page) == []
    shot(page, "look-alikes-compared")
    page.keyboard.press("Escape")
    expect(strip).to_contain_text("Also label 35 texts")
    page.keyboard.press("1")
    expect(page.locator("#last")).to_contain_text("35 texts that are almost the same get this label, too.")
    saved(page)
    labelled = [id for id, (name, _) in consensus(parcels.project).items() if name == "a"]
    assert len(labelled) == 36
    page.wait_for_timeout(300)
    page.keyboard.press("u")
    expect(page.locator("#before")).to_have_text("Your previous label: a")
    expect(strip).to_contain_text("Also label 35 texts")  # those excluded before are still excluded
    saved(page)
    assert [name for name, _ in consensus(parcels.project).values() if name == "a"] == []
    body = page.locator("#text").inner_text()
    label_parcels(parcels, body, left=8)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # as after an absence
    expect(strip).to_contain_text("Also label 6 texts")
    label_parcels(parcels, body, left=0)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(strip).to_be_hidden()


def test_a_key_counts_while_the_closed_dialog_still_has_the_focus(window: Window, parcels: Served) -> None:
    page = window.open(parcels.link)
    on_a_parcel(page)
    page.keyboard.press("=")
    expect(page.locator("#differences li")).to_have_count(37)
    page.keyboard.press("Escape")
    expect(page.locator("#look-alikes-dialog")).to_be_hidden()
    # What a key sends in the frame in which the dialog closes.
    page.locator("#differences input").first.dispatch_event("keydown", {"key": "1", "code": "Digit1"})
    expect(page.locator("#last")).to_contain_text("37 texts that are almost the same get this label, too.")


def test_without_the_box_only_the_text_on_the_page_is_labelled(window: Window, parcels: Served) -> None:
    page = window.open(parcels.link)
    on_a_parcel(page)
    before = page.locator("#text").inner_text()
    box = page.locator("#with-look-alikes")
    box.uncheck()
    for checked in (True, False):
        page.keyboard.press("Space")  # the box has the focus, and its own keys
        expect(box).to_be_checked(checked=checked)
    page.keyboard.press("2")
    expect(page.locator("#text")).not_to_have_text(before)
    saved(page)
    assert [name for name, _ in consensus(parcels.project).values() if name == "b"] == ["b"]
    page.wait_for_timeout(300)
    on_a_parcel(page)
    expect(page.locator("#look-alikes")).to_contain_text("Also label 36 texts")
    expect(page.locator("#with-look-alikes")).to_be_checked()
    page.keyboard.press("1")
    saved(page)
    expect(page.locator("#goal")).not_to_contain_text("37")
    assert len([name for name, _ in consensus(parcels.project).values() if name == "a"]) == 37


def test_an_owner_switches_it_off(window: Window, parcels: Served) -> None:
    page = window.open(parcels.link)
    page.goto(f"{parcels.address}/settings")
    box = page.get_by_label("Ask only once about texts that are almost the same")
    expect(box).to_be_checked()
    box.uncheck()
    page.locator("#plan").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto(f"{parcels.address}/")
    on_a_parcel(page)
    expect(page.locator("#look-alikes")).to_be_hidden()


def test_a_list_folds_look_alikes_and_labels_them_together(window: Window, parcels: Served, axe: Axe) -> None:
    page = window.open(parcels.link)
    page.goto(f"{parcels.address}/texts")
    rows = page.locator("#items > li:visible")
    expect(rows).to_have_count(3)
    unfold = page.get_by_role("button", name="Show 37 texts like it")
    unfold.click()
    expect(rows).to_have_count(40)
    page.get_by_role("button", name="Hide 37 texts like it").click()
    expect(rows).to_have_count(3)
    assert axe.faults(page) == []
    parcel_row = rows.filter(has_text="Your parcel")
    parcel_row.get_by_role("checkbox").check()
    expect(page.locator("#bulk")).to_contain_text("38 selected")
    page.locator("#bulk-class").select_option("b")
    page.locator("#label-all").click()
    expect(page.get_by_text("38 texts labelled.")).to_be_visible()
    with parcels.project.reads() as session:
        assert counts(session) | {"labelled": 38, "copied": 37} == counts(session)
