from __future__ import annotations

import sys

import pytest

from hybridal.errors import UserError
from hybridal.system.child_check import require_success


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("print('loading'); print('its weights are wrong'); raise SystemExit(1)", "its weights are wrong"),
        ("import os; os.abort()", "it cannot be loaded"),
        ("import time; time.sleep(60)", "loading it takes too long"),
    ],
)
def test_whatever_goes_wrong_is_a_refusal(program: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        require_success([sys.executable, "-S", "-c", program], 5.0 if "sleep" not in program else 0.1)


def test_success_is_silent() -> None:
    require_success([sys.executable, "-S", "-c", "print('well')"], 60.0)
