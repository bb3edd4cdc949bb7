"""English sentences that can be shown in another language, because they remember their template and its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def translatable(text: str) -> str:
    """Mark a text for the catalogues where it is defined; it is translated where it is shown.

    >>> translatable("Label")
    'Label'
    """
    return text


def translatable_plural(one: str, many: str) -> tuple[str, str]:
    """Mark the templates of a sentence with a number.

    >>> translatable_plural("{n} text", "{n} texts")
    ('{n} text', '{n} texts')
    """
    return one, many


class Sentence(str):
    """A sentence made from a template; as a string, it is the English sentence.

    Attributes:
        one: The template, of which each {name} is replaced by a value; with a number, that for one.
        many: The template for other numbers, of which {n} is replaced; "" for a sentence without a number.
        values: The values by name.
        parts: The sentences that it consists of, if there are several.

    >>> Sentence("Label at least {texts} texts.", texts=200)
    'Label at least 200 texts.'
    """

    one: str
    many: str
    values: Mapping[str, Any]
    parts: tuple[str, ...]

    def __new__(cls, template: str, /, **values: Any) -> Sentence:
        """Fill a template."""
        return cls._made(template.format(**values), template, "", values)

    @classmethod
    def plural(cls, one: str, many: str, n: int, **values: Any) -> Sentence:
        """Fill the template for a number.

        >>> Sentence.plural("{n} label came later.", "{n} labels came later.", 1200)
        '1,200 labels came later.'
        """
        return cls._made((one if n == 1 else many).format(n=f"{n:,}", **values), one, many, {"n": n, **values})

    @classmethod
    def sequence(cls, *parts: str) -> Sentence:
        """Put sentences one after the other.

        >>> Sentence.sequence(Sentence("It is finished."), Sentence("You can stop."))
        'It is finished. You can stop.'
        """
        return cls._made(" ".join(parts), "", "", {}, parts)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Pickle the English sentence only."""
        return str, (str(self),)

    @classmethod
    def _made(cls, text: str, one: str, many: str, values: Mapping[str, Any], parts: tuple[str, ...] = ()) -> Sentence:
        made = super().__new__(cls, text)
        made.one, made.many, made.values, made.parts = one, many, values, parts
        return made
