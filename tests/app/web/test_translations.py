from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.extract import extract
from fastapi import Request

import hybridal.app.web
from hybridal.app.web import pages
from hybridal.app.web.translations import (
    COOKIE,
    LANGUAGES,
    SOURCE,
    Translation,
    catalogue,
    language_of,
    translation,
)
from hybridal.sentences import Sentence

WEB = Path(hybridal.app.web.__file__).parent
TEMPLATES = sorted((WEB / "templates").glob("*.html"))
SCRIPTS = sorted((WEB / "static" / "js").rglob("*.js"))
FUNCTIONS = {"t": None, "tParts": None, "tn": (1, 2), "tnParts": (1, 2), "translatable": None}


NAMES = {
    "hybridal",
    "CSV",
    "JSONL",
    "Parquet",
    "Label Studio",
    "hybridal.client",
    "hybridal label",
    "hybridal serve",
    "text",
}


CALL = r"(?<!\w)(?<!\w\.)(?:t|tParts|tn|tnParts|translatable)\("


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


# A single word in lower case is an id or a value.
TEXT = re.compile(r"[A-Za-z]{2,}[,;:]? (?:[A-Za-z]{2,}|…)|^[A-Z][a-z]+[.…]?$|^[A-Z][a-z]+-[a-z]")
NO_TEXT = re.compile(r":hover|min-width|\[role|^Arrow|^(?:Enter|Escape|Tab|Accept|Digit)$")


