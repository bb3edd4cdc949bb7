from __future__ import annotations

from typing import Annotated

import typer
from typer.testing import CliRunner

from hybridal.cli.wording import Command, CommandGroup

LONG = "Say something that is far longer than what a terminal can show in one of its lines, and do not cut it short"


def show(
    what: Annotated[str, typer.Argument(help="What to show.")],
    plain: Annotated[bool, typer.Option("--plain", help="No colours.")] = False,
    near: Annotated[bool, typer.Option("--near", help="From near.", rich_help_panel="Place")] = False,
    late: Annotated[int, typer.Option(help="Later.", rich_help_panel="Time")] = 3,
    far: Annotated[bool, typer.Option("--far", help="From far.", rich_help_panel="Place")] = False,
    secret: Annotated[bool, typer.Option("--secret", hidden=True)] = False,
) -> None:
    """Show it."""


def say() -> None:
    pass


app = typer.Typer(cls=CommandGroup, rich_markup_mode=None, add_completion=False)
app.command(cls=Command)(show)
app.command(cls=Command, help=f"{LONG}. And more.")(say)


def helped(*arguments: str) -> dict[str, str]:
    """What stands under each heading."""
    ended = CliRunner().invoke(app, [*arguments, "--help"])
    assert ended.exit_code == 0
    sections = [section.split(":\n", 1) for section in ended.stdout.split("\n\n") if ":\n" in section]
    return {heading: " ".join(body.split()) for heading, body in sections}


def test_options_are_grouped_under_headings() -> None:
    assert helped("show") == {
        "Arguments": "what <str> What to show. [required]",
        "Options": "--plain No colours. --help Show this message and exit.",
        "Place": "--near From near. --far From far.",
        "Time": "--late <int> Later. [default: 3]",
    }


def test_headings_without_options_are_left_out() -> None:
    assert helped("say") == {"Options": "--help Show this message and exit."}


def test_command_list_shows_the_whole_first_sentence() -> None:
    assert helped()["Commands"] == f"show Show it. say {LONG}."
