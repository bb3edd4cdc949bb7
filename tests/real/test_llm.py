"""A real language model labels through the app's panel. It is far too small to label well: the protocol is tested."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from hybridal.app.db.schema import Annotation, Class, LlmAnswer, Person

from ..app.browser.conftest import chromium, shot, warm, window  # noqa: F401
from ..app.browser.served import served
from ..app.browser.window import Window
from .programs import LIMIT, free_port, program, running, until

pytestmark = pytest.mark.real

PATIENCE = 1000 * LIMIT  # milliseconds
TEXTS = [
    "The app crashes when I click save.",
    "Please add a dark theme.",
    "How do I change my password?",
    "Error 500 after the last update.",
    "It would be nice to export to Excel.",
    "Where can I find my invoices?",
]


def is_up(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health").status_code == 200
    except httpx.TransportError:
        return False


def test_a_real_language_model_is_tried_and_labels(
    window: Window,  # noqa: F811
    tmp_path: Path,
    shot: Callable[[Page, str], None],  # noqa: F811
) -> None:
    port = free_port()
    address, server = f"http://127.0.0.1:{port}", Path(__file__).with_name("llm_server.py")
    with (
        running([program("llm", "python"), str(server), str(port)], tmp_path / "llm.log"),
        # It is not asked about texts that are set aside for validation: none are.
        served(tmp_path / "p", TEXTS, ("bug", "feature", "question"), validation_first=0, validation_share=0.0) as app,
    ):
        until(lambda: is_up(address), "the language model")
        page = window.open(app.link, at="/people")
        panel = page.get_by_role("region", name="A language model as annotator")
        panel.get_by_label("Address of the server").fill(f"{address}/v1")
        panel.get_by_label("Model", exact=True).fill("smollm2")
        panel.get_by_label("Requests per minute").fill("1000")
        panel.get_by_label("Accept its label if its confidence is at least").fill("0")
        panel.get_by_label("Share of texts that people label too").fill("0")
        panel.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        panel.get_by_role("button", name="Try it on five texts").click()
        expect(panel.locator(".trial > li")).to_have_count(5, timeout=PATIENCE)
        shot(page, "real-llm-trial")
        panel.get_by_role("button", name="Start", exact=True).click()
        expect(panel.get_by_text("Waiting for more texts.")).to_be_visible(timeout=PATIENCE)
        shot(page, "real-llm")
        with app.project.reads() as session:
            annotations = session.execute(
                select(Class.name, Person.kind)
                .select_from(Annotation)
                .join(Class, Class.number == Annotation.class_number)
                .join(Person)
            ).all()
            answers = session.scalars(select(LlmAnswer)).all()
        assert len(answers) == len(TEXTS)
        assert all(answer.tokens > 0 and answer.confidence is not None for answer in answers)
        assert len(annotations) == len(TEXTS)
        assert {kind for _, kind in annotations} == {"llm"}
