"""What strangers install: sdist and wheel hold all that the package needs and nothing else, and the wheel works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import httpx
import pandas as pd
import pytest
from packaging.requirements import Requirement

from hybridal import __version__

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which the wheel's files are found before those of the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    with ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}


def package_files() -> set[str]:
    files = (path for path in (SOURCES / "hybridal").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(SOURCES).as_posix() for path in files}


def test_the_wheel_holds_the_package_and_its_licence(built: Path) -> None:
    with ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        extra = [name.partition(".dist-info/")[2] for name in wheel.namelist() if ".dist-info/" in name]
    assert names == package_files()
    assert {
        "hybridal/py.typed",
        "hybridal/app/web/templates/label.html",
        "hybridal/app/web/static/js/label.js",
    } <= names
    assert any(name.startswith("hybridal/app/db/migrations/") for name in names)
    assert sorted(extra) == ["METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"]


def test_the_sdist_holds_what_builds_the_wheel_and_no_tests(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    other_files = {name for name in names if not name.startswith("src/")}
    assert {name.removeprefix("src/") for name in names - other_files} == package_files()
    assert other_files == {
        "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "hatch_build.py",
        "pyproject.toml", ".gitignore",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("extra", "package", "vulnerable", "fixed"),
    [
        (None, "transformers", "5.9.0", "5.10.0"),  # CVE-2026-9856
        (None, "torch", "2.5.1", "2.6.0"),  # CVE-2025-32434
        (None, "pyarrow", "23.0.0", "23.0.1"),  # CVE-2026-25087
        ("app", "starlette", "1.3.0", "1.3.1"),
        ("app", "python-multipart", "0.0.30", "0.0.31"),  # CVE-2026-53540
    ],
)
def test_versions_with_known_vulnerabilities_are_not_admitted(
    extra: str | None, package: str, vulnerable: str, fixed: str
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    [wanted] = [one for one in map(Requirement, lines) if one.name == package]
    assert vulnerable not in wanted.specifier
    assert fixed in wanted.specifier


def test_links_of_the_readme_lead_somewhere_from_a_package_index(built: Path) -> None:
    with ZipFile(next(built.glob("*.whl"))) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        page = wheel.read(name).decode("utf-8")
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", page)
    ours = {
        "": "https://github.com/hybridal/hybridal/blob/",
        "!": "https://raw.githubusercontent.com/hybridal/hybridal/",
    }
    assert {kind for kind, _ in links} == ours.keys()
    for kind, link in links:
        tag, _, path = link.removeprefix(ours[kind]).partition("/")
        assert tag == f"v{__version__}"
        assert (ROOT / path.partition("#")[0]).is_file()


def test_from_the_wheel_to_a_model(installed: dict[str, str], tmp_path: Path) -> None:
    tickets(tmp_path)
    where = [sys.executable, "-c", "import hybridal; print(hybridal.__file__)"]
    found = subprocess.run(where, env=installed, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(installed["PYTHONPATH"])
    command = [sys.executable, "-m", "hybridal", "run", "tickets.csv", "--text", "body", "--label", "category"]
    command += ["--backbone", "tiny", "--protocol", "quick", "--rounds", "1", "--set", "max_epochs=1", "--out", "run"]
    subprocess.run(command, env=installed, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()
    assert (tmp_path / "run" / "report.html").is_file()


def test_the_app_starts_from_the_wheel(installed: dict[str, str], tmp_path: Path) -> None:
    tickets(tmp_path)
    command = [sys.executable, "-m", "hybridal", "label", "tickets.csv", "--text", "body", "--classes", "bug, idea"]
    command += ["--backbone", "tiny", "--port", "0", "--no-browser"]
    app = subprocess.Popen(command, env=installed, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert app.stdout is not None
        link = next(line.split()[-1] for line in app.stdout if "http" in line)
        with httpx.Client(follow_redirects=True, trust_env=False) as client:
            page = client.get(link)
            (script,) = re.findall(r'src="(/static/[^"]+/label\.js)"', page.text)
            assert client.get(httpx.URL(link).join(script)).status_code == 200
    finally:
        app.terminate()
        app.communicate(timeout=60)


def tickets(folder: Path) -> None:
    bodies = [f"{body} {number}" for number in range(60) for body in ("It crashes when I save", "Please add a colour")]
    pd.DataFrame({"body": bodies, "category": ["bug", "idea"] * 60}).to_csv(folder / "tickets.csv", index=False)
