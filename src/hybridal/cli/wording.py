"""How the command line speaks: its help, and errors in the names of its options."""

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

VERB = "hybridal.verb"


@contextmanager
def going_on_with(command: str, folder: Path, device: str | None = None) -> Iterator[None]:
    """Whoever stops what is done inside is told how to go on, with the same device if one was named."""
    try:
        yield
    except KeyboardInterrupt as error:
        where = f" --device {device}" if device else ""
        raise type(error)(f"{command} {folder}{where}") from None


class Verb(TyperCommand):
    """Lists its options under the headings that they were given, and says that it was called.

    In plain text: drawn by rich, with boxes, help took three times as long to appear.
    """

    def invoke(self, ctx: Any) -> Any:
        ctx.meta[VERB] = self  # which the contexts of its groups share
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


class Verbs(TyperGroup):
    """Lists its verbs, each with its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(200)) for name in self.list_commands(ctx)]
            )


_NAMED = re.compile(r"`([a-z_]+)(?:=([^`\s]+))?`")
_PROTOCOL = frozenset(field.name for field in fields(Rules))
_SETTINGS = frozenset(field.name for field in fields(Settings))

# Arguments whose option has another name.
_OTHERWISE = {"folder": "out", "address": "ray"}


def flags_of(command: Any) -> dict[str, str]:
    """The options of a command by the names of their values."""
    options = [item for item in command.params if item.param_type_name == "option"]
    return {item.name: max(item.opts, key=len) for item in options}


def in_options(error: UserError, own: Mapping[str, str], others: Mapping[str, str]) -> str:
    """The error's sentence with options in place of fields.

    What it is about is named as the command's `own` option, where it has one; else it may stand in a file, and is left
    as it is. What else it names, such as what to do instead, may also be among the `others`.

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
    """How the option is written; None where there is none. Some names are both a setting and the protocol's."""
    flag = flags.get(_OTHERWISE.get(name, name))
    if flag is not None and not (of_protocol and name in _SETTINGS):
        return flag if value is None else f"{flag} {value}"
    if name in _PROTOCOL and "set" in flags:
        return f"`{flags['set']} {name}`" if value is None else f"`{flags['set']} {name}={value}`"
    return None
