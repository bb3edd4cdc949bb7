"""Guidelines that owners write in Markdown, as HTML that is safe on everybody's page."""

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
    """CommonMark with tables, without HTML of its own and without pictures, which would tell others who reads."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable("table").disable(["image", "html_block", "html_inline"])
        self.add_render_rule("link_open", _open_link)
        self.core.ruler.push("below", _below)

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return url.lower().startswith(("https://", "http://", "mailto:"))


def _below(state: StateCore) -> None:
    """Headings stand below that of the guidelines, which is the second on the page."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"


def _open_link(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """In a window of its own, which learns nothing about this one: who reads must not lose the text before them."""
    tokens[at].attrs |= {"target": "_blank", "rel": "noopener noreferrer"}
    return renderer.renderToken(tokens, at, options, env)


_MARKDOWN = _Guidelines()


@lru_cache(maxsize=8)
def render(words: str) -> Markup:
    """The words as HTML.

    >>> print(render("**Bugs** only, <b>no</b> [ideas](javascript:alert)"))
    <p><strong>Bugs</strong> only, &lt;b&gt;no&lt;/b&gt; [ideas](javascript:alert)</p>
    <BLANKLINE>
    """
    return Markup(_MARKDOWN.render(words))
