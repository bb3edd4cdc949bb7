from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.process import run
from hybridal.errors import RunError, UserError

HERE = Path(sys.executable)


def test_an_environment_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no environment peers; run `make bench`"):
        run(tmp_path / "peers" / "bin" / "python", "bench.contenders.ours", "[]")


def test_error_shows_the_end_of_a_failed_process_output() -> None:
    with pytest.raises(RunError, match=r"`bench\.nothing` failed: .*No module named bench\.nothing"):
        run(HERE, "bench.nothing", "[]")


def test_a_process_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    with pytest.raises(RunError, match=r"`bench\.nothing` took more than 0\.1 seconds"):
        run(slow, "bench.nothing", "[]", limit=0.1)
