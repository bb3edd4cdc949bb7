"""The page Results: shares with intervals, by groups, to copy; and more random labels for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from hybridal.app.db.schema import Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.project_settings import write

from ..made_up import me
from .axe import Axe
from .served import Served, served
from .test_axe import checked
from .window import Window

pytestmark = pytest.mark.browser

SIZE = 150


@pytest.fixture
def labelled(tmp_path: Path) -> Iterator[Served]:
    """Texts of four months, with predictions; those that were drawn at random are labelled."""
    texts = [f"text {at}" for at in range(SIZE)]
    with served(tmp_path / "q", texts, ("late", "other"), validation_first=100, validation_share=0.0) as app:
        of_late = np.array([[0.8, 0.2] if at % 3 == 0 else [0.3, 0.7] for at in range(SIZE)], dtype=np.float32)
        app.project.probabilities.begin({"classes": [1, 2]}, 2)
        app.project.probabilities.write(range(1, SIZE + 1), of_late, [2] * SIZE)
        with app.project.sessions.begin() as session:
            write(session, {"columns": ["sent"]})
            for text in session.scalars(select(Text)).all():
                number = int(text.body.split()[1])
                text.context = {"sent": f"2024-0{1 + number % 2}-10"}
                if text.split == "validation":
                    name = "late" if number % 3 == 0 else "other"
                    annotate(session, me(app.project), text.id, "label", class_name=name, key=text.id, drawn="random")
        yield app


def test_shares_are_shown_copied_and_made_more_precise(
    window: Window, labelled: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(labelled.link, at="/results")
    chart = page.get_by_role("img", name=re.compile("^Shares of all texts"))
    expect(chart.locator("circle")).to_have_count(2)
    expect(chart.locator("path")).to_have_count(2)
    assert "with 95% confidence" in (chart.get_attribute("aria-label") or "")
    low, high = (float(chart.locator(".line").first.get_attribute(at) or 0) for at in ("x1", "x2"))
    assert low < float(chart.locator("circle").first.get_attribute("cx") or 0) < high
    expect(page.locator("#methods")).to_contain_text(f"2 classes in {SIZE} texts were estimated from 30 labels")
    shot(page, "results")
    assert checked(page, axe, "results") == []
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_label("Divide the texts by").select_option("sent")
    page.locator("select[name='unit']").select_option("month")
    expect(page.get_by_role("heading", name="Share of late")).to_be_visible()
    expect(page.get_by_role("region", name="Trends in percentage points").get_by_role("row")).to_have_count(3)
    shot(page, "results-months")
    assert axe.faults(page) == []
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the table").click()
    expect(page.locator("#toasts")).to_contain_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("| Texts | Number of texts |")
    assert "| late: 2024-01 | " in copied
    with page.expect_download() as downloaded:
        page.get_by_role("button", name="Table (CSV)").click()
    assert downloaded.value.path().read_text().startswith("what,of,class")
    page.get_by_label("Wanted precision").fill("4")
    page.get_by_role("button", name="Plan").click()
    expect(page.locator("#plan")).to_contain_text(
        "For ±4 points in each of 2 groups with 95% confidence you need about"
    )
    page.get_by_label("Texts to draw at random").fill("7")
    page.get_by_role("button", name="Draw and label next").click()
    expect(page.locator("#waiting")).to_have_text("7 texts that were drawn wait for a label.")
    with labelled.project.reads() as session:
        drawn = session.scalars(select(Text.body).where(Text.split == "validation", Text.vote_count == 0)).all()
    page.goto(f"{labelled.address}/")
    expect(page.locator("#text")).to_have_text(re.compile(f"^({'|'.join(drawn)})$"))


def test_without_random_labels_the_page_says_what_to_do(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/results")
    expect(page.locator("#problem")).to_contain_text("There are 0 random labels, and an estimate takes at least 10")
    expect(page.locator("#found")).to_be_hidden()
    expect(page.get_by_role("button", name="Draw and label next")).to_be_enabled()
