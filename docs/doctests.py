"""Show the doctests of docstrings as code blocks."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^( *)>>> .*?(?=\n\n|\n *$|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(Extension):
    """Fence doctests, because `>>>` begins a quotation in Markdown."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", obj.docstring.value)
