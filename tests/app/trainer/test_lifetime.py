from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from hybridal.app.trainer.lifetime import alone

HOLDS = """
import sys, time
from pathlib import Path
from hybridal.app.trainer.lifetime import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_trainer_waits_for_the_end_of_the_first(tmp_path: Path) -> None:
    entered = Event()

    def second() -> None:
        with alone(tmp_path):
            entered.set()

    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        waiting = Thread(target=second)
        waiting.start()
        assert not entered.wait(0.2)
        first.kill()
    waiting.join(60)
    assert entered.is_set()


@pytest.mark.parametrize(("stdin", "code"), [(subprocess.PIPE, -15), (subprocess.DEVNULL, 7)])
def test_only_the_end_of_a_pipe_is_the_end(stdin: int, code: int) -> None:
    trainer = """
import time
from hybridal.app.trainer.lifetime import end_with_parent
end_with_parent()
time.sleep(0.3)
raise SystemExit(7)
"""
    ended = subprocess.Popen([sys.executable, "-c", trainer], stdin=stdin)
    ended.communicate()
    assert ended.returncode == code
