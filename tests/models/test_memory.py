from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from hybridal.models import memory

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a malloc that is left as it is")

# In a process of its own: the setting is the process's. The first batches still teach malloc their sizes.
BATCH_AFTER_BATCH = """
import resource, torch
from hybridal.models.memory import give_back, keep_freed

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    batch = [torch.ones(2**19) for _ in range(20)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed()
new_pages(), new_pages()
print(new_pages())
give_back()
print(new_pages())
"""
PAGES = 20 * 4 * 2**19 // 4096


def new_pages(**environment: str) -> tuple[int, int]:
    """Pages that a batch takes from the system: after others like it, and after all was given back."""
    command = [sys.executable, "-c", BATCH_AFTER_BATCH]
    said = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}, timeout=100
    )
    kept, anew = map(int, said.stdout.split())
    return kept, anew


@glibc
def test_what_one_batch_frees_is_there_for_the_next_until_it_is_given_back() -> None:
    kept, anew = new_pages()
    assert kept < PAGES / 10
    assert anew > PAGES / 2


@glibc
def test_settings_of_others_are_left_alone() -> None:
    kept, _ = new_pages(MALLOC_MMAP_THRESHOLD_="65536")
    assert kept > PAGES / 2


def test_another_malloc_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    memory._malloc.cache_clear()
    try:
        assert memory._malloc() is None
        memory.keep_freed()
        memory.give_back()
    finally:
        memory._malloc.cache_clear()
