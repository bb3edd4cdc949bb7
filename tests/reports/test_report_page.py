from hybridal.reports.report_page import Page, about_tables, render, task_name

from .made_up_rounds import ABOUT


def test_page_lists_exactly_the_given_settings() -> None:
    groups = about_tables(ABOUT)
    assert list(groups) == ["settings", "protocol", "task", "versions", "hardware", "run"]
    settings = dict(groups["settings"])
    assert "text" not in settings
    assert settings["overrides"] == "rounds = 10"
    assert settings["seed"] == "42"
    assert dict(groups["protocol"])["calibrate"] == "no"
    assert dict(groups["task"])["classes"] == "comp.graphics, sci.space"


def test_zero_and_false_are_values() -> None:
    assert about_tables({"settings": {"seed": 0, "every": False}}) == {"settings": [("seed", "0"), ("every", "no")]}


def test_the_task_is_named_by_itself_else_by_what_was_asked() -> None:
    assert task_name(ABOUT) == "newsgroups"
    assert task_name({"settings": {"task": "mine.csv"}}) == "mine.csv"
    assert task_name({}) == "an unnamed task"


def test_texts_are_escaped() -> None:
    html = render(Page("<script>", "", ["Nothing yet."], []))
    assert "<script" not in html
    assert "<h1>&lt;script&gt;</h1>" in html


def test_words_for_screen_readers_do_not_widen_the_page() -> None:
    # They have absolute positions: a table that scrolls contains them only if it has a position itself.
    html = render(Page("A report", "", ["Nothing yet."], []))
    assert ".scroll { position: relative; overflow-x: auto; }" in html
