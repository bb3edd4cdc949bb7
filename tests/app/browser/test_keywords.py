"""Keywords that owners set for classes are highlighted in the texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from hybridal.app.db.schema import Class

from .axe import Axe
from .served import served
from .test_reasons import marked
from .window import Window

pytestmark = pytest.mark.browser

BODY = "REFUND me (c++), no refunds or prerefund: money  back; 退款了"


def test_keywords_of_classes_are_highlighted_in_their_colours(window: Window, tmp_path: Path, axe: Axe) -> None:
    with served(tmp_path / "p", [BODY], ["money", "other"]) as app:
        page = window.open(app.link, at="/settings")
        field = page.get_by_label("Keywords of money")
        field.fill("refund\n\nmoney back\nrefund\n退款")
        field.blur()
        expect(page.locator("#class-saved")).to_have_text("“money” is saved.")
        page.get_by_label("Keywords of other").fill("prere*\nc++\nme-too")
        page.get_by_label("Keywords of other").blur()
        expect(page.locator("#class-saved")).to_have_text("“other” is saved.")
        with app.project.reads() as session:
            stored = session.scalar(select(Class.keywords).where(Class.name == "money"))
        assert stored == "refund\nmoney back\n退款"
        page.goto(app.address)
        expect(page.locator("#text")).to_have_text(BODY)
        assert marked(page, "class-0") == ["REFUND", "money  back", "退款"]
        assert marked(page, "class-1") == ["c++", "prerefund"]
        assert axe.faults(page) == []
