from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import select

from hybridal.app.db.schema import Text
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.removed_classes import remove

from ..made_up import consensus, me
from .axe import Axe
from .served import Served, served
from .window import Window, wait_for_route

pytestmark = pytest.mark.browser


@pytest.fixture
def page(window: Window, app: Served, request: pytest.FixtureRequest) -> Page:
    opened = window.open(app.link, at="/settings", routed=getattr(request, "param", False))
    expect(opened.get_by_label("Name of a", exact=True)).to_be_visible()
    return opened


def names(app: Served) -> list[str]:
    with app.project.reads() as session:
        return [one.name for one in classes.active(session)]


def test_classes_are_renamed_moved_merged_added_archived_and_deleted(
    page: Page, app: Served, shot: Callable[[Page, str], None]
) -> None:
    page.get_by_label("Name of a", exact=True).fill("apple")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Move apple down").click()
    expect(page.locator("#class-list input").first).to_have_value("b")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("More for c").select_option(label="into another class …")
    expect(page.get_by_role("button", name="Merge c", exact=True)).to_be_disabled()
    page.get_by_label("Merge c into").select_option("apple")
    page.get_by_role("button", name="Merge c", exact=True).click()
    expect(page.locator("#class-list tr")).to_have_count(2)
    page.get_by_label("New class").fill("date")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#class-list tr")).to_have_count(3)
    assert names(app) == ["b", "apple", "date"]
    page.get_by_label("More for apple").select_option(label="and stop learning its labels")
    page.get_by_role("button", name="Archive apple", exact=True).click()
    expect(page.locator("#archived")).to_contain_text("apple is archived; the model does not learn its labels.")
    assert names(app) == ["b", "date"]
    page.get_by_role("button", name="Restore apple").click()
    expect(page.locator("#class-list tr")).to_have_count(3)
    # A deletion in progress is shown until it is complete.
    with app.project.sessions.begin() as session:
        annotate(session, me(app.project), "t1", "label", class_name="b", key="b")
        remove(session, classes.find(session, "b").number)
    page.reload()
    expect(page.locator("#deletion")).to_have_text(
        "A class is being deleted or merged: 1 text left. You can keep labelling."
    )
    shot(page, "settings-deletion")
    page.get_by_label("More for date").select_option(label="and make its texts unlabelled again")
    page.get_by_role("button", name="Delete date", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("“date” is deleted; 0 texts became unlabelled.")
    expect(page.locator("#deletion")).to_be_hidden()
    assert (names(app), consensus(app.project)) == (["apple"], {})


def test_a_class_moves_by_one_place_also_where_another_has_gone(page: Page, app: Served) -> None:
    with app.project.sessions.begin() as session:
        classes.add(session, ["d"])
        remove(session, classes.find(session, "b").number)
    page.reload()
    page.get_by_role("button", name="Move d up").click()
    expect(page.get_by_role("button", name="Move c down")).to_be_disabled()
    assert names(app) == ["a", "d", "c"]


def test_arrow_keys_browse_the_actions_of_a_class_without_running_them(page: Page, app: Served) -> None:
    more = page.get_by_label("More for a")
    more.focus()
    for _ in range(4):
        more.press("ArrowDown")
    expect(more.locator("option:checked")).to_have_text("and keep learning its labels")
    more.press("ArrowDown")
    assert names(app) == ["a", "b", "c"]
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Archive a", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Restore a")).to_be_visible()
    expect(page.locator("#class-list :focus")).to_have_count(1)  # the row is gone, the keyboard is not
    page.get_by_role("button", name="Restore a").press("Enter")
    expect(page.get_by_label("More for a")).to_be_visible()
    expect(page.locator("main:focus-within, main:focus")).to_have_count(1)


