from __future__ import annotations

import subprocess
import sys

import pytest

TRAINER = """
from hybridal.app.trainer.lifetime import watch_parent
others_wait = watch_parent()
others_wait.wait({seconds})
raise SystemExit(8 if others_wait.is_set() else 7)
"""


@pytest.mark.parametrize(("stdin", "code"), [(subprocess.PIPE, -15), (subprocess.DEVNULL, 7)])
def test_only_the_end_of_a_pipe_is_the_end(stdin: int, code: int) -> None:
    ended = subprocess.Popen([sys.executable, "-c", TRAINER.format(seconds=0.3)], stdin=stdin)
    ended.communicate(timeout=60)
    assert ended.returncode == code


def test_trainer_is_notified_that_others_wait() -> None:
    trainer = subprocess.Popen([sys.executable, "-c", TRAINER.format(seconds=60)], stdin=subprocess.PIPE, bufsize=0)
    assert trainer.stdin is not None
    trainer.stdin.write(b"w")
    assert trainer.wait(60) == 8
    trainer.stdin.close()
