"""The languages of the pages: gettext catalogues in `locales`, in which the English text is the key."""

from __future__ import annotations

import gettext
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from babel import Locale, negotiate_locale
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from fastapi import Depends, Request

from hybridal.sentences import Sentence

SOURCE = "en"
# In the order of the menu, each under the name that its speakers look for.
LANGUAGES: Mapping[str, str] = {
    SOURCE: "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "pt": "Português",
    "zh": "中文",
    "ja": "日本語",
    "ar": "العربية",
}
COOKIE = "hybridal-language"

_FOLDER = Path(__file__).parent / "locales"
_LARGEST_SAMPLE = 200  # every plural form of every language occurs among the numbers up to here


@dataclass(frozen=True)
class Translation:
    """The texts of the pages in one language.

    >>> translation("en").gettext("Sign in"), translation("en").direction
    ('Sign in', 'ltr')
    """

    language: str
    direction: str
    messages: Mapping[str, str]
    plurals: Mapping[str, tuple[str, ...]]
    forms: Mapping[str, int]

    def gettext(self, text: str) -> str:
        """The translation of a text, or the text itself."""
        return self.messages.get(text, text)

    def ngettext(self, one: str, many: str, n: int) -> str:
        """The translation of a text that depends on a number."""
        forms = self.plurals.get(one)
        if forms is None:
            return one if n == 1 else many
        return forms[self.forms[Locale.parse(self.language).plural_form(n)]]

    def sentence(self, text: str) -> str:
        """The translation of a sentence of the server; a text that is not in the catalogue stays as it is."""
        if not isinstance(text, Sentence):
            return self.gettext(text)
        if text.parts:
            return " ".join(map(self.sentence, text.parts))
        if not text.many:
            return self.gettext(text.one).format(**text.values)
        n = text.values["n"]
        number = format_decimal(n, locale=self.language)
        return self.ngettext(text.one, text.many, n).format(**{**text.values, "n": number})

    def sentences(self, found: dict[str, Any]) -> dict[str, Any]:
        """Translate the sentences of an answer, also of dictionaries in it."""
        return {name: self._translated(value) for name, value in found.items()}

    def _translated(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self.sentences(value)
        return self.sentence(value) if isinstance(value, Sentence) else value

    def as_json(self) -> dict[str, Any]:
        """What the scripts read; `forms` is the index of a plural text's form for each plural category of CLDR."""
        return {"messages": self.messages, "plurals": self.plurals, "forms": self.forms}


@cache
def translation(language: str) -> Translation:
    """The texts in one of the `LANGUAGES`; a text without a translation stays English."""
    locale = Locale.parse(language)
    if language == SOURCE:
        return Translation(language, "ltr", {}, {}, {})
    found = catalogue(language)
    singular: dict[str, str] = {}
    plural: dict[str, tuple[str, ...]] = {}
    for message in found:
        texts = [message.string] if isinstance(message.string, str) else list(message.string or ())
        if not message.id or message.fuzzy or not all(texts):
            continue
        if isinstance(message.id, str):
            singular[message.id] = texts[0]
        else:
            plural[message.id[0]] = tuple(texts)
    return Translation(language, locale.text_direction, singular, plural, plural_forms(found))


def plural_forms(found: Catalog) -> dict[str, int]:
    """The index of a catalogue's form for each plural category of CLDR, such as "one", "few" and "other"."""
    index = gettext.c2py(found.plural_expr)
    category = Locale.parse(str(found.locale)).plural_form
    # From large to small: "many", which in French are millions, takes the form of the smallest number that it covers.
    forms = {category(n): index(n) for n in (1_000_000, *range(_LARGEST_SAMPLE, -1, -1))}
    return {**forms, "other": forms.get("other", found.num_plurals - 1)}


def catalogue(language: str) -> Catalog:
    """The catalogue of a language."""
    with catalogue_path(language).open("rb") as file:
        return read_po(file, locale=language)


def catalogue_path(language: str) -> Path:
    """The file of a language's catalogue."""
    return _FOLDER / language / "LC_MESSAGES" / "messages.po"


def language_of(request: Request) -> str:
    """The language that this browser chose on a page, else the project's, else the best of its preferences."""
    project = getattr(request.app.state, "project", None) if "app" in request.scope else None
    for chosen in (request.cookies.get(COOKIE), project and project.page_language):
        if chosen is not None and chosen in LANGUAGES:
            return str(chosen)
    wanted = _preferences(request.headers.get("accept-language", ""))
    found: str | None = negotiate_locale(wanted, LANGUAGES, sep="-")
    return found or SOURCE


def _translation_of(request: Request) -> Translation:
    return translation(language_of(request))


Texts = Annotated[Translation, Depends(_translation_of)]
"""The texts in the language of a request, for routes."""


def _preferences(header: str) -> list[str]:
    """The languages of an Accept-Language header, the most wanted first.

    >>> _preferences("de-AT, en;q=0.5, fr;q=0.9, *;q=0.1, pt;q=much")
    ['de-AT', 'fr', 'en']
    """
    weighted = []
    for part in header.split(",")[:50]:
        tag, _, weight = part.partition(";q=")
        try:
            weighted.append((-float(weight or 1), tag.strip()))
        except ValueError:
            continue
    return [tag for _, tag in sorted(weighted, key=lambda pair: pair[0]) if tag and tag != "*"]
