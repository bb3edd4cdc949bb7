"""Find the look-alikes of a project; many texts in a separate process: `python -m hybridal.app.group_texts`."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing

from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.look_alike_groups import find_groups, groups_are_known
from hybridal.app.project import Project

MAX_TEXTS_HERE = 2000  # whose groups are found in half a second at most; more would keep requests waiting


def group_texts(project: Project) -> None:
    """Find the groups of texts that are almost the same, if texts were added since."""
    with project.reads() as session:
        if groups_are_known(session):
            return
        texts = counts(session)["texts"]
    if texts <= MAX_TEXTS_HERE:
        find_groups(project.sessions, project.reads)
    else:
        command = [sys.executable, "-m", "hybridal.app.group_texts", str(project.folder)]
        subprocess.run(command, env={**os.environ, **project.environment}, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    with closing(Project.open(sys.argv[1])) as opened:
        find_groups(opened.sessions, opened.reads)
