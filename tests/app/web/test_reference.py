from __future__ import annotations

import json
import re
import shlex
from html import unescape

from fastapi import FastAPI

from hybridal.app.project import Project
from hybridal.app.web.openapi import operations
from hybridal.app.web.reference import chapters

from ..made_up import me
from .visits import HOME, Visit, with_token


def test_the_page_has_every_operation_with_a_command_that_a_shell_reads(
    app: FastAPI, owner: Visit, project: Project
) -> None:
    document = app.openapi()
    html = owner.get("/programs/api").text
    shown = [unescape(path) for path in re.findall(r"</code> <code>([^<]*)</code>", html)]
    assert sorted(shown) == sorted(path for path, _, _ in operations(document))
    assert "or with <code>archived</code> all classes" in html
    assert "`" not in re.sub(r"<pre.*?</pre>", "", html, flags=re.S)
    [[annotate]] = [
        [one for one in some if one.path == "/api/annotations"]
        for title, some in chapters(document, HOME).items()
        if title == "Labelling"
    ]
    words = shlex.split(annotate.command.replace("\\\n", " "))
    assert words[:3] == ["curl", "-X", "POST"]
    assert words[-1] == f"{HOME}/api/annotations"
    body = json.loads(words[words.index("-d") + 1])
    program = with_token(app, me(project), "owner")
    assert program.post("/api/annotations", {**body, "text": "t1", "class": "a"}).json()["ok"] is True
    needed = {field.name for field in annotate.parameters if field.required}
    assert needed == {"key", "text", "action"}


def test_an_unknown_host_is_escaped(app: FastAPI, owner: Visit) -> None:
    html = owner.client.get("/programs/api", headers={"Host": 'localhost:1"><b>x'}).text
    assert "<b>x" not in html
