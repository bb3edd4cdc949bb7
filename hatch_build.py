"""The README as package indexes show it: links that lead into the repository lead to it on the web."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)]+)\)")


class Readme(MetadataHookInterface):
    """Named by `tool.hatch.metadata.hooks.custom` in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository, tag = metadata["urls"]["Homepage"], f"v{metadata['version']}"
        metadata["readme"] = {"content-type": "text/markdown", "text": for_an_index(text, repository, tag)}


def for_an_index(text: str, repository: str, tag: str) -> str:
    """Markdown whose links and pictures are found from anywhere, as they were at this tag."""
    pictures = repository.replace("github.com", "raw.githubusercontent.com")

    def absolute(found: re.Match[str]) -> str:
        mark, name, path = found.groups()
        return f"{mark}{name}({f'{pictures}/{tag}' if mark else f'{repository}/blob/{tag}'}/{path})"

    return LINK.sub(absolute, text)
