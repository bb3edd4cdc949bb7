from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import CapacityLimiter
from fastapi.testclient import TestClient

from hybridal.app.people import add_person, hash_password
from hybridal.app.project import Project
from hybridal.app.trainer.trainer_slots import TrainerQueue
from hybridal.app.web import host as module
from hybridal.app.web import project_threads
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.host import Host, HostedProject, check_folder_name, folder_name
from hybridal.app.web.middleware import RateLimiter
from hybridal.app.web.operator import Operator
from hybridal.app.web.project_list import summary
from hybridal.app.web.proxy import Proxies, ProxyHeaders
from hybridal.app.web.start import create_start_app
from hybridal.errors import UserError
from hybridal.system.files import identity_of
from hybridal.system.lock import locked

from ...helpers.waiting import wait_until
from ..made_up import make, people
from .visits import HOME


class UnusedTrainer:
    """A trainer that is never started."""

    def __init__(self, project: Project, turns: TrainerQueue) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Supervisor", UnusedTrainer)
    monkeypatch.setattr(module, "SCAN_SECONDS", 0.02)
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two projects."""
    for name in ("mails", "old news"):
        make(tmp_path / "all" / name).close()
    return tmp_path / "all"


class Visitor:
    """A browser at a server of several projects."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.csrf_token = ""

    def get(self, path: str) -> Any:
        return self.client.get(path)

    def send(self, method: str, path: str, json: Any) -> Any:
        return self.client.request(method, path, json=json, headers={"X-CSRF-Token": self.csrf_token})

    def projects(self) -> dict[str, Any]:
        found = self.get("/api/projects").json()
        self.csrf_token = found["csrf_token"]
        return {one["name"]: one for one in found["items"]}

    def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        end = time.monotonic() + 30
        while not holds(found := self.projects()):
            assert time.monotonic() < end, found
            time.sleep(0.01)
        return found


@contextmanager
def visited(folder: Path, password: str | None = None, db: str | None = None) -> Iterator[Visitor]:
    """The operator, signed in by link or by password."""
    link = None if password else LoginLink()
    host = Host(folder, TrainerQueue(), local=link is not None, settings={"backbone": "tiny"}, db=db)
    app = create_start_app(host, Operator(password), link)
    with TestClient(app, base_url=HOME, follow_redirects=False) as client:
        visitor = Visitor(client)
        if link is None:
            assert client.post("/api/login", json={"password": password}).status_code == 200
        else:
            assert client.get(f"/?token={link.token}").headers["location"] == "/"
        there = len(module.project_folders(folder))
        states = ("trainer", "problem", "archived")
        visitor.until(lambda found: there == sum(any(one[name] for name in states) for one in found.values()))
        yield visitor


def test_the_operator_sees_all_projects_and_opens_each_as_its_owner(folder: Path) -> None:
    project = Project.open(folder / "mails")
    people(project, 1, "reviewer")
    project.close()
    with visited(folder) as operator:
        found = operator.projects()
        assert [*found] == ["mails", "old news"]
        assert (found["mails"]["title"], found["mails"]["people"]) == ("made up", ["me", "reviewer 0"])
        assert (found["mails"]["labelled"], found["mails"]["planned"], found["mails"]["texts"]) == (0, 20, 20)
        assert found["old news"]["address"] == "/p/old%20news"
        assert "Projects" in operator.get("/").text

        assert operator.get("/p/old%20news").headers["location"] == "/p/old%20news/"
        assert operator.get("/p/old%20news/").headers["location"] == "/p/old%20news/login"
        entered = operator.get("/open/old%20news")
        assert entered.headers["location"] == "/p/old%20news/"
        assert "Path=/p/old%20news/;" in entered.headers["set-cookie"]
        assert "All projects" in operator.get("/p/old%20news/").text
        assert operator.get("/p/old%20news/api/project").json()["me"]["role"] == "owner"
        assert operator.get("/p/old%20news/service-worker.js").status_code == 200  # its scope is the project
        assert operator.get("/service-worker.js").status_code == 404
        assert operator.get("/p/mails/api/project").status_code == 401  # each project has its own sessions


def test_unauthenticated_clients_learn_nothing(folder: Path) -> None:
    with visited(folder) as operator:
        operator.client.cookies.clear()
        assert operator.get("/").headers["location"] == "/login"
        assert "hybridal serve" in operator.get("/login").text
        assert "The link works once" in operator.get("/login").text
        assert operator.get("/open/mails").headers["location"] == "/"
        for method, path in (("GET", "/api/projects"), ("POST", "/api/projects"), ("PATCH", "/api/projects")):
            assert operator.client.request(method, path, json={}).status_code == 401
        assert operator.client.get("/", headers={"Host": "evil.example"}).status_code == 400
        assert operator.client.get("/p/mails/", headers={"Host": "evil.example"}).status_code == 400
        assert "All projects" not in operator.get("/p/mails/login").text
        assert operator.get("/p/nothing/").status_code == 404


def test_the_sign_in_page_of_a_project_shows_the_operator_the_way(folder: Path) -> None:
    project = Project.open(folder / "mails")
    with project.sessions.begin() as session:
        add_person(session, "Ada", "annotator", hash_password("correct horse"))
    project.close()
    with visited(folder) as operator:
        operator.client.cookies.clear()
        page = operator.get("/p/mails/login").text
        assert "Password" in page
        assert 'If you run the server, open this project from the <a href="/">start page</a>.' in page


def test_on_a_network_the_operator_has_a_password(folder: Path) -> None:
    with visited(folder, "correct horse") as operator:
        assert [*operator.projects()] == ["mails", "old news"]
        assert operator.send("POST", "/api/logout", {}).status_code == 200
        assert operator.get("/api/projects").status_code == 401
        operator.client.app.state.tries = RateLimiter(1, 60.0)  # type: ignore[attr-defined]
        wrong = [operator.client.post("/api/login", json={"password": "battery"}).status_code for _ in range(2)]
        assert wrong == [401, 429]
        assert "Password" in operator.get("/login").text


def test_proxy_header_identifies_the_operator(folder: Path) -> None:
    host = Host(folder, TrainerQueue(), local=False, settings={})
    start = create_start_app(host, Operator(name="ada"), None)
    app = ProxyHeaders(start, Proxies("127.0.0.1"), "X-User")
    with TestClient(app, base_url=HOME, follow_redirects=False, client=("127.0.0.1", 1)) as client:

        def come(name: str) -> Visitor:
            client.headers["X-User"] = name
            return Visitor(client)

        come("ada").until(lambda found: all(one["trainer"] for one in found.values()) and len(found) == 2)
        assert come("ada").get("/").status_code == 200
        assert client.post("/api/projects", json={"name": "forged"}).status_code == 403
        bob = come("bob")
        assert (bob.get("/").headers["location"], bob.get("/api/projects").status_code) == ("/login", 401)
        assert "only for the person who runs the server" in bob.get("/login").text
        assert bob.get("/p/mails/api/project").json()["me"] == {"number": 2, "name": "bob", "role": "annotator"}
        assert come("ada").get("/p/mails/api/project").json()["me"] == {"number": 1, "name": "me", "role": "owner"}
        assert "All projects" in come("ada").get("/p/mails/").text
        for name, status in (("me", 403), ("", 401)):  # "me" is the owner before anybody named them
            assert come(name).get("/p/old%20news/api/project").status_code == status


