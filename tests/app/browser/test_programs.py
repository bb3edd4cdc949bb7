from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hybridal.app.webhooks.address import HOSTS_VARIABLE
from hybridal.app.webhooks.delivery import add_webhook
from hybridal.client import Project, RequestError

from ..webhooks.receiver import receiving
from .served import Served
from .window import HURRY, Window

pytestmark = pytest.mark.browser


def test_a_token_is_made_used_by_a_program_and_withdrawn(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(app.link)
    page.get_by_role("link", name="Programs").click()
    page.get_by_role("textbox", name="For").fill("nightly import")
    page.get_by_role("combobox", name="As").select_option("owner")
    page.get_by_role("button", name="Create a token").click()
    secret = page.get_by_label("The token (shown only once)")
    expect(secret).not_to_have_value("")
    row = page.get_by_role("row", name="nightly import")
    expect(row.get_by_role("cell").nth(4)).to_have_text("never")
    program = Project(app.address, secret.input_value())
    assert program.add(["from a program"]) == 1
    shot(page, "programs")
    page.reload()
    expect(secret).to_be_hidden()
    expect(row.get_by_role("cell").nth(4)).to_have_text("just now")
    row.get_by_role("button", name="Withdraw").click()
    expect(page.locator("#tokens")).to_be_hidden()
    with pytest.raises(RequestError, match="This token is not valid"):
        program.classes()


def test_webhook_is_added_tested_notified_and_removed(
    window: Window, app: Served, shot: Callable[[Page, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = window.open(app.link)
    page.add_init_script(HURRY)
    page.get_by_role("link", name="Programs").click()
    panel = page.get_by_role("region", name="Webhooks")
    with receiving() as server:
        panel.get_by_label("Address").fill(server.url)
        panel.get_by_label("labels are saved").check()
        panel.get_by_role("button", name="Add and test").click()
        expect(page.get_by_text("is in the app's own network; the person who runs").first).to_be_visible()
        assert server.got == []
        monkeypatch.setenv(HOSTS_VARIABLE, "127.0.0.1")
        panel.get_by_role("button", name="Add and test").click()
        expect(page.get_by_label("The secret that signs its messages")).to_have_value(re.compile("^whsec_"))
        expect(panel.locator("summary")).to_contain_text("ping, just now: delivered")
        page.get_by_role("link", name="Label", exact=True).click()
        page.get_by_role("button", name="a", exact=True).click()
        page.get_by_role("link", name="Programs").click()
        expect(panel.locator("summary")).to_contain_text("labels.saved, just now: delivered")
        panel.locator("summary").click()
        expect(panel.get_by_role("listitem")).to_have_count(2)
        shot(page, "webhooks")
        assert [one["type"] for one in server.messages] == ["ping", "labels.saved"]
    panel.get_by_role("button", name="Remove").click()
    expect(panel.get_by_role("article")).to_have_count(0)


def test_a_webhook_of_a_project_from_elsewhere_is_allowed_with_a_button(
    window: Window, app: Served, shot: Callable[[Page, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridal.app.consent.user_state_path", lambda *_, **__: tmp_path / "state")
    with app.project.sessions.begin() as session:
        add_webhook(session, app.project, "https://example.org/hook", ["labels.saved"])
    app.project.asks_before_sending = True
    page = window.open(app.link, at="/programs")
    panel = page.get_by_role("region", name="Webhooks")
    expect(panel).to_contain_text(
        "This project comes from elsewhere: nothing is sent to this address until you allow it."
    )
    panel.get_by_role("button", name="Allow").scroll_into_view_if_needed()
    shot(page, "webhook-from-elsewhere")
    panel.get_by_role("button", name="Allow").click()
    expect(panel.get_by_role("button", name="Allow")).to_have_count(0)
