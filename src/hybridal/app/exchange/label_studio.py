"""Label Studio's words for ours: a task is a text, an annotation an answer, a choice a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

Json = dict[str, Any]

_LARGEST = 200_000


@dataclass(frozen=True)
class Config:
    """How a Label Studio project names things: the choices, the text they are about, and its field in a task's data."""

    choices: str = "label"
    text: str = "text"
    field: str = "text"


def read_config(xml: Any) -> Config | None:
    """The names in a labelling configuration; None if it has no choices about a text.

    >>> read_config('<View><Text name="t" value="$body"/><Choices name="c" toName="t"></Choices></View>')
    Config(choices='c', text='t', field='body')
    >>> read_config("<View/>") is None
    True
    """
    # A configuration has no use for entities, and a parser no end of trouble with them.
    if not isinstance(xml, str) or len(xml) > _LARGEST or "<!DOCTYPE" in xml:
        return None
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError:
        return None
    texts = {tag.get("name"): tag.get("value", "") for tag in root.iter("Text")}
    for tag in root.iter("Choices"):
        name, about = tag.get("name"), tag.get("toName")
        if name and about and texts.get(about, "").startswith("$"):
            return Config(name, about, texts[about][1:])
    return None


def words(value: Any) -> str:
    """Any value as text that a database takes: JSON allows halves of characters, UTF-8 does not.

    >>> words("a\\ud800"), words(7)
    ('a?', '7')
    """
    return str(value).encode(errors="replace").decode()


def choice(class_name: str, config: Config, comment: str = "", flagged: bool = False) -> Json:
    """A region that chooses a class; what else was said of the text is its `meta`."""
    region: Json = {
        "from_name": config.choices,
        "to_name": config.text,
        "type": "choices",
        "value": {"choices": [class_name]},
    }
    meta: Json = ({"text": [comment]} if comment else {}) | ({"flagged": True} if flagged else {})
    return {**region, "meta": meta} if meta else region


def prediction(class_name: str, probability: float, version: str, config: Config) -> Json:
    """What a model thinks of a task."""
    return {"model_version": version, "score": probability, "result": [choice(class_name, config)]}
