"""Render guidelines from Markdown to HTML that is safe to include in a page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup


class _Guidelines(MarkdownIt):
    """CommonMark with tables, without raw HTML, and without images, which would reveal readers to other servers."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable("table").disable(["image", "html_block", "html_inline"])
        self.add_render_rule("link_open", _open_link)
        self.core.ruler.push("lower_headings", _lower_headings)

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return url.lower().startswith(("https://", "http://", "mailto:"))


def _lower_headings(state: StateCore) -> None:
    """Start headings at level 3, below the page's `<h2>Guidelines</h2>`."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"


def _open_link(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """Open links in a new tab without a referrer, so that people do not lose the text they are labelling."""
    tokens[at].attrs |= {"target": "_blank", "rel": "noopener noreferrer"}
    return renderer.renderToken(tokens, at, options, env)


_MARKDOWN = _Guidelines()


@lru_cache(maxsize=8)
def render(markdown: str) -> Markup:
    """Render Markdown to HTML.

    >>> print(render("**Bugs** only, <b>no</b> [ideas](javascript:alert)"))
    <p><strong>Bugs</strong> only, &lt;b&gt;no&lt;/b&gt; [ideas](javascript:alert)</p>
    <BLANKLINE>
    """
    return Markup(_MARKDOWN.render(markdown))
