from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.extract import extract
from fastapi import Request

import hybridal.app.web
from hybridal.app.web import pages
from hybridal.app.web.translations import COOKIE, LANGUAGES, SOURCE, Translation, language_of

WEB = Path(hybridal.app.web.__file__).parent
TEMPLATES = sorted((WEB / "templates").glob("*.html"))
SCRIPTS = sorted((WEB / "static" / "js").rglob("*.js"))
FUNCTIONS = {"t": None, "tParts": None, "tn": (1, 2), "tnParts": (1, 2), "translatable": None}

# Scripts whose texts are not in the catalogues yet.
PENDING = {
    f"static/js/{name}.js"
    for name in (
        "add-texts",
        "agreement",
        "bulk",
        "charts/balance",
        "charts/calibration",
        "charts/curve",
        "charts/figure",
        "charts/mark",
        "charts/signal",
        "charts/updates",
        "class-checks",
        "class-editor",
        "contested-classes",
        "copy-button",
        "delete-texts",
        "invitations",
        "llm-evaluation",
        "llm-panel",
        "people",
        "plan",
        "progress",
        "review-kinds",
        "review-set-kinds",
        "review",
        "scoring",
        "send-file",
        "settings",
        "text-dialog",
        "texts",
        "tokens",
        "webhooks",
    )
}

NAMES = {"hybridal", "CSV", "JSONL", "Parquet", "Label Studio", "hybridal.client", "hybridal label", "hybridal serve"}


CALL = r"(?<![.\w])(?:t|tParts|tn|tnParts|translatable)\("


def relative(path: Path) -> str:
    return path.relative_to(WEB).as_posix()


# --- no text escapes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", TEMPLATES, ids=relative)
def test_every_text_of_a_template_is_marked(template: Path) -> None:
    html = template.read_text()
    bare = re.sub(r"\{% trans.*?endtrans %\}|\{#.*?#\}|<script.*?</script>|<title>.*?</title>", "", html, flags=re.S)
    bare = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", bare, flags=re.S)
    texts = [
        " ".join(text.split()) for text in re.sub(r"<code>.*?</code>|<kbd.*?</kbd>|<[^>]*>", "\n", bare).split("\n")
    ]
    attributes = re.findall(r'(?:aria-label|title|placeholder)="([^"]*)"', bare)
    assert [
        text
        for text in texts + attributes
        if re.search(r"[A-Za-z]{2}", text) and text not in NAMES and "://" not in text
    ] == []


# Texts of one word in lower case would be confused with ids and names of classes.
SENTENCE = re.compile(r"[A-Z][a-z]+ [a-z]|[a-z] [a-z]+ [a-z]|^[A-Z][a-z]+$|^[A-Z][a-z ]+[.…]$")
NO_TEXT = re.compile(
    r"^(?:[a-z][\w-]*(?: [a-z][\w-]*)*|[A-Z][A-Z_]+|Arrow\w+|Enter|Escape|Accept|GET|POST|Content-Type|Digit|.*-Token)$"
)


def without_comments(script: str) -> str:
    return re.sub(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", "", script, flags=re.S)


@pytest.mark.parametrize("script", [path for path in SCRIPTS if relative(path) not in PENDING], ids=relative)
def test_every_text_of_a_script_is_marked(script: Path) -> None:
    source = without_comments(script.read_text())
    marked = r"(?:t|tParts|tn|tnParts|translatable)\(\s*(?:\"[^\"]*\",\s*)?"
    bare = re.sub(rf"\b{marked}\"[^\"]*\"", "", source)
    bare = re.sub(r"\bimport\b.*?;|\bnew Event\(.*?\)|ClassList|querySelector(?:All)?\([^)]*\)", "", bare)
    texts = re.findall(r'"((?:[^"\\\n]|\\.)*)"', bare)
    templates = [re.sub(r"\$\{[^}]*\}", "{}", text) for text in re.findall(r"`([^`]*)`", bare)]
    found = [text for text in texts if SENTENCE.search(text) and not NO_TEXT.match(text)]
    assert (
        found + [text for text in templates if re.search(r"[A-Za-z]{2,} |[a-z]{3,}[.…]$", text) and "/" not in text]
        == []
    )


def messages(path: Path) -> Iterator[tuple[int, str | tuple[str, ...]]]:
    with path.open("rb") as file:
        content = BytesIO(file.read())
    for line, text, _, _ in extract("javascript", content, FUNCTIONS, options={"parse_template_string": True}):
        yield line, text


@pytest.mark.parametrize("script", SCRIPTS, ids=relative)
def test_texts_are_literals(script: Path) -> None:
    calls = re.findall(CALL, without_comments(script.read_text()))
    if script.name != "i18n.js":
        literal = re.findall(r'(?<![.\w])(?:t|tParts|tn|tnParts|translatable)\(\s*"', script.read_text())
        assert len(calls) == len(literal)


def test_plural_texts_differ_only_in_their_words() -> None:
    for script in SCRIPTS:
        for line, text in messages(script):
            if isinstance(text, tuple):
                one, many = ({*re.findall(r"\{(\w+)\}", form)} - {"n"} for form in text)
                assert one == many, f"{relative(script)}:{line}"


# --- the choice of a language ----------------------------------------------------------------------------------------


def request(cookie: str = "", accepted: str = "") -> Request:
    headers = [(b"cookie", f"{COOKIE}={cookie}".encode()), (b"accept-language", accepted.encode("latin-1"))]
    return Request({"type": "http", "headers": headers})


@pytest.fixture
def polyglot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridal.app.web.translations.LANGUAGES", {"en": "English", "de": "Deutsch", "zh": "中文"})


@pytest.mark.usefixtures("polyglot")
@pytest.mark.parametrize(
    ("cookie", "accepted", "language"),
    [
        ("de", "zh", "de"),
        ("xx", "de-AT,en;q=0.5", "de"),
        ("", "zh-TW, zh;q=0.9", "zh"),
        ("", "en;q=0.2, de;q=0.3", "de"),
        ("", "fr, *;q=0.5", "en"),
        ("../../etc", "\xff;q=;,;q=nan,,-", "en"),
        ("", "", "en"),
    ],
)
def test_a_cookie_then_the_preferences_of_the_browser_choose(cookie: str, accepted: str, language: str) -> None:
    assert language_of(request(cookie, accepted)) == language


def test_texts_without_a_translation_stay_english() -> None:
    german = Translation(
        "de", "ltr", {"Label": "Annotieren"}, {"{n} text": ("{n} Text", "{n} Texte")}, {"one": 0, "other": 1}
    )
    assert [german.gettext("Label"), german.gettext("Texts")] == ["Annotieren", "Texts"]
    assert [german.ngettext("{n} text", "{n} texts", n) for n in (0, 1, 2)] == ["{n} Texte", "{n} Text", "{n} Texte"]
    assert [german.ngettext("one", "many", n) for n in (1, 2)] == ["one", "many"]


def test_texts_of_scripts_are_served_for_ever_and_unknown_languages_are_not_found() -> None:
    version = pages.static_version()
    assert pages.static(version, f"messages/{SOURCE}.json").headers["cache-control"].endswith("immutable")
    for name in ("messages/xx.json", "messages/../en.json", "messages/en.po"):
        assert pages.static(version, name).status_code == 404
    assert next(iter(LANGUAGES)) == SOURCE
