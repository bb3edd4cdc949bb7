from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.tasks.reader_process import reader_output


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("while True: pass", b""),  # it is stopped after a second
        ("try: bytes(2_000_000_000)\nexcept MemoryError: print('too much', end='')", b"too much"),
        ("import sys; print(*sys.argv[1:], sys.stdin.read(), end='')", b"mail.csv asked"),
        ("", b""),  # it does not read what it is asked
    ],
)
def test_program_reads_within_limits(code: str, printed: bytes, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(code)
    with reader_output(str(program), "mail.csv", memory=1 << 30, seconds=1, request=b"asked") as output:
        assert output.read() == printed


def test_program_ends_with_its_context(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("print('x' * 1_000_000)")  # more than a pipe holds
    with reader_output(str(program), "mail.csv", memory=1 << 30, seconds=60) as output:
        assert output.read(1) == b"x"
    with pytest.raises(ValueError, match="closed file"):
        output.read()
