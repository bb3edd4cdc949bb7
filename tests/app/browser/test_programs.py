from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from hybridal.client import Project, RequestError

from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


def test_a_token_is_made_used_by_a_program_and_withdrawn(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(app.link)
    page.get_by_role("link", name="Programs").click()
    page.get_by_label("For").fill("nightly import")
    page.get_by_label("As").select_option("owner")
    page.get_by_role("button", name="Make a token").click()
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
    with pytest.raises(RequestError, match="Sign in first"):
        program.classes()
