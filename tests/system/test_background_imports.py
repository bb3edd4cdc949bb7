from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hybridal.system import background_imports
from hybridal.system.background_imports import import_in_thread


def test_urgent_modules_are_imported_on_return_and_the_rest_later() -> None:
    """In a process of its own, where nothing is imported yet."""
    script = """
import sys, time
from hybridal.system.background_imports import import_in_thread, import_later
soon, later = ["xml.dom.minidom", "no.such.module", "wave"], ("no_such_module", "this")
assert not {"colorsys", "wave", "xml.dom.minidom", "this", "antigravity"} & sys.modules.keys()
import_in_thread("colorsys", soon)
assert {"colorsys", "wave", "xml.dom.minidom"} <= sys.modules.keys()
import_later(("antigravity",), 60.0)
for _ in range(3):
    import_later(later)
while "this" not in sys.modules:
    time.sleep(0.01)
assert "antigravity" not in sys.modules
"""
    ended = subprocess.run([sys.executable, "-c", script], check=True, timeout=60, capture_output=True, text=True)
    assert ended.stdout.count("Beautiful is better than ugly") == 1  # `this` prints a poem


@pytest.mark.parametrize(("slow", "code"), [("colorsys", 0), ("interrupted", 5)])
def test_a_process_that_was_interrupted_in_an_import_ends(tmp_path: Path, slow: str, code: int) -> None:
    """Python may leave its import lock taken then, and an import in another thread would never finish."""
    (tmp_path / "long.py").write_text("import time; time.sleep(0.3)")
    (tmp_path / "interrupted.py").write_text("import _imp; _imp.acquire_lock(); raise KeyboardInterrupt")
    script = f"""
import _imp, sys
from hybridal.system import background_imports
background_imports.MAX_WAIT = 0.5
sys.path.insert(0, {str(tmp_path)!r})
try:
    background_imports.import_in_thread({slow!r}, [] if {slow!r} == "colorsys" else ["long", "wave"])
    background_imports.import_later(("long", "wave"))
except KeyboardInterrupt:
    sys.exit(5)
_imp.acquire_lock()
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == code


@pytest.mark.parametrize(
    ("presses", "then", "output"), [(1, "pass", "all of it\n"), (2, "pass", ""), (2, "raise ImportError", "")]
)
def test_first_ctrl_c_waits_for_the_imports_and_a_second_does_not(
    tmp_path: Path, presses: int, then: str, output: str
) -> None:
    """Also where the import swallows it, as torch does, which clears the errors of what it imports from C."""
    (tmp_path / "deaf.py").write_text(
        f"""
import signal
try:
    for _ in range({presses}):
        signal.raise_signal(signal.SIGINT)
    print("all of it")
except KeyboardInterrupt:
    {then}
"""
    )
    script = f"""
import signal, sys
from hybridal.system.background_imports import import_in_thread
sys.path.insert(0, {str(tmp_path)!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    import_in_thread("deaf", [])
except KeyboardInterrupt:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    sys.exit(5)
"""
    ended = subprocess.run([sys.executable, "-c", script], timeout=60, check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (5, output, "")


def test_a_program_ends_at_the_first_ctrl_c_during_an_import(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text("import signal; signal.raise_signal(signal.SIGINT); print('went on')")
    script = f"""
import signal, sys
from hybridal.system.background_imports import exit_during_imports, import_in_thread
sys.path.insert(0, {str(tmp_path)!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
exit_during_imports("stopped.\\n")
import_in_thread("colorsys", [])
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
import_in_thread("deaf", [])
"""
    ended = subprocess.run([sys.executable, "-c", script], timeout=60, check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "stopped.\n")


@pytest.mark.parametrize(
    ("answer", "where"),
    [("SIG_IGN", "here(SIGINT)"), ("default_int_handler", "t = Thread(target=here); t.start(); t.join()")],
)
def test_existing_ctrl_c_handler_is_kept(answer: str, where: str) -> None:
    """A background script ignores it, and only the main thread may set a handler."""
    script = f"""
from signal import *
from threading import Thread
from hybridal.system.background_imports import complete_imports
signal(SIGINT, {answer})
def here(*signals):
    with complete_imports():
        for each in signals:
            raise_signal(each)
    print("went on")
{where}
"""
    ended = subprocess.run([sys.executable, "-c", script], timeout=60, check=True, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("went on\n", "")


def test_no_thread_starts_when_all_is_imported() -> None:
    import_in_thread("sys", ["this"])
    assert "this" not in sys.modules


def test_failed_import_is_reported() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_in_thread("no_such_module", [])


def test_failed_background_import_is_logged_and_raised_on_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken_ahead.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    with caplog.at_level("DEBUG", logger="hybridal.system.background_imports"):
        background_imports._import_all(["broken_ahead", "no_such_module_at_all"])
    [record] = caplog.records
    assert record.getMessage() == "broken_ahead could not be imported ahead of time."
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError
