"""Names that users choose as paths, in archives, in exports and on the server's disk; formulas in spreadsheets.

Label Studio served any file of its folder (GHSA-cpmr-mw4j-99r7); Gradio did through its file route (CVE-2023-51449,
CVE-2024-1728) and wrote formulas into its CSV (CVE-2022-24770); MLflow took a path in a fragment (CVE-2024-3848) and
unpacked archives anywhere (its pull request 21824).
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from itertools import cycle, product
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Class, Person, Text
from hybridal.app.exchange.table_files import (
    LABEL_FORMATS,
    PREDICTION_FORMATS,
    ModelArchive,
    label_rows,
    prediction_rows,
)
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import Row
from hybridal.app.project import MODEL_FOLDER, Project
from hybridal.app.web.host import folder_name
from hybridal.app.web.pages import static_version
from hybridal.errors import UserError
from hybridal.lab.study.study import CellPlan
from hybridal.runs.settings import Settings

from ..app.made_up import make
from ..app.web.visits import Visit

TRAVERSALS = [
    *("../../etc/passwd", "..", ".", "/etc/passwd", "..\\..\\etc\\passwd", "C:\\Windows\\x", "a/../../b", "....//x"),
    *("%2e%2e%2fetc%2fpasswd", "..%252f..%252fx", "x\0.csv", "\\\\host\\share\\x", "file:///etc/passwd", "~/.ssh/id"),
    *("#/../../etc/passwd", "x/.", "con", "a\nb", "-rf", "$(id)", ".htaccess", "\u2215etc\u2215passwd", "．．/x"),
]
FORMULAS = ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠x", "=cmd|' /C calc'!A0"]


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[Project]:
    """A project in which every name that a user can choose is a path traversal or a formula."""
    names = TRAVERSALS + FORMULAS
    rows = [
        Row(f"{name} {at}" if name in FORMULAS else f"{name}/{at}", name + " text", None, dict.fromkeys(names, name))
        for at, name in enumerate(names)
    ]
    project = Project.create(Source("../../evil", rows, tuple(names)), tmp_path / "p")
    with project.sessions.begin() as session:
        session.add(Person(name="=2+2"))
        session.flush()
        person = session.scalars(select(Person).where(Person.name == "=2+2")).one()
        for at, (row, name) in enumerate(zip(rows, names, strict=True)):
            id = row.id.replace("\0", "\ufffd")
            annotate(session, person, id, "label", class_name=name.strip(), comment=name, key=f"k{at}")
        texts, numbers = session.scalars(select(Text.row)).all(), session.scalars(select(Class.number)).all()
    project.probabilities.begin({"classes": [*numbers]}, len(numbers))
    project.probabilities.write([*texts], np.full((len(texts), len(numbers)), 1 / len(numbers)), [4] * len(texts))
    yield project
    project.close()


def test_no_cell_of_a_spreadsheet_is_a_formula(hostile: Project) -> None:
    for formats, rows in ((LABEL_FORMATS, label_rows(hostile.reads)), (PREDICTION_FORMATS, prediction_rows(hostile))):
        made = b"".join(formats["spreadsheet.csv"](rows)).decode()
        cells = [cell for line in csv.reader(io.StringIO(made, newline="")) for cell in line]
        assert len(cells) > 100
        assert not [
            cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
        ]


def test_an_archive_of_a_model_has_plain_names_inside_its_folder(hostile: Project, tmp_path: Path) -> None:
    folder = hostile.exports / MODEL_FOLDER
    (folder / "sub").mkdir(parents=True)
    for name in ("config.json", "sub/vocab.txt"):
        (folder / name).write_text("x")
    (tmp_path / "secret").write_text("hunter2")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "linked folder").symlink_to(tmp_path)
    archive = zipfile.ZipFile(io.BytesIO(b"".join(ModelArchive(hostile.exports).parts())))
    assert {*archive.namelist()} == {"model/config.json", "model/sub/vocab.txt"}
    assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o644}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "spreadsheet.csv"])
def test_exports_write_nothing_but_what_they_send(hostile: Project, kind: str, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if not path.name.startswith("labels.db")}
    assert b"".join(LABEL_FORMATS[kind](label_rows(hostile.reads)))
    assert {path for path in tmp_path.rglob("*") if not path.name.startswith("labels.db")} == before


def test_static_files_are_only_those_of_the_package(stranger: Visit) -> None:
    version = static_version()
    for name in (*TRAVERSALS, "../pages.py", "js/../../auth.py", "js//api.js", "js/api.js/", "", "js"):
        for written in (quote(name), quote(name, safe=""), quote(quote(name, safe=""), safe="")):
            for prefix in (version, "..", "x", f"{version}/.."):
                answer = stranger.client.get(f"/static/{prefix}/{written}")
                assert answer.status_code in (303, 307, 404), written
                assert "import" not in answer.text
                assert answer.headers.get("location", "/").startswith(("/", "http://localhost:8420/"))


def test_any_id_is_a_text_and_never_a_path(hostile: Project) -> None:
    with hostile.reads() as session:
        assert {id.partition("/")[0] for id in session.scalars(select(Text.id))} >= {"..", ""}
    assert not [path for path in hostile.folder.parent.iterdir() if path != hostile.folder]


def test_upload_name_selects_no_path_and_errors_show_none(owner: Visit, tmp_path: Path) -> None:
    before = {*tmp_path.iterdir()}
    kinds = cycle([(".csv", b'text\n"open\n'), (".parquet", b"x"), (".xlsx", b"x"), (".json", b"[")])
    paths = ("/api/texts", "/api/texts/preview", "/api/import/label-studio")
    # Every name by every path and every kind of file by every path, but not every name with every kind.
    for path, (name, (suffix, content)) in product(paths, zip((*TRAVERSALS, "x" * 5000), kinds, strict=False)):
        answer = owner.post(path, files={"file": (name + suffix, content)})
        told = json.dumps(answer.json())
        assert answer.status_code in (200, 400, 422), told
        assert "/tmp" not in told
        assert "hybridal-" not in told
    assert {*tmp_path.iterdir()} == before


def test_a_projects_title_is_one_folder(tmp_path: Path) -> None:
    for title in TRAVERSALS:
        try:
            name = folder_name(title)
        except UserError:
            continue
        assert (tmp_path / name).resolve().parent == tmp_path.resolve()
        assert name not in ("", ".", "..")
        assert not name.startswith((".", "-"))


@pytest.mark.parametrize("name", [one for one in TRAVERSALS if "\0" not in one])
def test_a_cell_of_a_study_is_one_folder(name: str, tmp_path: Path) -> None:
    settings = Settings(task=name, backbone=name, schedule="retrain")
    key = CellPlan(settings, {name: name}, ("retrain",)).key
    assert (tmp_path / key).resolve().parent == tmp_path.resolve()


def test_a_folder_of_a_server_is_found_by_its_whole_name_only(tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    from hybridal.app.trainer.trainer_slots import TrainerQueue
    from hybridal.app.web.host import Host
    from hybridal.app.web.operator import Operator
    from hybridal.app.web.start import create_start_app

    make(tmp_path / "outside").close()
    (tmp_path / "all").mkdir()
    host = Host(tmp_path / "all", TrainerQueue(), local=False, settings={})
    app = create_start_app(host, Operator("a password"), None)
    visit = TestClient(app, base_url="http://localhost:8420", follow_redirects=False)
    for name in ("../outside", "..", ".", "outside", str(tmp_path / "outside")):
        for written in (quote(name), quote(name, safe="")):
            for path in (f"/p/{written}/", f"/p/{written}", f"/p/{written}/api/project", f"/open/{written}"):
                answer = visit.get(path)
                assert answer.status_code in (303, 401, 404), (path, answer.status_code)
                assert answer.headers.get("location", "/login") in ("/", "/login")