def test_many_classes_are_filtered_edited_in_place_and_moved_far(
    window: Window, tmp_path: Path, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    many = [f"class {n}" for n in range(200)]
    with served(tmp_path / "p", classes=many) as app:
        with app.project.sessions.begin() as session:
            classes.describe(session, classes.find(session, "class 7").number, "Überweisungen, that fail")
        page = window.open(app.link, at="/settings")
        expect(page.locator("#classes-shown")).to_have_text("200 classes")
        assert page.locator("#classes-title").evaluate("title => title.parentElement.offsetHeight") < 1.3 * 800
        assert page.locator("#class-list option").count() < 200 * 10
        assert axe.faults(page) == []
        shot(page, "settings-200-classes")
        field = page.get_by_label("Find a class")
        field.fill("uberw")
        expect(page.locator("#classes-shown")).to_have_text("1 of 200 classes")
        expect(page.get_by_label("Name of class 7", exact=True)).to_be_visible()
        field.fill("class 19")
        expect(page.locator("#classes-shown")).to_have_text("20 of 200 classes")
        # Enter saves a cell and goes on below, among the classes that are shown.
        page.get_by_label("What belongs in class 19", exact=True).fill("the nineteenth")
        page.keyboard.press("Enter")
        expect(page.get_by_label("What belongs in class 109")).to_be_focused()
        expect(page.locator("#class-saved")).to_have_text("“class 19” is saved.")
        expect(page.locator("#classes-shown")).to_have_text("20 of 200 classes")
        page.get_by_label("More for class 199").select_option(label="behind another class …")
        page.get_by_label("Move class 199 behind").select_option("class 2")
        page.get_by_role("button", name="Move class 199", exact=True).click()
        expect(page.locator("#class-saved")).to_have_text("“class 199” is saved.")
        assert names(app) == [*many[:3], "class 199", *many[3:199]]
        with app.project.reads() as session:
            assert classes.find(session, "class 19").description == "the nineteenth"
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert axe.faults(page) == []
        shot(page, "settings-200-classes-phone")


def test_a_list_of_classes_is_pasted_from_a_spreadsheet(
    page: Page, app: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    page.get_by_role("button", name="Paste a list …").click()
    dialog = page.get_by_role("dialog", name="Paste a list of classes")
    dialog.get_by_role("button", name="Insert the classes of this project").click()
    expect(dialog.get_by_role("textbox")).to_have_value("a\nb\nc")
    rows = ["name\tdescription\tkey", "a\tthe first", "d\t\tx", "b：second", '"e"\t"says ""hi"""\t2', "f"]
    dialog.get_by_role("textbox").fill("\n".join(rows))
    expect(page.locator("#paste-found")).to_have_text("3 new classes: d, e, f. 2 known classes.")
    assert axe.faults(page) == []
    shot(page, "settings-paste")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("3 classes added. 2 changed.")
    expect(page.get_by_label("Key of d")).to_have_value("x")
    expect(page.get_by_label("Key of b")).to_have_attribute("placeholder", "4")  # 2 is that of e
    with app.project.reads() as session:
        found = [(one.name, one.description, one.key) for one in classes.active(session)]
    assert found == [
        ("a", "the first", ""),
        ("b", "second", ""),
        ("c", "", ""),
        ("d", "", "x"),
        ("e", 'says "hi"', "2"),
        ("f", "", ""),
    ]
    page.get_by_label("Key of f").fill("x")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("The key 'x' is that of the class 'd'; choose another.")
    page.goto(f"{app.address}/")
    expect(page.locator("#classes button kbd")).to_have_text(["1", "4", "3", "x", "2", "6"])
    expect(page.locator("#text")).not_to_be_empty()
    with page.expect_response("**/api/annotations"):
        page.keyboard.press("x")
    assert [*consensus(app.project).values()] == [("d", "people")]


def test_a_table_pasted_into_the_field_for_one_class_opens_the_list(page: Page, app: Served) -> None:
    page.get_by_label("New class").focus()
    paste = """at => {
      const given = new DataTransfer();
      given.setData("text", "d\\tdelta\\ne");
      at.dispatchEvent(new ClipboardEvent("paste", { clipboardData: given, bubbles: true, cancelable: true }));
    }"""
    page.get_by_label("New class").evaluate(paste)
    expect(page.locator("#paste-found")).to_have_text("2 new classes: d, e.")
    page.locator("#paste-form [name=classes]").fill("d\tdelta\tf")
    page.locator("#paste-form").get_by_role("button", name="Save").click()
    expect(page.locator("#paste-form .problem")).to_contain_text("'f' cannot be the key of a class")
    assert names(app) == ["a", "b", "c"]


def test_a_name_that_is_taken_is_refused_with_a_sentence(page: Page, app: Served) -> None:
    page.get_by_label("New class").fill("b")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("A class 'b' already exists.")
    assert names(app) == ["a", "b", "c"]


def test_the_plan_changes_and_texts_are_added(page: Page, app: Served) -> None:
    page.get_by_label("Labels planned").fill("50")
    page.locator("#plan").get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    assert app.project.setting("budget") == 50
    page.get_by_label("People per shared text").fill("3")
    page.get_by_label("If they disagree").select_option("majority")
    page.locator("#plan").get_by_role("button", name="Save").click()
    page.get_by_label("Protocol").select_option("quick")
    page.get_by_label("Share of labels set aside for validation").fill("0.2")
    page.locator("#model").get_by_role("button", name="Save").click()
    tokens = page.get_by_label("Tokens that the model reads per text")
    expect(tokens).to_have_value("40")
    decided = app.project.settings()
    assert [decided[name] for name in ("overlap_people", "on_disagreement", "protocol")] == [3, "majority", "quick"]
    assert (decided["validation_share"], decided["budget"]) == (0.2, 50)
    # A length set by hand survives a change of protocol.
    for change in (lambda: tokens.fill("64"), lambda: page.get_by_label("Protocol").select_option("best")):
        change()
        with page.expect_response("**/api/settings"):
            page.locator("#model").get_by_role("button", name="Save").click()
    page.reload()
    expect(tokens).to_have_value("64")
    expect(page.get_by_label("Protocol")).to_have_value("best")
    expect(page.get_by_label("Labels planned")).to_have_value("50")
    file = {"name": "more.csv", "mimeType": "text/csv", "buffer": b"body\nnew one\nnew two\n"}
    page.locator("#upload [name=file]").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Add these texts").click()
    expect(page.locator("#upload-status")).to_have_text("2 texts added. 0 already in the project.")
    with app.project.reads() as session:
        assert counts(session)["texts"] == 22


SHEET = """Nr;Kommentar;Art\nx1;Grüße aus Köln;A\nx2;;b\nx3;Grüße aus Köln;\nx4;10 € – teuer;b\n"""


def choose(page: Page, name: str, content: bytes) -> None:
    file = {"name": name, "mimeType": "text/csv", "buffer": content}
    page.locator("#upload [name=file]").set_input_files(file)  # type: ignore[arg-type]


def test_a_file_is_looked_at_before_its_texts_are_added(
    page: Page, app: Served, shot: Callable[[Page, str], None]
) -> None:
    choose(page, "mail.csv", SHEET.encode("cp1252"))
    expect(page.get_by_label("Column of texts")).to_have_value("Kommentar")
    expect(page.locator("#first-rows tbody tr").nth(3)).to_contain_text("10 € – teuer")
    expect(page.locator("#first-rows th")).to_have_text(["Kommentar", "Nr", "Art"])
    assert page.evaluate("document.querySelector('#first-rows td').offsetWidth") >= 300
    page.get_by_label("Column of labels").select_option("Art")
    page.get_by_label("Column of ids").select_option("Nr")
    expect(page.locator("#preview-facts")).to_contain_text("4 rows. 2 different texts. 2 with a label. New class: A.")
    expect(page.locator("#preview-facts")).to_contain_text("“A” differs from the existing class “a” only in capitals")
    expect(page.get_by_label("Skip 1 row without a text")).to_be_checked()
    shot(page, "import-preview")
    page.get_by_label("Skip 1 duplicate text").uncheck()
    page.get_by_role("button", name="Add these texts").click()
    expect(page.locator("#upload-status")).to_have_text("3 texts added. 0 already in the project. 1 skipped.")
    expect(page.locator("#preview")).to_be_hidden()
    with app.project.reads() as session:
        assert {"x1", "x3", "x4"} <= set(session.scalars(select(Text.id)))
    assert names(app) == ["a", "b", "c", "A"]


def test_labels_that_differ_only_in_case_are_named_and_can_be_merged(
    page: Page, app: Served, shot: Callable[[Page, str], None]
) -> None:
    choose(page, "more.csv", b"text,label\nNew,A\nNewer,b\n")
    expect(page.locator("#preview-facts")).to_contain_text("“A” differs from the existing class “a” only in capitals")
    page.locator("#upload button").click()
    expect(page.locator("#twins")).to_contain_text("“A” and “a” differ only in capitals")
    shot(page, "twins")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Merge into “a”").click()
    expect(page.locator("#twins")).to_be_empty()
    assert names(app) == ["a", "b", "c"]


def test_invalid_columns_are_reported_and_can_be_corrected(page: Page, app: Served) -> None:
    choose(page, "more.csv", b"text,id,n\none,1,same\ntwo,2,same\n")
    expect(page.get_by_label("Column of ids")).to_have_value("id")
    page.get_by_label("Column of ids").select_option("n")
    expect(page.locator("#upload-status")).to_contain_text(
        "more.csv, line 3, column 'n': the id 'same' is also that of line 2"
    )
    expect(page.get_by_role("button", name="Add these texts")).to_be_disabled()
    page.get_by_label("Column of ids").select_option("none")
    page.get_by_role("button", name="Add these texts").click()
    expect(page.locator("#upload-status")).to_have_text("2 texts added. 0 already in the project.")


def test_unreadable_file_is_reported(page: Page, app: Served) -> None:
    choose(page, "mail.xlsx", b"PK")
    expect(page.locator("#upload-status")).to_contain_text("mail.xlsx: not a whole Excel file")
    expect(page.locator("#preview")).to_be_hidden()


def test_a_large_file_is_sent_with_a_bar_and_one_that_is_too_large_not_at_all(
    page: Page, app: Served, shot: Callable[[Page, str], None]
) -> None:
    chromium = page.context.new_cdp_session(page)
    chromium.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 2_000_000}
    chromium.send("Network.emulateNetworkConditions", slow)
    rows = "".join(f"{row} {'many words ' * 5_000}\n" for row in range(30))
    choose(page, "long.csv", f"text\n{rows}".encode())  # 1.6 MB
    bar = page.locator("#upload progress")
    expect(bar).to_be_visible()
    bar.scroll_into_view_if_needed()
    shot(page, "upload-bar")
    expect(page.locator("#preview-facts")).to_have_text("30 rows.")
    expect(bar).to_be_hidden()
    sent: list[int] = []
    page.on("request", lambda request: sent.append(len(request.post_data_buffer or b"")))
    page.get_by_role("button", name="Add these texts").click()
    expect(page.locator("#upload-status")).to_have_text("30 texts added. 0 already in the project.")
    assert max(sent) < 10_000, "the file is sent once"
    page.evaluate("document.querySelector('#upload [name=file]').dataset.largest = 1e6")
    choose(page, "long.csv", f"text\n{rows}".encode())
    expect(page.locator("#upload-status")).to_have_text("The file is too large; the limit is 1 MB.")


def test_the_preview_names_the_sheets_that_are_not_read(
    page: Page, app: Served, shot: Callable[[Page, str], None]
) -> None:
    book, excel = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["text", "kind"])
    book.active.append(["from the first sheet", "a"])
    book.create_sheet("Archive")
    book.save(excel)
    choose(page, "two.xlsx", excel.getvalue())
    expect(page.locator("#preview-notices")).to_contain_text("only the first sheet, 'Sheet', is read, not 'Archive'")
    page.get_by_label("Column of labels").select_option("none")
    expect(page.locator("#preview-facts")).to_have_text("1 row.")
    expect(page.locator("#preview-notices")).to_be_visible()
    page.locator("#preview-notices").scroll_into_view_if_needed()
    shot(page, "other-sheets")
    choose(page, "one.csv", b"text\nnew\n")
    expect(page.locator("#preview-notices")).to_be_hidden()


