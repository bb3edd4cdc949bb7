"""The audit log in words, with the names of the pages Settings and People."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from hybridal.app.audit_log import log_action
from hybridal.app.labelling import classes
from hybridal.app.web.translations import COOKIE

from ..made_up import me
from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


def test_actions_and_settings_have_the_names_of_the_pages(window: Window, app: Served) -> None:
    app.project.decide(
        {"overlap": 0.3, "on_disagreement": "majority", "show_predictions": True}, person=me(app.project)
    )
    with app.project.sessions.begin() as session:
        classes.describe(session, 1, "sour")
        log_action(session, me(app.project), "people", "change", person="Ada", role=["annotator", "reviewer"])
    page = window.open(app.link, at="/log")
    person, described, changed = (page.locator("#entries li").nth(at) for at in range(3))
    expect(person).to_contain_text("Roleannotator → reviewer")
    expect(described).to_contain_text("Class described")
    expect(described).to_contain_text("Version of the codebook2")
    expect(changed).to_contain_text("Share of new texts labelled by several people0 → 0.3")
    expect(changed).to_contain_text(
        "If they disagreea reviewer decides → the majority decides; without one, a reviewer"
    )
    page.context.add_cookies([{"name": COOKIE, "value": "de", "url": app.address}])
    page.reload()
    expect(person).to_contain_text("RolleAnnotator → Prüfer")
    expect(described).to_contain_text("Klasse beschrieben")
    expect(changed).to_contain_text("0 → 0,3")
    expect(changed).to_contain_text("nein → ja")
    expect(page.locator("#entries")).not_to_contain_text("overlap")
