from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.tasks.jsonl import read_jsonl
from hybridal.tasks.table import joined

Write = Callable[[str, str | bytes], Path]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(), min_size=1, max_size=5), ascii=st.booleans(), end=st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_written_is_read(write: Write, texts: list[str], ascii: bool, end: str) -> None:
    lines = [json.dumps({"text": text}, ensure_ascii=ascii) for text in texts]
    path = write("mail.jsonl", end.join(lines))
    assert joined(read_jsonl(path, ["text"])).columns["text"] == texts


def test_blank_lines_count_but_are_no_rows(write: Write) -> None:
    table = joined(read_jsonl(write("mail.jsonl", '{"text": "a"}\n\n{"text": "b"}\n'), ["text"]))
    assert table.places == [1, 3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": "cut off', "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ('["text"]', "not a JSON object"),
    ],
)
def test_a_broken_line_is_named(write: Write, line: str, said: str) -> None:
    path = write("mail.jsonl", '{"text": "fine"}\n' + line + "\n")
    with pytest.raises(UserError, match=rf"mail\.jsonl, line 2: {said}.* per line"):
        joined(read_jsonl(path, ["text"]))


def test_a_key_that_no_line_has(write: Write) -> None:
    path = write("mail.jsonl", '{"text": "a"}\n{"text": "b", "kind": "ham"}\n')
    with pytest.raises(UserError, match=r"mail\.jsonl: there is no column 'label'; its columns are text, kind"):
        joined(read_jsonl(path, ["text", "label"]))
