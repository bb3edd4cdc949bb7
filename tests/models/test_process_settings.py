from __future__ import annotations

import ast
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hybridal.models import process_settings

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a malloc that is left as it is")

# In a process of its own: the setting is the process's. The first batches still teach malloc their sizes.
BATCH_AFTER_BATCH = """
import resource, torch
from hybridal.models.process_settings import return_freed_memory, keep_freed_memory

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    batch = [torch.ones(2**19) for _ in range(20)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
new_pages(), new_pages()
print(new_pages())
return_freed_memory()
print(new_pages())
"""
PAGES = 20 * 4 * 2**19 // 4096


def new_pages(**environment: str) -> tuple[int, int]:
    """Pages that a batch takes from the system: after others like it, and after all was given back."""
    command = [sys.executable, "-c", BATCH_AFTER_BATCH]
    process = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}, timeout=100
    )
    kept, fresh = map(int, process.stdout.split())
    return kept, fresh


@glibc
def test_freed_memory_is_kept_for_the_next_batch_until_it_is_returned() -> None:
    kept, fresh = new_pages()
    assert kept < PAGES / 10
    assert fresh > PAGES / 2


@glibc
def test_settings_of_the_user_are_kept() -> None:
    kept, _ = new_pages(MALLOC_MMAP_THRESHOLD_="65536")
    assert kept > PAGES / 2


def test_another_malloc_is_not_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    process_settings._malloc.cache_clear()
    try:
        assert process_settings._malloc() is None
        process_settings.keep_freed_memory()
        process_settings.return_freed_memory()
    finally:
        process_settings._malloc.cache_clear()


@pytest.mark.parametrize("enabled", [True, False])
def test_logging_and_progress_bars_of_transformers_are_restored(enabled: bool) -> None:
    from transformers.utils import logging

    before = logging.is_progress_bar_enabled()
    (logging.enable_progress_bar if enabled else logging.disable_progress_bar)()
    try:
        verbosity = logging.get_verbosity()
        with process_settings.quiet_transformers():
            assert not logging.is_progress_bar_enabled()
        assert logging.is_progress_bar_enabled() == enabled
        assert logging.get_verbosity() == verbosity
    finally:
        (logging.enable_progress_bar if before else logging.disable_progress_bar)()


def test_importing_the_library_changes_no_setting_of_torch() -> None:
    code = (
        "import torch; before = torch.are_deterministic_algorithms_enabled(), torch.get_rng_state().sum()\n"
        "import hybridal.models.transformer, os\n"
        "assert before == (torch.are_deterministic_algorithms_enabled(), torch.get_rng_state().sum())\n"
        "assert 'CUBLAS_WORKSPACE_CONFIG' not in os.environ\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "CUBLAS_WORKSPACE_CONFIG"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=100)


PACKAGE = Path(process_settings.__file__).parents[1]
# Calls that change a setting of the whole process.
CHANGES_A_SETTING = re.compile(
    r"os\.(environ\.(setdefault|update|pop)|putenv|nice|umask|chdir)"
    r"|signal\.signal"
    r"|(sys|resource|locale|forkserver|torch|np)\.(set|use)_?[a-z_]+|malloc\.mallopt"
    r"|torch\.(backends\.[a-z.]+\.enable_\w+|random\.fork_rng|manual_seed|default_generator\.manual_seed|\w+\.manual_seed\w*)"
    r"|csv\.field_size_limit|mpl\.(rc_context|use)|matplotlib\.\w+|threadpool_limits|_controller\(\)\.limit"
    r"|warnings\.(simplefilter|filterwarnings)|logging\.(set_verbosity\w*|disable_progress_bar|disable)"
    r"|(log|logging\.getLogger\(.*\))\.setLevel"
)


def changes_a_setting(file: Path) -> bool:
    """Whether a module calls one of these, or assigns to an attribute of a module or class that it imports."""
    nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    imported = {
        name.asname or name.name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    targets = [target for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    assigned = [ast.unparse(target) for target in targets if isinstance(target, ast.Attribute)]
    called = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
    return any(map(CHANGES_A_SETTING.fullmatch, called)) or any(name.partition(".")[0] in imported for name in assigned)


def test_every_module_that_changes_a_setting_is_listed_and_no_other() -> None:
    documented = set(re.findall(r"`([\w/]+\.py)`", process_settings.__doc__ or ""))
    assert {str(file.relative_to(PACKAGE)) for file in PACKAGE.rglob("*.py") if changes_a_setting(file)} == documented
