"""The engine must import where Unix's own modules are missing."""

from __future__ import annotations

import subprocess
import sys

WITHOUT_UNIX = """
import sys
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None  # as on Windows: an import of it fails
import hybridal.system.lock, hybridal.system.scratch, hybridal.system.files, hybridal.system.cache
import hybridal.cli.main_app
import hybridal.runs.record, hybridal.runs.settings, hybridal.tasks.read, hybridal.lab.study.study
import hybridal.lab.study.study_folder
"""


def test_the_engine_imports_without_the_modules_of_unix() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_UNIX], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
