"""Read an untrusted file in a program of its own, which may fail safely."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from hybridal.tasks import limited


@contextmanager
def reader_output(program: str, path: str, memory: int, seconds: int, request: bytes = b"") -> Iterator[IO[bytes]]:
    """Run a program on a file; it ends with the context at the latest.

    Args:
        program: The program's file.
        path: The file to read, its only argument.
        memory: Bytes of memory that it may take.
        seconds: Seconds that it may compute.
        request: What it finds on its standard input.

    Yields:
        Its standard output.
    """
    # -P: do not import modules from the folder of the program.
    command = [sys.executable, "-P", limited.__file__, str(memory), str(seconds), program, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        try:
            with suppress(BrokenPipeError), reader.stdin:  # a program that has ended asks for nothing
                reader.stdin.write(request)
            yield reader.stdout
        finally:
            reader.kill()
