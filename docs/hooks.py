"""Generate the site's pages that follow from the code and from files at the root of the repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from griffe import Docstring
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.main import get_command

import hybridal
from hybridal.cli.main_app import EXIT_CODES, app
from hybridal.core.rules import PRESETS, Rules

DOCS = Path(__file__).parent
ROOT = DOCS.parent
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")  # at the root, where GitHub looks for them

# Packages of the public names with their headings, in the order in which people meet them.
ROOMS = {
    "learners": "Learners",
    "tasks": "Tasks",
    "schedules": "Schedules",
    "updates": "Updates",
    "signals": "Signals",
    "measures": "Stabilisation",
    "acquisition": "Acquisition",
    "annotators": "Annotators",
    "trackers": "Trackers",
    "core": "Records and settings",
    "errors": "Errors",
}

API = """# Library

You want to look up a class or function. Import every public name from `hybridal` itself:

```python
from hybridal import ActiveLearner, Task
```

[The tutorial](../tutorial.md) shows how they work together."""

COMMAND_LINE = """# Command line

You want to run something without writing Python. These commands simulate a run on a labelled file, and continue it:

```sh
hybridal run tickets.csv --text body --label category --out runs/tickets
hybridal resume runs/tickets
```

`hybridal COMMAND --help` shows the same text as this page."""

PROTOCOLS = """# Protocol

You want to change the number of rounds, the batch, the learning rate or another setting of a run. Choose one of four
protocols and override single fields:

```sh
hybridal run tickets.csv --text body --label category --protocol paper --set learning_rate=5e-5
```

In Python: `ActiveLearner(task, protocol="paper", learning_rate=5e-5)`.

- `best` is the default ([why](../findings.md)).
- `paper` follows the paper's text, `reference` its published code.
- `quick` is for trying things out.

Unless you name an acquisition, `best` chooses texts by `margin`, and the others by `entropy`, as the paper does."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the written ones."""
    pages = {
        "index.md": from_root("README.md"),
        **{page.lower(): from_root(page) for page in ROOT_PAGES},
        "tutorial.md": notebook(DOCS / "tutorial.ipynb"),
        "reference/api.md": api(),
        "reference/cli.md": command_line(),
        "reference/protocol.md": protocols(),
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Hide the navigation column on pages that are a tab by themselves, to leave room for wide tables."""
    if page.parent is None and not page.is_homepage:
        page.meta.setdefault("hide", ["navigation"])
    return markdown


def from_root(name: str) -> str:
    """Return a page from the root of the repository, with its links relative to docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = text.replace("](docs/tutorial.ipynb)", "](tutorial.md)")
    for page in ROOT_PAGES:
        text = text.replace(f"]({page})", f"]({page.lower()})")
    return text.replace("](docs/", "](")


def notebook(path: Path) -> str:
    """Return a notebook as Markdown: its texts, its code and the outputs of the code."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = [part for cell in cells for part in cell_parts(cell)]
    return "\n\n".join([*parts, f"[Download the notebook]({path.name}) to run it on your own DataFrame."])


def cell_parts(cell: dict[str, Any]) -> Iterator[str]:
    """Yield one cell as Markdown: a text as it is, code as a block, then its outputs as a block."""
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield source
        return
    yield f"```python\n{source}\n```"
    shown = ["".join(one["text"] if "text" in one else one["data"]["text/plain"]) for one in cell["outputs"]]
    if shown:
        yield "```text\n" + "\n".join(text.rstrip("\n") for text in shown) + "\n```"


def api() -> str:
    """Return the page with the docstring of every public name, package by package."""
    homes = {name: home.split(".")[1] for name, home in hybridal._HOMES.items()}
    if unknown := set(homes.values()) - set(ROOMS):
        raise ValueError(f"docs/hooks.py: ROOMS has no title for {', '.join(sorted(unknown))}")
    parts = [API]
    for room, title in ROOMS.items():
        parts.append(f"## {title}")
        parts += [f"::: hybridal.{name}" for name in hybridal.__all__ if homes[name] == room]
    return "\n\n".join(parts)


def command_line() -> str:
    """Return the page with every command, its options and the exit codes."""
    parts = [COMMAND_LINE, *commands(get_command(app), "hybridal"), "## Exit codes"]
    codes = (part.strip().partition(" ") for part in EXIT_CODES.removeprefix("Exit codes:").strip(" .").split("·"))
    return "\n\n".join([*parts, table(("code", "meaning"), [(f"`{code}`", meaning) for code, _, meaning in codes])])


def commands(command: Any, name: str) -> Iterator[str]:
    """Yield the Markdown of a command, or of all commands of a group."""
    context = command.make_context(name, [], resilient_parsing=True)
    if isinstance(getattr(command, "commands", None), dict):
        yield command.help or ""
        for verb in command.list_commands(context):
            yield from commands(command.commands[verb], f"{name} {verb}")
        return
    yield f"## {name}"
    yield command.help or ""
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.params:
        record = parameter.get_help_record(context)
        kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
        if record is not None:
            rows = sections.setdefault(getattr(parameter, "rich_help_panel", None) or kind, [])
            rows.append((f"`{record[0]}`", re.sub(r"(--[a-z-]+( [a-z_]+=\S+)?)", r"`\1`", record[1])))
    for heading, rows in sections.items():
        yield table((heading, ""), rows)


def protocols() -> str:
    """Return the page with every field of a protocol and its value in each preset."""
    sections = Docstring(Rules.__doc__ or "", parser="google").parse()
    meanings = {
        item.name: item.description for part in sections if part.kind.value == "attributes" for item in part.value
    }
    rows = []
    for field in fields(Rules)[1:]:
        in_paper = getattr(PRESETS["paper"], field.name)
        others = {name: value for name, preset in PRESETS.items() if (value := getattr(preset, field.name)) != in_paper}
        shown = ", ".join(f"{name} `{value}`" for name, value in others.items())
        rows.append((f"`{field.name}`", meanings[field.name], f"`{in_paper}`", shown))
    return f"{PROTOCOLS}\n\n{table(('field', 'meaning', 'paper', 'others'), rows)}"


def table(heads: tuple[str, ...], rows: list[Any]) -> str:
    """Return a Markdown table."""
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)
