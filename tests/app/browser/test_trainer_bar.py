from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from hybridal.app.db.schema import Prediction, QueuedText, Trainer, now

from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


def test_trainer_bar_shows_its_state_and_offers_a_retry(window: Window, app: Served) -> None:
    def does(**values: Any) -> None:
        with app.project.sessions.begin() as session:
            session.execute(update(Trainer).values({"heartbeat": now(), **values}))

    does(phase="waiting", done=5, total=8)
    page = window.person().new_page()
    page.clock.install()
    page.goto(app.link)
    bar = page.get_by_role("region", name="The model's training")

    def says(sentence: str) -> None:
        page.clock.run_for(2100)
        expect(bar.get_by_role("paragraph")).to_have_text(sentence)

    says("The model starts learning after 3 more labels (validation texts not counted).")
    with app.project.sessions.begin() as session:
        session.add(Prediction(text_row=1, class_number=1, probability=0.6, entropy=0.6, round=0))
    names = "Predictions are from the class names and descriptions alone; no label learned yet."
    says(f"{names} The model starts learning after 3 more labels (validation texts not counted).")
    does(learnt_annotation=1)
    says("The model starts learning after 3 more labels (validation texts not counted).")
    does(done=10, total=11)
    says("There are no labels to learn from yet; label some texts first.")
    does(phase="loading", step="texts", done=2048, total=20000)
    says("Loading the model. 2,048 of 20,000 texts are read.")
    does(phase="training", update="retrain", round=1, step="fits", done=3, total=4)
    says("Retraining the model, round 1. Fitting the classifier, step 3 of 4.")
    does(step="epochs", done=2, total=6, seconds_left=75)
    says("Retraining the model, round 1. Epoch 2 of 6. About 1 min 15 s left.")
    with app.project.sessions.begin() as session:
        session.add(QueuedText(text_row=1, rank=0, round=1))
    says("The new model is in use. Retraining the model, round 1. Epoch 2 of 6. About 1 min 15 s left.")
    assert abs(float(bar.get_by_role("progressbar").evaluate("bar => bar.value")) - 1 / 3) < 1e-9
    does(phase="waiting", done=5, total=8)
    says("The model learns again after 3 more labels (validation texts not counted).")
    does(phase="waiting", done=0, total=8)
    says("The model has learned from all labels and learns again after 8 more labels (validation texts not counted).")
    does(phase="training", heartbeat=now() - 600)
    says("The trainer last responded 10 minutes ago. Your labels are safe.")
    does(phase="failed", error="The disk is full.")
    says("The trainer failed. The disk is full. Your labels are safe.")
    with page.expect_response(lambda reply: reply.request.method == "POST"):
        bar.get_by_role("button", name="Retry").click()
    with app.project.reads() as session:
        assert session.get_one(Trainer, 1).request == "retry"
