"""The contenders, in turns: A B C A B C, so that noise hits all alike."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench.figures import OURS, SMALL_TEXT, TRAINER, Turns
from bench.job import Job, dump_jobs
from bench.process import ROOT, run
from bench.screen import Screen
from hybridal.errors import RunError

HERE = Path(sys.executable)
CONTENDERS = {
    OURS: (HERE, "bench.contenders.ours"),
    TRAINER: (HERE, "bench.contenders.trainer"),
    SMALL_TEXT: (ROOT / ".venv-small-text" / "bin" / "python", "bench.contenders.small_text"),
}


def compare(jobs: list[Job], repeats: int, screen: Screen) -> Turns:
    """The results of every contender, by repeat; a contender that did other work is refused."""
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTENDERS}
    for repeat in range(1, repeats + 1):
        for name, (python, module) in CONTENDERS.items():
            with screen.step(f"{name}, {repeat} of {repeats}"):
                answer = run(python, module, dump_jobs(jobs))
            check(name, jobs, answer)
            turns[name].append(answer)
    return turns


def check(name: str, jobs: list[Job], answer: dict[str, Any]) -> None:
    """Check that every contender took the same steps, scored all candidates and chose the same number."""
    for job, turn in zip(jobs, answer["turns"], strict=True):
        rules, chosen = job.rules, set(turn["chosen"])
        asked = range(rules.labelled, rules.labelled + rules.candidates)
        same = turn["steps"] == rules.steps and turn["scored"] >= rules.candidates
        if not (same and len(chosen) == rules.choose and all(row in asked for row in chosen)):
            raise RunError(
                f"{name} did not do the work of {job.texts.name}: {turn['steps']} steps instead of {rules.steps}, "
                f"{turn['scored']} texts scored and {len(chosen)} chosen; nothing is written."
            )
