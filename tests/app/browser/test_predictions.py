"""Working with what the model says: lists, one key, a page at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from hybridal.app.db.schema import Scoring
from hybridal.app.project import Project
from hybridal.app.trainer.predictions import Scored, keep_predictions

from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


def predict(project: Project, shares: dict[str, tuple[float, float, float]], round: int = 1) -> None:
    """The model of a round says so of these texts."""
    keep_predictions(project, round, Scored([*shares], np.array([*shares.values()]), (1, 2, 3)))
    with project.sessions.begin() as session:
        session.get_one(Scoring, 1).round = round


def test_texts_are_listed_by_what_the_newest_model_says_of_them(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    predict(app.project, {"t1": (0.1, 0.7, 0.2), "t2": (0.05, 0.9, 0.05), "t3": (0.4, 0.3, 0.3)})
    page = window.open(app.link, at="/texts")
    items = page.locator(".item")
    expect(items).to_have_count(20)
    page.get_by_label("Order").select_option("most confident first")
    expect(items.locator(".written")).to_have_text(["text 2", "text 1", "text 3"])
    page.get_by_label("Order").select_option("most doubtful first")
    expect(items.locator(".written")).to_have_text(["text 3", "text 1", "text 2"])
    page.get_by_label("Predicted").select_option("b")
    expect(items.locator(".written")).to_have_text(["text 1", "text 2"])
    page.reload()
    expect(items).to_have_count(2)  # it is in the address
    shot(page, "texts-predicted")
    # A newer model comes: what is looked at is asked for first, and said again in its place.
    with app.project.sessions.begin() as session:
        session.get_one(Scoring, 1).round = 2
    with page.expect_response("**/api/scoring/first"):
        page.reload()
    with app.project.reads() as session:
        assert session.get_one(Scoring, 1).first == "2,3"
    predict(app.project, {"t1": (0.2, 0.75, 0.05), "t2": (0.6, 0.35, 0.05)}, round=2)
    expect(items.first).to_contain_text("75%")
    expect(items.locator(".written")).to_have_text(["text 1", "text 2"])