def without_comments(script: str) -> str:
    return re.sub(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", "", script, flags=re.S)


NO_TEXTS = (
    r"\bimport\b.*?;|\bnew Event\(.*?\)",
    r"\b(?:querySelector(?:All)?|closest|matches)\((?:`[^`]*`|\"[^\"]*\")\)",
    r"\bclass(?:Name =|:) (?:[^\"`{},\n]*(?:\"[^\"]*\"|`[^`]*`))+",
)


@pytest.mark.parametrize("script", SCRIPTS, ids=relative)
def test_every_text_of_a_script_is_marked(script: Path) -> None:
    bare = re.sub(rf"{CALL}\s*(?:\"[^\"]*\",\s*)?\"[^\"]*\"", "", without_comments(script.read_text()))
    for pattern in NO_TEXTS:
        bare = re.sub(pattern, "", bare)
    texts = re.findall(r'"((?:[^"\\\n]|\\.)*)"', bare)
    texts += [re.sub(r"\$\{[^}]*\}", "{}", text) for text in re.findall(r"`([^`]*)`", bare)]
    assert [text for text in texts if TEXT.search(text) and not NO_TEXT.search(text)] == []


def messages(path: Path) -> Iterator[tuple[int, str | tuple[str, ...]]]:
    with path.open("rb") as file:
        content = BytesIO(file.read())
    for line, text, _, _ in extract("javascript", content, FUNCTIONS, options={"parse_template_string": True}):
        yield line, text


@pytest.mark.parametrize("script", SCRIPTS, ids=relative)
def test_texts_are_literals(script: Path) -> None:
    source = without_comments(script.read_text())
    if script.name != "i18n.js":
        assert len(re.findall(CALL, source)) == len(re.findall(rf'{CALL}\s*"', source))


@pytest.mark.parametrize("script", SCRIPTS, ids=relative)
def test_every_marked_text_of_a_script_is_collected(script: Path) -> None:
    """Babel sees no call inside the arguments of another, nor one with braces inside a template string."""
    if script.name != "i18n.js":
        calls = re.findall(rf'{CALL}\s*"', without_comments(script.read_text()))
        assert len(list(messages(script))) == len(calls)


def test_plural_texts_differ_only_in_their_words() -> None:
    for script in SCRIPTS:
        for line, text in messages(script):
            if isinstance(text, tuple):
                one, many = ({*re.findall(r"\{(\w+)\}", form)} - {"n"} for form in text)
                assert one == many, f"{relative(script)}:{line}"


@pytest.mark.parametrize("sheet", sorted((WEB / "static" / "css").glob("*.css")), ids=relative)
def test_a_style_sheet_has_no_text(sheet: Path) -> None:
    shown = re.findall(r"content:\s*\"([^\"]*)\"", sheet.read_text())
    assert [text for text in shown if re.search(r"[A-Za-z]{2}", text) and not text.startswith("\\")] == []


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


def test_sentences_of_the_server_are_translated_with_their_values() -> None:
    forms = {"{n} label came later.": ("{n} Label kam später.", "{n} Labels kamen später.")}
    messages = {"You can stop.": "Genug.", "At {x}.": "Bei {x}."}
    german = Translation("de", "ltr", messages, forms, {"one": 0, "other": 1})
    stop, later = Sentence("You can stop."), Sentence.plural("{n} label came later.", "{n} labels came later.", 1200)
    assert (
        german.sentence(Sentence.sequence(later, stop, "Not known.")) == "1.200 Labels kamen später. Genug. Not known."
    )
    assert german.sentences({"a": {"b": Sentence("At {x}.", x=3)}, "n": 1, "name": "You can stop."}) == {
        "a": {"b": "Bei 3."},
        "n": 1,
        "name": "You can stop.",  # a name of the project's own
    }


def test_texts_of_scripts_are_served_for_ever_and_unknown_languages_are_not_found() -> None:
    version = pages.static_version()
    assert pages.static(version, f"messages/{SOURCE}.json").headers["cache-control"].endswith("immutable")
    for name in ("messages/xx.json", "messages/../en.json", "messages/en.po"):
        assert pages.static(version, name).status_code == 404
    assert next(iter(LANGUAGES)) == SOURCE


# --- the catalogues --------------------------------------------------------------------------------------------------

TRANSLATED = [language for language in LANGUAGES if language != SOURCE]
PLACEHOLDER = re.compile(r"\{\w+\}|%\(\w+\)s")
KEYWORDS = {
    **dict.fromkeys(("_", "gettext", "Sentence", "translatable")),
    **dict.fromkeys(("ngettext", "plural", "translatable_plural"), (1, 2)),
}
TAG = re.compile(r"</?[a-z][^>]*>")


@pytest.fixture(scope="module")
def sources() -> set[str]:
    """Every text of the pages; of those with a plural, the form for one."""
    found: set[str] = set()
    for path in SCRIPTS:
        found |= {text if isinstance(text, str) else text[0] for _, text in messages(path)}
    served = (
        "measures/advice.py",
        "measures/guessing.py",
        "measures/shares/share_sentences.py",
        "measures/spending.py",
        "reports/encoder_story.py",
    )
    modules = [*WEB.parent.rglob("*.py"), *(WEB.parents[1] / name for name in served)]
    for method, paths in (("python", modules), ("jinja2", TEMPLATES)):
        for path in paths:
            with path.open("rb") as file:
                extracted = list(extract(method, BytesIO(file.read()), KEYWORDS, options={"trimmed": "true"}))
            found |= {text if isinstance(text, str) else text[0] for _, text, _, _ in extracted}
    return found


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated_and_none_is_left_over(language: str, sources: set[str]) -> None:
    texts = translation(language)
    assert sources - {*texts.messages, *texts.plurals} == set(), "run `make messages` and translate what is new"
    assert {*texts.messages, *texts.plurals} - sources == set(), "run `make messages`"


def translations(language: str) -> Iterator[tuple[str, str]]:
    for message in catalogue(language):
        if message.id:
            both = message.string if isinstance(message.id, tuple | list) else [message.string]
            for text in both or ():
                yield message.id if isinstance(message.id, str) else message.id[1], str(text)


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_keep_placeholders_and_markup(language: str) -> None:
    for source, text in translations(language):
        wanted, found = (Counter(PLACEHOLDER.findall(one)) for one in (source, text))
        # A form for one or two may spell the number out.
        assert found == wanted or found + Counter(["{n}"]) == wanted, text
        assert Counter(TAG.findall(text)) == Counter(TAG.findall(source)), text
        # Texts stand in attributes, too.
        assert '"' not in text.replace('href="', "").replace('">', "") or '"' in source, text
        assert text.strip() == text, text
        assert "<" not in TAG.sub("", text), text


@pytest.mark.parametrize("language", TRANSLATED)
def test_each_category_of_numbers_has_a_form(language: str) -> None:
    texts = translation(language)
    for one, forms in texts.plurals.items():
        assert {*texts.forms.values()} <= {*range(len(forms))}, one
    for n in range(1000):
        assert texts.ngettext("{n} text", "{n} texts", n)


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_text_grows_out_of_its_place(language: str) -> None:
    for source, text in translations(language):
        assert len(text) <= max(24, 2.1 * len(source)), f"{source!r} became {text!r}"
