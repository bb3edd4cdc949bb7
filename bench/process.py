"""Run a module of the benchmark in a separate process, with any environment's Python."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybridal.errors import RunError, UserError

ROOT = Path(__file__).parents[1]


def run(
    python: Path, module: str, asked: str, variables: Mapping[str, str] | None = None, limit: float | None = None
) -> dict[str, Any]:
    """Return the result of `python -m module ASKED ANSWER`, run in an empty folder with an empty cache.

    Args:
        python: The interpreter of an environment.
        module: The module, which reads the file ASKED and writes the file ANSWER as JSON.
        asked: The content of ASKED.
        variables: Further environment variables.
        limit: Seconds after which the process is killed.

    Raises:
        UserError: If there is no such interpreter.
        RunError: If the process fails or takes too long.
    """
    if not python.exists():
        raise UserError(f"There is no environment {python.parents[1].name}; run `make bench`, which makes it.")
    own = os.environ.get("PYTHONPATH", "")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        question, answer = Path(scratch, "asked.json"), Path(scratch, "answer.json")
        question.write_text(asked, encoding="utf-8")
        found = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), *own.split(os.pathsep)]),
            "HYBRIDAL_CACHE": str(Path(scratch, "cache")),
            "HF_HUB_OFFLINE": "1",
            **(variables or {}),
        }
        try:
            done = subprocess.run(
                [python, "-W", "ignore", "-m", module, question, answer],
                cwd=scratch,
                env={**os.environ, **found},
                capture_output=True,
                text=True,
                timeout=limit,
            )
        except subprocess.TimeoutExpired as error:
            raise RunError(f"`{module}` took more than {limit:g} seconds") from error
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise RunError(f"`{module}` failed: {reason}")
        result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return result
