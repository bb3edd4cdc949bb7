"""Help texts, and error messages that name options instead of settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.runs.settings import Settings

COMMAND_KEY = "hybridal.command"


@contextmanager
def resume_hint(command: str, folder: Path, device: str | None = None) -> Iterator[None]:
    """If the block is interrupted, tell the user which command resumes it."""
    try:
        yield
    except KeyboardInterrupt as error:
        where = f" --device {device}" if device else ""
        raise type(error)(f"{command} {folder}{where}") from None


class Command(TyperCommand):
    """Groups its options by heading in plain text, and records in the context that it was called.

    Help drawn by rich, with boxes, took three times as long to appear.
    """

    def invoke(self, ctx: Any) -> Any:
        ctx.meta[COMMAND_KEY] = self  # shared with the contexts of its groups
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            plain = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if record is not None:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or plain, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class CommandGroup(TyperGroup):
    """Lists its commands, each with its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(200)) for name in self.list_commands(ctx)]
            )


_NAMED = re.compile(r"`([a-z_]+)(?:=([^`\s]+))?`")
_PROTOCOL = frozenset(field.name for field in fields(Rules))
_SETTINGS = frozenset(field.name for field in fields(Settings))

# Arguments whose option has another name.
_OTHER_NAMES = {"folder": "out", "address": "ray"}


def flags_of(command: Any) -> dict[str, str]:
    """Map the parameter names of a command to its options, such as max_words to --max-words."""
    options = [item for item in command.params if item.param_type_name == "option"]
    return {item.name: max(item.opts, key=len) for item in options}


def in_options(error: UserError, own: Mapping[str, str], others: Mapping[str, str]) -> str:
    """Return the message of an error with options in place of fields.

    Args:
        error: Its `field` is replaced only by an option of the command itself, because it may come from a file.
        own: Options of the command, by field.
        others: Further options, for other fields in the message, such as those of an alternative.

    >>> flags = {"max_words": "--max-words", "set": "--set"}
    >>> in_options(UserError("`max_words`: 0 leaves no text.", field="max_words"), flags, {})
    '--max-words: 0 leaves no text.'
    >>> in_options(UserError("Use `arithmetic=plain`.", field="protocol.arithmetic"), flags, {})
    'Use `--set arithmetic=plain`.'
    """
    if error.field is None:
        return str(error)
    of_protocol = error.field.startswith("protocol.")
    subject = error.field.removeprefix("protocol.")

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        known = own if name == subject else {**others, **own}
        return _option(name, value, known, of_protocol and name == subject) or found.group()

    sentence = _NAMED.sub(option, str(error))
    named = {found.group(1) for found in _NAMED.finditer(str(error))}
    if subject in named or f"'{subject}'" in str(error):
        return sentence
    flag = _option(subject, None, own, of_protocol)
    return sentence if flag is None else f"{flag}: {sentence}"


def _option(name: str, value: str | None, flags: Mapping[str, str], of_protocol: bool) -> str | None:
    """Return how an option is written, or None if there is none; some names are settings and protocol fields."""
    flag = flags.get(_OTHER_NAMES.get(name, name))
    if flag is not None and not (of_protocol and name in _SETTINGS):
        return flag if value is None else f"{flag} {value}"
    if name in _PROTOCOL and "set" in flags:
        return f"`{flags['set']} {name}`" if value is None else f"`{flags['set']} {name}={value}`"
    return None
