from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hybridal.system.exit import Terminated, interrupted_by_sigterm

_FULL = Path("/dev/full")
# The GPU is only marked as used; what is slow to tear down is an object that prints when it is deleted.
_SCRIPT = """
import atexit, sys, threading, time, types
from hybridal.system.exit import fast_exit

class Graphs:
    def __del__(self):
        print("taken down")

sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: {gpu}))
held = Graphs()
with fast_exit():
    atexit.register(print, "told")
    threading.Thread(target=lambda: (time.sleep(0.3), print("waited for"))).start()
    {end}
"""


def _ended(gpu: bool, end: str, **options: object) -> subprocess.CompletedProcess[str]:
    script = _SCRIPT.format(gpu=gpu, end=end)
    return subprocess.run([sys.executable, "-c", script], text=True, timeout=60, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("sys.exit()", 0)])
def test_exit_after_gpu_use_skips_teardown_but_flushes_output(end: str, code: int) -> None:
    ended = _ended(True, end, stdout=subprocess.PIPE)
    assert (ended.returncode, ended.stdout.split("\n")) == (code, ["waited for", "told", ""])


@pytest.mark.parametrize(
    ("gpu", "end", "code", "error"),
    [
        (False, "sys.exit(3)", 3, ""),
        (True, "pass", 0, ""),
        (True, "sys.exit('why')", 1, "why"),
        (True, "raise ValueError('a bug')", 1, "ValueError: a bug"),
    ],
)
def test_exit_without_gpu_use_is_pythons(gpu: bool, end: str, code: int, error: str) -> None:
    ended = _ended(gpu, end, stdout=subprocess.PIPE)
    assert (ended.returncode, ended.stdout.split("\n")) == (code, ["waited for", "told", "taken down", ""])
    assert error in ended.stderr


@pytest.mark.skipif(not _FULL.exists(), reason="needs a device that is full")
def test_failed_flush_sets_the_exit_code() -> None:
    with _FULL.open("w") as full:
        assert _ended(True, "print('lost'); sys.exit(0)", stdout=full).returncode != 0


_STOPPED = """
import os, signal, sys
from hybridal.system.exit import exit_on_ctrl_c
{before}
with exit_on_ctrl_c("gone.\\n"):
    {inside}
{after}
print("still here")
"""
_CTRL_C = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize(
    ("before", "inside", "after", "code", "out", "err"),
    [
        ("pass", _CTRL_C, "pass", 130, "", "gone.\n"),
        ("pass", "pass", f"try: {_CTRL_C}\nexcept KeyboardInterrupt: print('caught')", 0, "caught\nstill here\n", ""),
        ("signal.signal(signal.SIGINT, signal.SIG_IGN)", _CTRL_C, _CTRL_C, 0, "still here\n", ""),
    ],
    ids=["inside", "after", "no_progress"],
)
def test_ctrl_c_ends_a_process_that_has_not_started(
    before: str, inside: str, after: str, code: int, out: str, err: str
) -> None:
    script = _STOPPED.format(before=before, inside=inside, after=after)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, out, err)


@pytest.mark.usefixtures("default_sigterm")
def test_sigterm_raises_keyboard_interrupt_only_inside_the_block() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), interrupted_by_sigterm():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before is signal.SIG_DFL


def test_a_handler_that_is_set_already_stays() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with interrupted_by_sigterm():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_other_threads_set_no_handler() -> None:
    done: list[bool] = []

    def work() -> None:
        with interrupted_by_sigterm():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert done == [True]
