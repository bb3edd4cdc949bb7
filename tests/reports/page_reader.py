"""Reads a report as a browser would: its texts, tables, ids and whatever it would load."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Read:
    """One cell: its text, its exact value, and its class names."""

    text: str = ""
    value: str | None = None
    kinds: str = ""
    hint: str = ""


@dataclass
class PageReader(HTMLParser):
    """The content of a page."""

    tags: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    pointed: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    handlers: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    tables: dict[str, list[list[Read]]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, str | None]] = []
        self.table: list[list[Read]] | None = None
        self.cell: Read | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if "id" in given:
            self.ids.append(given["id"])
        self.handlers += [name for name in given if name.startswith("on")]
        if tag == "svg":
            self.labels.append(given.get("aria-label", ""))
        for name, value in given.items():
            if name in ("src", "href", "xlink:href", "data", "action", "srcset", "poster"):
                (self.pointed if value.startswith("#") else self.loaded).append(value.lstrip("#"))
            for target in re.findall(r"url\(([^)]*)\)", value):
                (self.pointed if target.startswith("#") else self.loaded).append(target.lstrip("#"))
        if tag == "table":
            self.table = self.tables.setdefault(given["id"], [])
        elif tag == "tr" and self.table is not None:
            self.table.append([])
        elif tag in ("td", "th") and self.table is not None:
            self.cell = Read(kinds=given.get("class", ""), hint=given.get("title", ""))
            self.table[-1].append(self.cell)
        elif tag == "data" and self.cell is not None:
            self.cell.value = given["value"]
        if tag not in VOID:
            self.open.append((tag, given.get("id")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        opened, _ = self.open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"
        if tag in ("td", "th"):
            self.cell = None
        elif tag == "table":
            self.table = None

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] == "style":
            assert "@import" not in data
            assert "url(" not in data
            return
        self.words.append(data)
        for _, id in self.open:
            if id is not None:
                self.texts[id] = self.texts.get(id, "") + data
        if self.cell is not None and data.strip() not in ("(best)", "(stable)"):
            self.cell.text += data.strip()


def read_page(html: str) -> PageReader:
    reader = PageReader()
    reader.feed(html)
    reader.close()
    assert not reader.open, f"never closed: {reader.open}"
    return reader
