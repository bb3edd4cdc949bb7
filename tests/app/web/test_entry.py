from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hybridal.app.project import Project
from hybridal.app.web.entry import Entry


def test_a_token_is_exchanged_once_however_many_try(project: Project) -> None:
    entry = Entry()
    assert entry.redeem(project, "guess") is None
    with ThreadPoolExecutor(4) as pool:
        cookies = list(pool.map(lambda _: entry.redeem(project, entry.token), range(8)))
    assert sum(cookie is not None for cookie in cookies) == 1
