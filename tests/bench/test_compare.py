from __future__ import annotations

from typing import Any

import pytest

from bench.compare import check
from bench.job import Job, Rules, Texts
from hybridal.errors import RunError

RULES = Rules(labelled=4, candidates=8, batch=2, epochs=3, choose=2)
JOB = Job(Texts("t", ["a", "b"], [], [], [], []), "folder", RULES)


def answer(**changes: Any) -> dict[str, Any]:
    return {"turns": [{"steps": 6, "scored": 8, "chosen": [4, 11], **changes}]}


def test_requested_work_is_accepted() -> None:
    check("ours", [JOB], answer())
    check("theirs", [JOB], answer(scored=12))  # who also scores what is labelled


REFUSED: list[dict[str, Any]] = [
    {"steps": 5},
    {"steps": 7},
    {"scored": 7},
    {"chosen": [4]},
    {"chosen": [4, 4]},
    {"chosen": [3, 4]},
    {"chosen": [4, 12]},
]


@pytest.mark.parametrize("changes", REFUSED)
def test_different_work_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RunError, match="theirs did not do the work of t"):
        check("theirs", [JOB], answer(**changes))