def test_a_project_is_created_without_texts_and_is_there_at_once(tmp_path: Path) -> None:
    with visited(tmp_path) as operator:
        operator.projects()
        made = operator.send("POST", "/api/projects", {"name": "Tickets <b>2024</b> / new"})
        assert made.json()["address"] == "/p/Tickets-b-2024-b-new"
        assert made.json()["title"] == "Tickets <b>2024</b> / new"
        assert operator.send("POST", "/api/projects", {"name": "Tickets b 2024 b new"}).status_code == 409
        assert operator.send("POST", "/api/projects", {"name": "sets", "multi_label": True}).status_code == 200
        for name in ("", "../..", "<>", "x" * 101):
            assert operator.send("POST", "/api/projects", {"name": name}).status_code in (400, 422)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["Tickets-b-2024-b-new", "sets"]
        assert operator.client.post("/api/projects", json={"name": "forged"}).status_code == 403
    folder = tmp_path / "Tickets-b-2024-b-new"
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "labels.db")] == [0o700, 0o600]
    project, sets = Project.open(folder), Project.open(tmp_path / "sets")
    assert project.setting("backbone") == "tiny"
    assert (project.setting("multi_label"), sets.setting("multi_label")) == (False, True)
    project.close()
    sets.close()


@pytest.mark.postgres
def test_projects_in_schemas_and_in_files_are_served_side_by_side(folder: Path, empty_postgres: str) -> None:
    with visited(folder, db=empty_postgres) as operator:
        assert operator.send("POST", "/api/projects", {"name": "letters"}).json()["trainer"]
        made = [operator.send("POST", "/api/projects", {"name": name}).json() for name in ("more", "most")]
        assert [one["problem"] for one in made] == ["", ""]
    with visited(folder, db=empty_postgres) as operator:  # and after a restart
        found = operator.projects()
        assert {name: one["texts"] for name, one in found.items()} == {
            **dict.fromkeys(("mails", "old news"), 20),
            **dict.fromkeys(("letters", "more", "most"), 0),
        }
        (folder / "more").rename(folder / "less")
        operator.until(lambda found: "less" in found and found["less"]["trainer"])


def test_folders_are_moved_in_and_out_while_it_runs(folder: Path, tmp_path: Path) -> None:
    with visited(folder) as operator:
        operator.get("/open/mails")
        (folder / "mails").rename(tmp_path / "elsewhere")
        operator.until(lambda found: [*found] == ["old news"])
        assert operator.get("/p/mails/").status_code == 404
        with locked(tmp_path / "elsewhere" / "app.lock", tmp_path):  # the lock is free again
            pass
        (tmp_path / "elsewhere").rename(folder / "letters")
        operator.until(lambda found: "letters" in found and found["letters"]["trainer"])
        # Another project takes the name of one that was there.
        make(tmp_path / "other").close()
        key = Project.open(tmp_path / "other").key
        (folder / "letters").rename(tmp_path / "gone")
        (tmp_path / "other").rename(folder / "letters")
        operator.until(lambda found: "letters" in found and found["letters"]["trainer"])
        end = time.monotonic() + 30
        while f"hybridal_{key}" not in operator.get("/open/letters").headers.get("set-cookie", ""):
            assert time.monotonic() < end


