"""The `hybridal` command with its subcommands, and how errors are shown."""

from __future__ import annotations

import errno
import sys
from typing import Any, NoReturn

import typer

from hybridal import __version__
from hybridal.cli import (
    compare_command,
    estimate_command,
    export_command,
    label_command,
    listing_command,
    predict_command,
    push_command,
    recall_command,
    report_command,
    resume_command,
    run_command,
    serve_command,
    study_command,
    what_if_command,
)
from hybridal.cli.wording import COMMAND_KEY, Command, CommandGroup, flags_of, in_options
from hybridal.errors import RunError, UserError
from hybridal.system.exit import Terminated, fast_exit, interrupted_by_sigterm

EXIT_CODES = (
    "Exit codes: 0 done · 1 a bug in hybridal · 2 bad input · 3 a run could not go on · 130 stopped by you · "
    "143 stopped by SIGTERM."
)


class Hybridal(CommandGroup):
    """Shows errors that a user can correct as one sentence with an exit code, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            _end(self._worded(error, ctx), error.exit_code)
        except KeyboardInterrupt as error:
            _end(f"stopped; go on with `{error}`." if error.args else "stopped.", _code_of(error))
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            _end(
                f"{error.filename or 'a file'}: {error.strerror or error}; what is recorded is safe.",
                RunError.exit_code,
            )
        except (MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            _end(
                "there is not enough memory; close what else uses it, or start a new run with a smaller "
                "`--set train_batch` or `--set max_length`; what is recorded is safe.",
                RunError.exit_code,
            )

    def _worded(self, error: UserError, ctx: Any) -> str:
        command = ctx.meta.get(COMMAND_KEY)
        # A field without an option of `study` is set in the study's file, under its own name.
        others = flags_of(self.commands["run"]) if command in self.commands.values() else {}
        return in_options(error, flags_of(command) if command else {}, others)


def _is_out_of_memory(error: Exception) -> bool:
    # Torch raises its own types; compare names, so that an error does not import torch.
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "can't allocate memory" in str(error)
    )


def _code_of(stopped: KeyboardInterrupt) -> int:
    return stopped.exit_code if isinstance(stopped, Terminated) else 130


def _end(sentence: str, code: int) -> NoReturn:
    typer.secho(f"hybridal: {sentence}", fg="red", err=True)
    raise typer.Exit(code)


app = typer.Typer(
    name="hybridal",
    cls=Hybridal,
    help="Active learning for text classification that decides in each round whether to retrain or to fine-tune.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(cls=Command)(run_command.run)
app.command(cls=Command)(resume_command.resume)
app.command(cls=Command)(compare_command.compare)
app.command(cls=Command)(what_if_command.what_if)
app.command(cls=Command)(predict_command.predict)
app.command(cls=Command)(recall_command.recall)
app.command(cls=Command)(estimate_command.estimate)
app.command(cls=Command)(export_command.export)
app.command(cls=Command)(push_command.push)
app.command(cls=Command)(label_command.label)
app.command(cls=Command)(serve_command.serve)
app.command(cls=Command)(report_command.report)
app.command("list", cls=Command)(listing_command.listing)
app.add_typer(study_command.study, name="study", cls=CommandGroup)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"hybridal {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def answer() -> None:
    """Run the command line and end the process."""
    with fast_exit(), interrupted_by_sigterm():
        try:
            app()
        except KeyboardInterrupt as error:  # raised before typer has parsed the command
            sys.exit(_code_of(error))
