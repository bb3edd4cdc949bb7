from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
import torch

from hybridal import __version__
from hybridal.cli import main
from hybridal.cli.main_app import EXIT_CODES
from hybridal.cli.wording import resume_hint
from hybridal.errors import RunError, UserError

from .conftest import hybridal

VERBS = ("run", "resume", "compare", "what-if", "predict", "export", "push", "report", "list")


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """The exit code of `main()`."""
    monkeypatch.setattr(sys, "argv", ["hybridal", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Makes `hybridal list signals` fail."""

    def fail(_what: str) -> NoReturn:
        raise error

    monkeypatch.setattr("hybridal.cli.listing_command._names", fail)


def too_much() -> Exception:
    """What torch raises where a processor's memory ends."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**50)
    return caught.value


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help(verb: str) -> None:
    ended = hybridal(verb, "--help")
    assert ended.code == 0
    assert f"Usage: hybridal {verb} " in ended.stdout
    assert len(ended.stdout.splitlines()) > 8


def test_help_names_every_command_and_the_exit_codes() -> None:
    ended = hybridal("--help")
    assert ended.code == 0
    assert all(f" {verb} " in ended.stdout for verb in VERBS)
    assert EXIT_CODES in " ".join(ended.stdout.split())


def test_without_a_command_help_is_printed() -> None:
    ended = hybridal()
    assert "Usage" in ended.stdout + ended.stderr
    assert "run" in ended.stdout + ended.stderr


def test_the_version() -> None:
    assert hybridal("--version").stdout == f"hybridal {__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("--version",), ("list", "--help")])
def test_help_is_light(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys\nfrom hybridal.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'transformers', 'sklearn', 'pandas', 'scipy', 'numpy', 'pyarrow', 'rich'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


IMPATIENT = """
import os, signal, sys
import hybridal.cli

class Impatient:
    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Impatient())
hybridal.cli.main()
"""


class TestExitCodes:
    def test_success_exits_with_0(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        assert called(monkeypatch, "list", "signals") == 0
        assert "accuracy" in capsys.readouterr().out

    @pytest.mark.parametrize(("error", "code"), [(UserError("Mend it."), 2), (RunError("Make room."), 3)])
    def test_user_and_run_errors_print_one_sentence(
        self, error: UserError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing(monkeypatch, error)
        assert called(monkeypatch, "list", "signals") == code
        written = capsys.readouterr()
        assert (written.out, written.err) == ("", f"hybridal: {error}\n")

    @pytest.mark.parametrize("arguments", [("bogus",), ("run", "--bogus"), ("resume",), ("run", "--rounds", "four")])
    def test_bad_options(
        self, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert called(monkeypatch, *arguments) == 2
        written = capsys.readouterr()
        assert written.out == ""
        assert "Traceback" not in written.err
        assert "Usage: " in written.err

    def test_stopped_by_the_user(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        failing(monkeypatch, KeyboardInterrupt())
        assert called(monkeypatch, "list", "signals") == 130
        assert capsys.readouterr().err == "hybridal: stopped.\n"
        with pytest.raises(KeyboardInterrupt) as stopped, resume_hint("hybridal study resume", Path("studies/main")):
            raise KeyboardInterrupt
        failing(monkeypatch, stopped.value)
        assert called(monkeypatch, "list", "signals") == 130
        assert capsys.readouterr().err == "hybridal: stopped; go on with `hybridal study resume studies/main`.\n"
        with pytest.raises(KeyboardInterrupt, match="hybridal resume r --device cpu"):  # noqa: SIM117
            with resume_hint("hybridal resume", Path("r"), "cpu"):
                raise KeyboardInterrupt

    @pytest.mark.usefixtures("default_sigterm")
    def test_stopped_by_sigterm(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        def terminate(_what: str) -> None:
            with resume_hint("hybridal resume", Path("runs/x")):
                signal.raise_signal(signal.SIGTERM)

        monkeypatch.setattr("hybridal.cli.listing_command._names", terminate)
        assert called(monkeypatch, "list", "signals") == 143
        assert capsys.readouterr().err == "hybridal: stopped; go on with `hybridal resume runs/x`.\n"

    def test_stopped_while_the_commands_are_imported(self) -> None:
        command = [sys.executable, "-c", IMPATIENT, "list", "signals"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "hybridal: stopped.\n")

    def test_stopped_while_the_commands_are_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def stopped(_app: object) -> NoReturn:
            raise KeyboardInterrupt

        monkeypatch.setattr("typer.main.get_command", stopped)
        assert called(monkeypatch, "list", "signals") == 130

    def test_system_errors_print_one_sentence(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing(monkeypatch, PermissionError(13, "Permission denied", "runs/x"))
        assert called(monkeypatch, "list", "signals") == 3
        assert capsys.readouterr().err == "hybridal: runs/x: Permission denied; what is recorded is safe.\n"

    @pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory."), too_much()])
    def test_memory_that_is_full(
        self, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing(monkeypatch, error)
        assert called(monkeypatch, "list", "signals") == 3
        assert capsys.readouterr().err.startswith("hybridal: there is not enough memory; ")

    def test_closed_pipe_prints_no_error(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """`hybridal list | head -1`."""
        failing(monkeypatch, BrokenPipeError(32, "Broken pipe"))
        before = (sys.stdout, sys.stderr)
        try:
            assert called(monkeypatch, "list", "signals") == 1
        finally:
            sys.stdout, sys.stderr = before
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("error", [ZeroDivisionError(), RuntimeError("shapes do not match")])
    def test_unexpected_errors_keep_their_traceback(self, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(monkeypatch, error)
        monkeypatch.setattr(sys, "argv", ["hybridal", "list", "signals"])
        with pytest.raises(type(error)):
            main()
