from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hybridal.errors import RunError
from hybridal.system.lock import locked

HOLD = """
import sys
from pathlib import Path
from hybridal.system.lock import locked
with locked(Path(sys.argv[1]), Path("it")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_lock_error_names_the_holding_process(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    command = [sys.executable, "-c", HOLD, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=f"it is in use by process {holder.pid};"), locked(file, Path("it")):
            pass
        holder.kill()
    # The lock ends with its process, however that ends.
    with locked(file, Path("it")):
        assert file.read_text() == str(os.getpid())


def test_a_second_lock_of_the_same_process_is_refused_too(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    with locked(file, Path("it")):
        with pytest.raises(RunError, match=f"it is in use by process {os.getpid()};"), locked(file, Path("it")):
            pass
        assert file.read_text() == str(os.getpid())


def test_a_process_that_left_no_number_is_another_process(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    with locked(file, Path("it")):
        file.write_text("")
        with pytest.raises(RunError, match="it is in use by another process;"), locked(file, Path("it")):
            pass


def test_lock_is_released_after_an_error(tmp_path: Path) -> None:
    with suppress(ZeroDivisionError), locked(tmp_path / "x.lock", Path("it")):
        raise ZeroDivisionError
    with locked(tmp_path / "x.lock", Path("it")):
        pass
