from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import hybridal

HEAVY = {"torch", "transformers", "numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "datasets", "yaml"}

TRACE = """
import sys
{code}
print(*sorted({heavy!r} & sys.modules.keys()), file=sys.stderr)
"""


def loaded_by(code: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has loaded after this code."""
    script = TRACE.format(code=code, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    return set(done.stderr.split())


def test_the_package_is_light() -> None:
    assert loaded_by("import hybridal; hybridal.__version__; dir(hybridal)") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]])
def test_asking_for_help_is_light(arguments: list[str]) -> None:
    code = f"""
import runpy
sys.argv = ["hybridal", *{arguments!r}]
try:
    runpy.run_module("hybridal", run_name="__main__")
except SystemExit as done:
    assert not done.code, done.code
"""
    assert loaded_by(code) == set()


def test_light_names_stay_light() -> None:
    code = "from hybridal import HybridAL, Round, Rules, Stabilisation, Task, UserError, make_schedule"
    assert not loaded_by(code) & {"torch", "transformers", "sklearn", "scipy", "pandas", "matplotlib"}


def test_every_public_name_can_be_imported() -> None:
    assert sorted(hybridal.__all__) == sorted(hybridal._HOMES) == sorted(dir(hybridal))
    for name, home in hybridal._HOMES.items():
        assert getattr(hybridal, name) is getattr(import_module(home), name)


def test_unknown_name_raises_pythons_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'hybridal' has no attribute 'ActveLearner'"):
        hybridal.ActveLearner  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'ActveLearner'"):
        exec("from hybridal import ActveLearner")
