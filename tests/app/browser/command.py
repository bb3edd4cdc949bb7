"""The app as people start it: the command in a separate process, with its trainer."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def started(path: Path, *options: str, name: str = "label") -> Iterator[str]:
    """Runs `hybridal label FILE`, or `serve FOLDER`, and ends it as Ctrl-C does; gives the link that it prints."""
    command = [sys.executable, "-m", "hybridal", name, str(path), "--port", "0", "--no-browser", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            links = (found[0] for line in lines if (found := re.search(r"http://\S+", line)))
            yield next(links)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=30)
            finally:
                process.kill()
    assert process.returncode == 0
