"""Help in plain text: drawn by rich, with boxes, it took three times as long to appear."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

VERB = "hybridal.verb"


class Verb(TyperCommand):
    """Lists its options under the headings that they were given, and says that it was called."""

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