def test_a_folder_that_takes_anothers_name_is_never_served_as_the_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    monkeypatch.setattr(module, "SCAN_SECONDS", 60)  # no scan but the first
    monkeypatch.setattr(module, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(UnusedTrainer, "stop", lambda _: may_end.wait(5))
    with visited(folder) as operator:
        operator.until(lambda found: all(one["trainer"] for one in found.values()) and len(found) == 2)
        operator.get("/open/mails")
        assert operator.get("/p/mails/api/project").status_code == 200
        (folder / "mails").rename(tmp_path / "gone")
        (folder / "old news").rename(folder / "mails")
        for _ in range(2):
            assert operator.get("/p/mails/api/project").status_code == 503
            assert operator.get("/open/mails").headers["location"] == "/"
            assert operator.projects()["mails"]["trainer"] is None
            operator.send("PATCH", "/api/projects", {"name": "mails", "archived": False})  # looks
        may_end.set()
        look = partial(operator.send, "PATCH", "/api/projects", {"name": "mails", "archived": False})
        operator.until(lambda found: look() is None or bool(found["mails"]["trainer"]))


def test_a_disk_that_does_not_answer_makes_no_other_project_wait(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, asked = threading.Event(), threading.Event()

    def identity(path: Path) -> tuple[int, int] | None:
        if path.name == "mails":
            asked.set()
            answers.wait(30)
        return identity_of(path)

    with visited(folder) as operator:
        for name in ("mails", "old%20news"):
            operator.get(f"/open/{name}")
        monkeypatch.setattr(module, "SCAN_SECONDS", 60)
        monkeypatch.setattr(module, "FRESH_SECONDS", 0.0)
        monkeypatch.setattr(module, "identity_of", identity)
        waiting = threading.Thread(target=operator.get, args=["/p/mails/api/project"])
        waiting.start()
        assert asked.wait(30)
        assert operator.get("/p/old%20news/api/project").status_code == 200
        assert waiting.is_alive()
        answers.set()
        waiting.join(30)


def test_a_project_with_busy_threads_does_not_delay_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limiters: list[CapacityLimiter] = []

    def limiter(threads: int) -> CapacityLimiter:
        limiters.append(CapacityLimiter(threads))
        return limiters[-1]

    monkeypatch.setattr(project_threads, "MAX_THREADS", 2)
    monkeypatch.setattr(project_threads, "CapacityLimiter", limiter)
    with visited(folder) as operator:
        for name in ("mails", "old%20news"):
            operator.get(f"/open/{name}")
        asked = [threading.Thread(target=operator.get, args=["/p/mails/api/next"]) for _ in range(60)]
        project: Project = operator.client.app.state.host.projects["mails"].served.state.project  # type: ignore[attr-defined]
        with project.sessions.begin() as session:  # all of them wait for its end
            session.connection()
            for one in asked:
                one.start()
            wait_until(lambda: max(one.statistics().tasks_waiting for one in limiters) == 58)
            statuses: list[int] = []
            free = ["/p/old%20news/api/next", "/p/mails/api/texts"]  # of another project, and what is not labelling
            other = threading.Thread(target=lambda: statuses.extend(operator.get(path).status_code for path in free))
            other.start()
            other.join(20)
            assert statuses == [200, 200]
            assert all(one.is_alive() for one in asked)
        for one in asked:
            one.join(60)
            assert not one.is_alive()


def test_an_archived_project_says_so_and_stays_archived(folder: Path, tmp_path: Path) -> None:
    with visited(folder) as operator:
        assert operator.send("PATCH", "/api/projects", {"name": "mails", "title": " All  mails "}).status_code == 200
        assert operator.projects()["mails"]["title"] == "All mails"
        assert operator.send("PATCH", "/api/projects", {"name": "mails", "archived": True}).status_code == 200
        operator.until(lambda found: found["mails"]["archived"] and not found["mails"]["trainer"])
        assert operator.projects()["mails"]["title"] == "All mails"
        archived = operator.get("/p/mails/")
        assert archived.status_code == 503
        assert "This project is archived. Your labels are safe." in archived.text
        assert "went wrong" not in archived.text
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            answer = operator.send(method, "/p/mails/api/annotations", {})
            assert answer.status_code == 503
            assert answer.json()["error"].startswith("This project is archived. Your labels are safe.")
        assert operator.send("PATCH", "/api/projects", {"name": "mails", "title": "x"}).status_code == 409
        assert not (folder / "mails" / "labels.db-wal").exists()
        shutil.copytree(folder / "mails", tmp_path / "copy")
    with visited(folder) as operator:  # a restart does not open it
        assert operator.projects()["mails"]["archived"]
        operator.send("PATCH", "/api/projects", {"name": "mails", "archived": False})
        operator.until(lambda found: bool(found["mails"]["trainer"]))
        assert operator.send("PATCH", "/api/projects", {"name": "nothing", "archived": True}).status_code == 404


def test_a_project_is_not_called_archived_while_it_is_being_closed(tmp_path: Path) -> None:
    host = Host(tmp_path, TrainerQueue(), local=True, settings={})
    one = HostedProject(tmp_path / "mails", (1, 2))
    host.archived["mails"] = "2024-01-31"
    one.busy = True
    assert not summary(host, one).archived
    one.busy = False
    assert summary(host, one).archived


def test_the_list_shows_who_works_on_a_project_and_when_somebody_last_did(folder: Path) -> None:
    before = time.time()
    with visited(folder) as operator:
        found = operator.projects()["mails"]
        assert (found["people"], found["last_label"]) == (["me"], None)
        assert found["created"] <= before
        operator.get("/open/mails")
        csrf_token = operator.get("/p/mails/api/project").json()["csrf_token"]
        operator.client.post(
            "/p/mails/api/annotations",
            json={"key": "1", "text": "t1", "action": "label", "class": "a"},
            headers={"X-CSRF-Token": csrf_token},
        ).raise_for_status()
        assert operator.projects()["mails"]["last_label"] >= before


def test_a_project_is_deleted_by_typing_its_name(folder: Path) -> None:
    make(folder / "torn").close()
    (folder / "torn" / "labels.db").write_bytes(b"nonsense" * 1000)
    with visited(folder) as operator:
        wrong = operator.send("POST", "/api/projects/delete", {"name": "mails", "title": "mails"})
        assert wrong.status_code == 409
        assert wrong.json()["error"] == "To delete this project, type its name, 'made up'."
        assert (folder / "mails").exists()
        for name in ("mails", "torn"):
            gone = operator.send("POST", "/api/projects/delete", {"name": name, "title": "made  up "})
            assert gone.status_code == 200, gone.text
        assert [*operator.projects()] == ["old news"]
        assert sorted(path.name for path in folder.iterdir()) == ["old news"]
        assert operator.get("/p/mails/").status_code == 404
        assert operator.send("POST", "/api/projects/delete", {"name": "mails", "title": "made up"}).status_code == 404


def test_a_project_that_cannot_be_deleted_is_served_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("hybridal.app.project_admin.remove_folder", full)
    with visited(folder) as operator:
        answer = operator.send("POST", "/api/projects/delete", {"name": "mails", "title": "made up"})
        assert answer.json()["error"] == "'mails' could not be deleted (Read-only file system); try again."
        operator.until(lambda found: bool(found["mails"]["trainer"]))


def test_broken_project_folder_is_reported_and_harms_no_other(folder: Path) -> None:
    for name in ("torn", "empty", "<img src=x>", "in use"):
        make(folder / name).close()
    (folder / "torn" / "labels.db").write_bytes(b"nonsense" * 1000)
    whole = (folder / "empty" / "project.json").read_text()
    (folder / "empty" / "project.json").write_text("{")
    (folder / "notes").mkdir()  # not a project
    (folder / "old news" / "project.json").unlink()
    with locked(folder / "in use" / "app.lock", folder), visited(folder) as operator:
        found = operator.projects()
        problems = {name: one["problem"] for name, one in found.items()}
        assert problems.pop("mails") == ""
        assert found["mails"]["trainer"]
        assert problems == {
            "torn": "The database cannot be used (file is not a database); "
            "check `db` or HYBRIDAL_DB, and that it runs.",
            "empty": "project.json is damaged; restore it from a backup.",
            "<img src=x>": "Rename this folder: its name may contain only letters, digits, spaces, . - and _.",
            "in use": f"in use is in use by process {os.getpid()}; wait for it or stop it first.",
            "old news": "old news is not a project of `hybridal label`: it has no project.json.",
        }
        assert operator.get("/p/torn/").status_code == 503
        assert operator.get("/open/torn").headers["location"] == "/"
        # Mended, it is served.
        (folder / "empty" / "project.json").write_text(whole)
        operator.until(lambda found: bool(found["empty"]["trainer"]))


def test_a_folder_that_may_not_be_looked_into_and_one_that_is_away_stop_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, iterdir, scans = Path.exists, Path.iterdir, list[Path]()

    def exists(path: Path) -> bool:
        if path.parent.name == "old news":
            raise PermissionError(13, "Permission denied")
        return real(path)

    def away(path: Path) -> Iterator[Path]:
        if path == folder:
            scans.append(path)
            raise OSError(5, "Input/output error")
        return iterdir(path)

    monkeypatch.setattr(Path, "exists", exists)
    monkeypatch.setattr(module, "locked", lambda file, what: (exists(file), locked(file, what))[1])
    with visited(folder) as operator:
        assert operator.projects()["old news"]["problem"] == "The folder cannot be used (Permission denied)."
        monkeypatch.setattr(Path, "iterdir", away)
        wait_until(lambda: len(scans) > 2)
        assert operator.projects()["mails"]["trainer"]
        monkeypatch.setattr(Path, "iterdir", iterdir)


def test_a_failing_database_does_not_affect_other_projects(folder: Path) -> None:
    with visited(folder) as operator:
        operator.get("/open/mails")
        host: Host = operator.client.app.state.host  # type: ignore[attr-defined]
        served = host.projects["mails"].served
        assert served is not None
        served.state.project.engine.dispose()
        for file in (folder / "mails").glob("labels.db*"):
            file.unlink()
        (folder / "mails" / "labels.db").write_bytes(b"nonsense" * 1000)
        found = operator.projects()
        assert "database" in found["mails"]["problem"]
        assert found["old news"]["problem"] == ""


@pytest.mark.parametrize("name", ["a/b", "<b>", 'a"b', ".hidden", "-x", "a" * 101, "a\nb", "a;b"])
def test_names_that_would_not_be_the_same_in_an_address_are_refused(name: str) -> None:
    with pytest.raises(UserError, match="Rename"):
        check_folder_name(name)


@pytest.mark.parametrize("title", ["Öffentliche Briefe", "Briefe, 2. Teil", "письма/новые", "a" * 300])
def test_a_title_becomes_a_name_that_can_be_served(title: str) -> None:
    check_folder_name(folder_name(title))


def test_a_project_is_duplicated_exported_and_imported(folder: Path, db: str | None) -> None:
    if db is not None:
        shutil.rmtree(folder)
        folder.mkdir()
    with visited(folder, db=db) as operator:
        if db is not None:
            assert operator.send("POST", "/api/projects", {"name": "mails"}).status_code == 200
        for labels, title in ((True, "with labels"), (False, "without")):
            given = {"name": "mails", "title": title, "labels": labels}
            assert operator.send("POST", "/api/projects/duplicate", given).json()["title"] == title
            assert operator.send("POST", "/api/projects/duplicate", given).status_code == 409
        whole = operator.get("/api/projects/export/mails.zip")
        assert whole.headers["content-type"] == "application/zip"
        path, csrf = "/api/projects/archives", {"X-CSRF-Token": operator.csrf_token}
        sent = operator.client.post(path, files={"file": ("m.zip", whole.content)}, headers=csrf).json()
        assert (sent["title"], sent["model_bytes"]) == ("mails" if db else "made up", 0)
        given = {"upload": sent["upload"], "title": "with labels", "model": True}
        answer = operator.send("POST", "/api/projects/import", given)
        assert answer.status_code == 409  # the file is kept for another try
        for title in ("moved", ""):
            answer = operator.send("POST", "/api/projects/import", {**given, "title": title})
            assert answer.status_code == (404 if not title else 200), answer.text
        found = operator.projects()
        assert {*found} >= {"mails", "moved", "with-labels", "without"}
        assert {one["texts"] for one in found.values()} == {0 if db else 20}
        answer = operator.client.post(path, files={"file": ("m.zip", b"PK")}, headers=csrf)
        assert (answer.status_code, "not the export" in answer.json()["error"]) == (400, True)
        assert operator.get("/api/projects/export/none.zip").status_code == 404
        assert operator.get("/open/mails").status_code == 303
        logged = operator.get("/p/mails/api/audit").json()["items"]
        assert "project.zip" in [entry["details"].get("file") for entry in logged]
        operator.send("PATCH", "/api/projects", {"name": "without", "archived": True})
        operator.until(lambda found: bool(found["without"]["archived"]))
        assert operator.get("/api/projects/export/without.zip").status_code == 409
        assert {path.name for path in folder.iterdir()} == {*operator.projects()}
