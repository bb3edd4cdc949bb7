"""A project is created on the start page: by mouse and keyboard, with a file that is chosen or dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hybridal.app.labelling import classes
from hybridal.app.project import Project

from .axe import Axe
from .test_start import endless, served
from .window import Window

__all__ = ["endless"]
pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("endless")]

ROWS = ["body,kind,n", *(f"the {kind} number {n},{kind},{n}" for n in range(20) for kind in ("bug", "idea"))]
CSV = "\n".join([*ROWS, ",bug,40"]).encode()
DROP = """(at, [name, content]) => {
  const given = new DataTransfer();
  given.items.add(new File([content], name));
  for (const type of ["dragenter", "dragover", "drop"])
    at.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: given }));
}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an empty server."""
    (tmp_path / "all").mkdir()
    return tmp_path / "all"


def choose(page: Page, content: bytes = CSV, name: str = "my_reports-2024.csv") -> None:
    file = {"name": name, "mimeType": "text/csv", "buffer": content}
    page.get_by_label("File with your texts").set_input_files(file)  # type: ignore[arg-type]


def test_a_file_becomes_a_project_whose_first_text_is_shown(
    window: Window, folder: Path, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    with served(folder) as link:
        page = window.open(link)
        expect(page.get_by_text("No project yet.")).to_be_visible()
        shot(page, "empty-server")
        assert axe.faults(page) == []
        page.locator("#new-project").evaluate(DROP, ["my_reports-2024.csv", CSV.decode()])
        expect(page.get_by_label("Column of texts")).to_be_focused()
        expect(page.get_by_label("Column of texts")).to_have_value("body")
        expect(page.locator("#first-rows tbody tr")).to_have_count(5)
        expect(page.locator("#file-facts")).to_have_text("41 rows, 40 different texts, 40 with a label.")
        expect(page.locator("#all-labelled")).to_contain_text("there is nothing to label")
        expect(page.get_by_label("Skip 1 row without a text")).to_be_checked()
        expect(page.get_by_label("Name of the project")).to_have_value("my reports 2024")
        lines = page.get_by_label("One class per line")
        expect(lines).to_have_value("bug\nidea")
        lines.fill('bug: it does not work\nquestion\t"asks for ""help"""\nquestion')
        expect(page.locator("#classes-found")).to_have_text("2 classes: bug, question. The file has also: idea.")
        page.get_by_label("Treat the labels in the file as").select_option(
            "suggestions only: shown to the person labelling"
        )
        expect(page.locator("#all-labelled")).to_be_empty()
        page.get_by_text("Advanced").click()
        page.get_by_label("Labels planned").fill("30")
        page.get_by_label("Language of the pages").select_option("Deutsch")
        page.get_by_label("Language of the texts").select_option("another language, or several")
        expect(page.get_by_label("Encoder")).to_have_value("multilingual-e5-small")
        page.get_by_label("Encoder").select_option("tiny")
        expect(page.get_by_text("You label alone")).to_be_visible()
        page.locator("#new-project").evaluate("place => place.scrollIntoView()")
        page.emulate_media(reduced_motion="reduce")
        page.screenshot(full_page=True)
        shot(page, "new-project")
        assert axe.faults(page) == []
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.set_viewport_size({"width": 360, "height": 740})
        assert axe.faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shot(page, "new-project-phone-dark")
        page.get_by_role("button", name="Create and start labelling").click()
        page.wait_for_url("**/p/my-reports-2024/")
        expect(page.locator("#text")).to_contain_text("number")
        expect(page.get_by_role("button", name="question")).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "de")
    project = Project.open(folder / "my-reports-2024")
    with project.reads() as session:
        found = [(one.name, one.description) for one in classes.active(session)]
    assert found == [("bug", "it does not work"), ("question", 'asks for "help"'), ("idea", "")]
    assert (project.setting("budget"), project.setting("backbone")) == (30, "tiny")
    project.close()


def test_descriptions_of_the_classes_are_taken_from_a_column(window: Window, folder: Path) -> None:
    with served(folder) as link:
        page = window.open(link)
        choose(page, b"text,label,meaning\nit crashes,bug,does not work\nplease add,idea,\nit hangs,bug,\n", "a.csv")
        expect(page.get_by_label("One class per line")).to_have_value("bug\nidea")
        page.get_by_label("Column of class descriptions").select_option("meaning")
        expect(page.get_by_label("One class per line")).to_have_value("bug: does not work\nidea")
        expect(page.locator("#classes-found")).to_have_text("2 classes: bug, idea.")


def test_a_description_follows_a_colon_as_people_type_it_in_any_script(window: Window, folder: Path) -> None:
    lines = ["bug: slow: hangs", "苦情：遅い：止まる", "質問： 使い方", "a:b", "要望", "苦情：全般：その他"]
    read = """async ([module, lines, known]) => {
      const { readClassLines } = await import(module);
      return readClassLines(lines.join("\\n"), known).map(({ name, description }) => [name, description]);
    }"""
    with served(folder) as link:
        page = window.open(link)
        script = page.locator("script[src$='/start.js']").get_attribute("src")
        assert script is not None
        found = page.evaluate(read, [script.replace("start.js", "class-lines.js"), lines, ["a:b", "苦情：全般"]])
    assert found == [
        ["bug", "slow: hangs"],
        ["苦情", "遅い：止まる"],
        ["質問", "使い方"],
        ["a:b", ""],
        ["要望", ""],
        ["苦情：全般", "その他"],
    ]


def test_by_keyboard_with_columns_of_0_and_1(window: Window, folder: Path) -> None:
    with served(folder) as link:
        page = window.open(link)
        choose(page, b"text,bug,idea\nit crashes,1,0\nplease add,0,1\nboth,1,1\n", "sets.csv")
        expect(page.get_by_label("Column of texts")).to_be_focused()
        page.get_by_label("exactly one class").focus()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_label("any number of classes")).to_be_checked()
        page.get_by_label("Column of labels").select_option(["bug", "idea"])
        expect(page.locator("#file-facts")).to_have_text("3 rows, 3 different texts, 3 with a label.")
        expect(page.get_by_label("One class per line")).to_have_value("bug\nidea")
        page.get_by_label("Name of the project").press("Enter")
        page.wait_for_url("**/p/sets/")
    project = Project.open(folder / "sets")
    assert project.setting("multi_label")
    project.close()


def test_a_file_that_cannot_be_read_says_why_and_another_can_be_chosen(window: Window, folder: Path) -> None:
    with served(folder) as link:
        page = window.open(link)
        choose(page, b"PK\x03\x04", "broken.xlsx")
        expect(page.locator("#file-status.problem")).to_contain_text("broken.xlsx")
        expect(page.locator("#steps")).to_be_hidden()
        choose(page, b"text\none\ntwo\n")
        expect(page.locator("#file-facts")).to_have_text("2 rows, 2 different texts.")
        page.get_by_label("Name of the project").fill("...")
        page.get_by_role("button", name="Create and start labelling").click()
        expect(page.locator("#create-problem")).to_have_text("The name of a project needs a letter or a digit.")
        page.get_by_label("Name of the project").fill("Two")
        page.get_by_role("button", name="Create and start labelling").click()
        page.wait_for_url("**/p/Two/")