def test_while_many_texts_are_added_a_bar_shows_how_many(
    page: Page, app: Served, shot: Callable[[Page, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_TEXTS_PER_TRANSACTION", 10)
    add, go_on = texts.add, threading.Semaphore(2)

    def slow(*args: Any, **kwargs: Any) -> texts.Added:
        assert go_on.acquire(timeout=60)
        return add(*args, **kwargs)

    monkeypatch.setattr(texts, "add", slow)
    choose(page, "many.csv", "\n".join(["text", *map(str, range(40))]).encode())
    page.get_by_role("button", name="Add these texts").click()
    bar = page.locator("#upload progress")
    expect(bar).to_have_js_property("value", 0.5)
    expect(page.locator("#upload-status")).to_have_text("Adding texts …")
    shot(page, "adding-bar")
    go_on.release(2)
    expect(page.locator("#upload-status")).to_have_text("40 texts added. 0 already in the project.")
    expect(bar).to_be_hidden()


def test_a_file_that_the_server_no_longer_has_is_sent_again(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/settings", routed=True)
    choose(page, "more.csv", b"text,n\nnew one,1\n")
    gone = {"error": "The file is no longer on the server; choose it again."}
    page.route("**/api/texts", lambda route: route.fulfill(status=404, json=gone), times=1)
    page.get_by_role("button", name="Add these texts").click()
    expect(page.locator("#upload-status")).to_have_text("1 text added. 0 already in the project.")


def test_file_preview_fits_a_phone(window: Window, app: Served, shot: Callable[[Page, str], None]) -> None:
    page = window.open(app.link, at="/settings", viewport={"width": 390, "height": 844}, has_touch=True)
    choose(page, "mail.csv", SHEET.encode())
    expect(page.locator("#first-rows")).to_be_visible()
    page.locator("#upload").scroll_into_view_if_needed()
    shot(page, "import-preview-phone")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_file_can_only_be_sent_once_the_page_is_ready(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    expect(page.locator("#text")).not_to_be_empty()  # so that what is held is asked for by the page of settings
    held: list[Route] = []
    page.route("**/api/project", lambda route: held.append(route), times=1)
    page.goto(f"{app.address}/settings")
    send = page.get_by_role("button", name="Add these texts")
    file = {"name": "more.csv", "mimeType": "text/csv", "buffer": b"text\nnew one\n"}
    page.locator("#upload [name=file]").set_input_files(file)  # type: ignore[arg-type]
    expect(send).to_be_disabled()
    held.pop().continue_()
    send.click()
    expect(page.locator("#upload-status")).to_have_text("1 text added. 0 already in the project.")


def test_label_studio_export_is_imported_once(page: Page, app: Served) -> None:
    region = {"from_name": "kind", "value": {"choices": ["a"]}}
    task = {"id": 1, "data": {"title": "t", "body": "text 1"}, "annotations": [{"id": 1, "result": [region]}]}
    file = {"name": "export.json", "mimeType": "application/json", "buffer": json.dumps([task]).encode()}
    for sentence in (
        "0 texts added. 1 label imported. 0 already there.",
        "0 texts added. 0 labels imported. 1 already there.",
    ):
        page.locator("#import [name=file]").set_input_files(file)  # type: ignore[arg-type]
        page.get_by_label("Field of texts").fill("body")
        page.get_by_role("button", name="Import").click()
        expect(page.locator("#import-status")).to_have_text(sentence)


def test_the_keyboard_stays_on_a_class_while_it_changes(page: Page, app: Served) -> None:
    page.get_by_label("Name of a", exact=True).fill("apple")
    page.keyboard.press("Tab")
    description = page.get_by_label("What belongs in apple")
    expect(description).to_be_focused()
    page.keyboard.type("fruit")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Examples of apple")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Key of apple")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Keywords of apple")).to_be_focused()
    page.keyboard.press("Tab")
    down = page.get_by_role("button", name="Move apple down")
    expect(down).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#class-list input").first).to_have_value("b")
    expect(down).to_be_focused()
    expect(description).to_have_value("fruit")


@pytest.mark.parametrize("page", [True], indirect=True, ids=["routed"])
def test_an_overtaken_list_of_classes_is_not_shown(page: Page, app: Served) -> None:
    held: list[Route] = []
    page.route("**/api/classes?*", lambda route: held.append(route), times=1)
    page.get_by_label("Name of a", exact=True).fill("apple")
    page.keyboard.press("Tab")
    stopped = wait_for_route(page, held)
    late = stopped.fetch()
    page.get_by_label("Name of b", exact=True).fill("berry")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Name of berry")).to_be_visible()
    with page.expect_response("**/api/classes?*"):
        stopped.fulfill(response=late)
    page.get_by_label("New class").fill("date")
    expect(page.get_by_label("Name of berry")).to_be_visible()
