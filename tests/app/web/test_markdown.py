from __future__ import annotations

import time

import pytest

from hybridal.app.project import Project
from hybridal.app.web.markdown import render

from .visits import Visit


def test_guidelines_support_common_markdown() -> None:
    html = render(
        "# Bugs\n\n1. *broken*\n\n| a | b |\n|---|---|\n| c | `d` |\n\n> so\n\n[more](https://example.org/?a=1&b=2)"
    )
    for part in ("<h3>Bugs</h3>", "<ol>", "<em>broken</em>", "<td>c</td>", "<code>d</code>", "<blockquote>"):
        assert part in html
    assert '<a href="https://example.org/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">more</a>' in html


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://example.org/spy.png)",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](//example.org)",
    "<javascript:alert(1)>",
    '[x](https://a.b/"onmouseover="alert(1))',
    '[x](https://a.b "title" onmouseover=alert(1)")',
    "```<script>\nalert(1)\n```",
    '``` "><script>alert(1)</script>\nx\n```',
    "[a]: javascript:alert(1)\n\n[a]",
    "</section><iframe src=//example.org>",
    "{{ 7 * 7 }} {% raw %}",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_in_them_acts(words: str) -> None:
    html = str(render(words)).lower()
    for tag in ("<script", "<img", "<iframe", "</section"):
        assert tag not in html
    assert 'href="javascript' not in html
    assert 'href="data' not in html
    # Outside of quotes, no attribute but those that we write.
    bare = "".join(html.split('"')[::2])
    assert "onmouseover" not in bare.split("<a")[-1].split(">")[0] if "<a" in bare else True


@pytest.mark.parametrize(
    "words", ["[" * 50_000, "*a_" * 16_000, "> " * 25_000, "`" * 50_000, "![[](" * 10_000, "- " * 25_000]
)
def test_nothing_takes_long(words: str) -> None:
    began = time.perf_counter()
    render(words)
    assert time.perf_counter() - began < 20  # on a busy machine


def test_guidelines_are_shown_on_the_label_page(owner: Visit, annotator: Visit, project: Project) -> None:
    assert 'id="guidelines"' not in annotator.get("/").text
    words = "**Mind** </textarea><script>alert(1)</script>\n{{ 7 * 7 }}"
    assert owner.patch("/api/settings", {"guidelines": words}).status_code == 200
    assert "<strong>Mind</strong> &lt;/textarea&gt;&lt;script&gt;" in annotator.get("/").text
    assert "**Mind** &lt;/textarea&gt;&lt;script&gt;" in owner.get("/settings").text
    assert owner.patch("/api/settings", {"guidelines": "x" * 50_001}).status_code == 422
    assert annotator.patch("/api/settings", {"guidelines": "mine"}).status_code == 403
    assert project.setting("guidelines") == words
