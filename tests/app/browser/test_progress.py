from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from hybridal.app.db.schema import Trainer
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task

from ..insight.rounds import round_of
from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


def a_round(number: int, update: str, accuracy: float, signal: float | None) -> dict[str, Any]:
    facts = {"round": number, "update": update, "labels": 16 * number, "accuracy": accuracy, "signal": signal}
    measures = {"low": accuracy - 0.1, "high": min(1, accuracy + 0.1), "nll": 0.5, "ece": 0.04}
    measures |= {"f1": accuracy, "f1_low": accuracy - 0.15, "f1_high": min(1, accuracy + 0.12), "f1_classes": 2}
    return {**facts, **measures, "seconds": 12.0, "stable": signal is not None and signal < 0.02, "epsilon": 0.02}


PROGRESS = {
    "rounds": [
        a_round(1, "retrain", 0.6, None),
        a_round(2, "retrain", 0.8, 0.2),
        a_round(3, "retrain", 0.81, 0.01),
        a_round(4, "finetune", 0.81, 0.0),
    ],
    "switch": 3,
    "signal": {"name": "accuracy", "epsilon": 0.02},
    "calibration": [{"low": 0.5, "high": 1.0, "confidence": 0.9, "accuracy": 0.81, "n": 40}],
    "saved": {"seconds": 90.0, "share": 0.25, "sentence": "1 of 4 updates continued from the previous weights."},
    "balance": [{"class": "a", "n": 30}, {"class": "b", "n": 10}, {"class": "c", "n": 0}],
    "advice": "100 more labels should raise the score by about 0.1 points (likely -0.3 to 0.6). You can stop.",
    "finish": {"finished": False, "advised": True, "sentence": "The model is not finished."},
}


@pytest.fixture
def page(window: Window, app: Served) -> Page:
    opened = window.open(app.link, routed=True)
    opened.route("**/api/progress", lambda route: route.fulfill(json=PROGRESS))
    opened.goto(f"{app.address}/progress")
    return opened


def drawing(page: Page, title: str) -> Locator:
    return page.get_by_role("figure").filter(has=page.get_by_role("heading", name=title)).get_by_role("img")


def test_charts_are_correct_and_have_a_table_of_their_numbers(page: Page) -> None:
    columns = page.get_by_role("figure").first.locator("table").first
    for at, style in enumerate(("end", "start", "end")):  # round, update, labels
        for cell in (columns.locator("th").nth(at), columns.locator("tbody td").nth(at)):
            expect(cell).to_have_css("text-align", style)
    # The learning curve rises with its points.
    curve = drawing(page, "Learning curve")
    expect(curve.locator("circle.retrain")).to_have_count(3)
    expect(curve.locator("rect.finetune")).to_have_count(1)
    heights = [float(point.get_attribute("cy") or 0) for point in curve.locator("circle").all()]
    assert heights == sorted(heights, reverse=True)
    assert "between 71% and 91%" in (curve.get_attribute("aria-label") or "")
    # The signal is drawn against its threshold, with the switch.
    signal = drawing(page, "Is the model settling?")
    expect(signal).to_contain_text("ε = 0.02")
    expect(signal).to_contain_text("settled")
    threshold = float(signal.locator(".threshold").get_attribute("y1") or 0)
    above, below, zero = (
        float(p.get_attribute(at) or 0) for p, at in zip(signal.locator(".mark").all(), ("cy", "cy", "y"), strict=True)
    )
    assert above < threshold < below < zero
    expect(page.locator("#story")).to_contain_text("The model settled in round 3")
    for summary in page.get_by_text("The numbers").all():
        summary.click()
    tables = page.locator("figure table").all()
    assert [table.locator("tbody tr").count() for table in tables] == [4, 4, 4, 1]
    expect(page.locator("figure").last).to_contain_text("30 (75%)")
    expect(page.locator("#tiles")).to_contain_text("1 min 30 s")
    expect(page.locator("#tiles")).to_contain_text("25% fewer steps than always retraining")
    expect(page.locator("#tiles")).to_contain_text("between 0.66 and 0.93, over 2 of 3 classes")
    expect(page.locator("#tiles")).to_contain_text("of 20 planned")  # as on the page Label: there are no more texts


@pytest.mark.parametrize(
    ("updates", "sentence"),
    [
        (["retrain"], "1 update retrained the model from scratch."),
        (["refit"] * 2, "2 updates only fitted the model's last layer to the new labels."),
        (
            ["retrain", "retrain", "refit"],
            "2 updates retrained the model from scratch. "
            "1 update only fitted the model's last layer to the new labels.",
        ),
    ],
)
def test_how_the_model_was_updated_is_said_in_sentences(page: Page, updates: list[str], sentence: str) -> None:
    rounds = [a_round(number, update, 0.8, None) for number, update in enumerate(updates, start=1)]
    told = {**PROGRESS, "rounds": rounds, "switch": None, "signal": None, "advice": None}
    page.route("**/api/progress", lambda route: route.fulfill(json=told))
    page.reload()
    expect(page.locator("#story")).to_have_text(sentence)


def test_a_figure_that_cannot_be_known_is_not_shown(page: Page) -> None:
    last = {**a_round(2, "retrain", 0.8, None), **dict.fromkeys(("f1", "f1_low", "f1_high", "f1_classes", "ece"))}
    told = {**PROGRESS, "rounds": [last], "switch": None, "signal": None}
    page.route("**/api/progress", lambda route: route.fulfill(json=told))
    page.reload()
    for name in ("Macro-F1", "Calibration error"):
        tile = page.locator("#tiles .card").filter(has_text=name)
        expect(tile).to_contain_text("too few validation labels")
        expect(tile.locator(".value")).to_have_text("–")


def test_every_kind_of_update_has_a_shape_of_its_own(page: Page) -> None:
    rounds = [*PROGRESS["rounds"], a_round(5, "refit", 0.82, 0.0), a_round(6, "finetune:3", 0.82, 0.0)]  # type: ignore[misc]
    rounds[0] = {**rounds[0], "seconds": 754.0}
    page.route("**/api/progress", lambda route: route.fulfill(json={**PROGRESS, "rounds": rounds}))
    page.reload()
    curve = drawing(page, "Learning curve")
    expect(curve.locator("rect.other")).to_have_attribute("transform", re.compile("rotate"))
    expect(page.locator("figure").first.locator(".legend rect.other")).to_have_count(1)
    expect(curve.locator("circle.retrain")).to_have_count(3)
    expect(curve.locator("rect.finetune")).to_have_count(2)
    times = drawing(page, "Updates and training time saved")
    tallest = times.get_by_text("12 min 34 s", exact=True)  # wider than its bar
    inside, edge = tallest.bounding_box(), times.bounding_box()
    assert inside
    assert edge
    assert inside["x"] >= edge["x"]
    expect(times.locator("text.time")).to_have_count(6)


def test_advice_to_stop_offers_to_finish_the_model(page: Page, app: Served, shot: Callable[[Page, str], None]) -> None:
    expect(page.locator("#finish-state")).to_have_text("The model is not finished.")
    button = page.get_by_role("button", name="Finish: train once more on all labels")
    expect(button).to_have_class("main")
    shot(page, "finish")
    button.click()
    expect(page.locator("#toasts")).to_contain_text("once more on all labels")
    expect(page.locator("#finish-state")).to_have_text("The model is trained once more on all labels.")
    expect(button).to_be_hidden()
    expect(page.locator("#main")).to_be_focused()
    with app.project.sessions.begin() as session:
        assert session.get_one(Trainer, 1).request == "finish"
        session.get_one(Trainer, 1).request = ""
    done = {"finished": True, "advised": True, "sentence": "The model is finished."}
    page.route("**/api/progress", lambda route: route.fulfill(json={**PROGRESS, "finish": done}))
    page.goto(f"{app.address}/export")
    expect(page.locator("#finish-state")).to_have_text("The model is finished.")
    expect(button).to_be_hidden()
    shot(page, "finished")


def test_several_classes_per_text_have_micro_f1(page: Page, app: Served, shot: Callable[[Page, str], None]) -> None:
    measures = {"accuracy": None, "micro_f1": 0.7, "exact_match": 0.4, "lrap": 0.9}
    rounds = [{**a_round(number, "retrain", 0.6, None), **measures} for number in (1, 2)]
    found = {**PROGRESS, "rounds": rounds, "balance": [{"class": "a", "n": 10, "absent": 30}]}
    page.route("**/api/progress", lambda route: route.fulfill(json=found))
    page.goto(f"{app.address}/progress")
    expect(page.locator("#tiles")).to_contain_text("Micro-F10.700")
    expect(page.locator("#tiles")).to_contain_text("Exactly right40%")
    expect(drawing(page, "Learning curve")).to_have_attribute("aria-label", re.compile("the micro-F1 is 70%"))
    expect(page.locator(".balance")).to_contain_text("10 (25%)")
    shot(page, "several-progress")


def test_an_owner_enters_prices_and_sees_who_labels_next(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    folder = RunFolder.create(app.project.runs / "001", Settings("toys"), toy_task(train=40, validation=2), {})
    for round in (round_of(1), round_of(2, right=17, changes={"agreement": 0.1})):
        folder.append(round)
    page = window.open(app.link)
    page.goto(f"{app.address}/settings")
    prices = page.get_by_role("region", name="Prices")
    prices.get_by_label("Price of people's work").fill("0.25")
    prices.get_by_label("Unit").first.select_option("per label")
    prices.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    prices.scroll_into_view_if_needed()
    shot(page, "prices")
    page.goto(f"{app.address}/progress")
    offered = page.get_by_role("region", name="Who labels next?").get_by_role("listitem")
    expect(offered).to_have_text([re.compile("more labels by people cost "), re.compile("^Stopping costs nothing")])
    shot(page, "who-labels-next")
