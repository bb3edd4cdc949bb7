"""Fifty people label at once while the model trains: `python -m bench.app_load` writes bench/results/app.json.

A real server in a process of its own, with its trainer. The people are connections of this process, kept open as a
browser's are, with pauses to read; they do as little as they can, since they share the cores with the server. A request
is timed from its sending to the last byte of its answer. Afterwards the database is compared with what was
acknowledged: nothing lost, nothing twice.

With `--copies 4` every second text has four look-alikes, which get its label too; with `--alone` they are asked one by
one, for a comparison on the same texts. With `--explain 0.1` people see predictions, and the reasons for one in ten.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

from hybridal.app.db.schema import Annotation, Text
from hybridal.app.group_texts import group_texts
from hybridal.app.labelling.text_source import read_source
from hybridal.app.people import add_person, sign_in
from hybridal.app.project import Project
from hybridal.app.web.auth import cookie_name
from hybridal.runs.record import RunFolder
from hybridal.testing.small import toy_file

TEXTS_A_VISIT = 5
SENT_TWICE = 0.02
EXPLANATION_RETRY = 0.7  # seconds, as on the page Label


class Browser:
    """One connection that is kept open."""

    def __init__(self, port: int, cookie: str) -> None:
        self.port, self.headers = port, f"Host: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n"

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def send(self, method: str, path: str, body: Any = None) -> tuple[float, Any]:
        """How many seconds the answer took, and what it says."""
        content = b"" if body is None else json.dumps(body).encode()
        about = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n" if content else ""
        start = time.perf_counter()
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{self.headers}{about}\r\n".encode() + content)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        answer = await self.reader.readexactly(length)
        took = time.perf_counter() - start
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"{method} {path}: {head[9:12].decode()} {answer.decode()}")
        return took, json.loads(answer)


class Person:
    """An annotator who sometimes sends an annotation twice, as a page does after a lost response."""

    def __init__(self, browser: Browser, labels: int, pause: float, explained: float, seed: int) -> None:
        self.browser, self.labels, self.pause, self.random = browser, labels, pause, random.Random(seed)
        self.explained = explained
        self.given: set[str] = set()
        self.acknowledged: dict[str, str] = {}
        self.copies = 0
        self.seconds: dict[str, list[float]] = {"label": [], "copied label": [], "next": [], "explanation": []}

    async def work(self) -> None:
        await self.browser.open()
        _, about = await self.browser.send("GET", "/api/project")
        self.browser.headers += f"X-CSRF-Token: {about['csrf_token']}\r\n"
        names = [one["name"] for one in about["classes"]]
        await asyncio.sleep(self.random.uniform(0, self.pause))
        while len(self.acknowledged) < self.labels:
            items = (await self._timed("next", "GET", f"/api/next?n={TEXTS_A_VISIT}"))["items"]
            if not items:
                raise RuntimeError("no text was left to label")
            self.given.update(item["id"] for item in items)
            for item in items[: self.labels - len(self.acknowledged)]:
                pause = self.random.uniform(0.5, 1.5) * self.pause
                if self.random.random() < self.explained:
                    await self._explain(item["id"], pause)
                else:
                    await asyncio.sleep(pause)
                answer = {"key": uuid.uuid4().hex, "text": item["id"], "action": "label"}
                answer["class"] = self.random.choice(names)
                if item["look_alikes"]:
                    answer["look_alikes"] = {"without": []}
                kind = "copied label" if item["look_alikes"] else "label"
                for _ in range(1 + (self.random.random() < SENT_TWICE)):
                    reply = await self._timed(kind, "POST", "/api/annotations", answer)
                self.acknowledged[answer["key"]] = item["id"]
                self.copies += reply["copies"]

    async def _explain(self, text: str, pause: float) -> None:
        """Ask why a text is predicted as it is, until the trainer has answered or the person goes on."""
        end = time.perf_counter() + pause
        while (await self._timed("explanation", "POST", "/api/explanations", {"text": text}))["state"] == "waiting":
            if time.perf_counter() + EXPLANATION_RETRY > end:
                break
            await asyncio.sleep(EXPLANATION_RETRY)
        await asyncio.sleep(max(0, end - time.perf_counter()))

    async def _timed(self, name: str, method: str, path: str, body: Any = None) -> Any:
        took, answer = await self.browser.send(method, path, body)
        self.seconds[name].append(took)
        return answer


@contextmanager
def serving(folder: Path, db: str | None) -> Iterator[tuple[int, Path]]:
    """The app, as a person starts it; the port that it listens on, and where Linux counts its processor time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "hybridal", "label", str(folder), "--port", str(port), "--no-browser"]
    with subprocess.Popen([*command, *(("--db", db) if db else ())], stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(600):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield port, Path(f"/proc/{server.pid}/stat")
        finally:
            server.terminate()


def processor_seconds(stat: Path) -> float:
    """The processor time of a process so far, without its trainer."""
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def crowd(port: int, cookies: list[str], labels: int, pause: float, explained: float) -> list[Person]:
    people = [Person(Browser(port, cookie), labels, pause, explained, seed) for seed, cookie in enumerate(cookies)]
    await asyncio.gather(*(person.work() for person in people))
    return people


def check(project: Project, people: list[Person]) -> None:
    """Every acknowledged answer and copy is there once, and no text was given to two."""
    acknowledged = {key: text for person in people for key, text in person.acknowledged.items()}
    with project.reads() as session:
        own = select(Annotation.key, Text.id).join(Text).where(Annotation.copy_of.is_(None))
        stored = dict(session.execute(own).all())
        copied = session.scalars(select(Text.id).join(Annotation).where(Annotation.copy_of.is_not(None))).all()
    assert stored == acknowledged, f"{len(stored)} answers are stored and {len(acknowledged)} were acknowledged"
    twice = [text for text, times in Counter(text for person in people for text in person.given).items() if times > 1]
    assert not twice, f"{len(twice)} texts were given to two people"
    assert len({*stored.values(), *copied}) == len(stored) + len(copied), "a text was answered twice"
    assert len(copied) == sum(person.copies for person in people), "copies are missing"


def with_copies(texts: Path, copies: int) -> None:
    """Add look-alikes of every second text to a file."""
    with texts.open(newline="") as file:
        head, *rows = csv.reader(file)
    # Longer than its number, which is the difference; the rows in another order, so that look-alikes are far apart.
    rows = [[f"{body} {body} {n}", kind] for at, (body, kind) in enumerate(rows) for n in range(1 + copies * (at % 2))]
    random.Random(0).shuffle(rows)
    with texts.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--labels", type=int, default=200, help="of each")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two answers of a person")
    parser.add_argument("--db", help="a database other than SQLite, empty")
    parser.add_argument("--backbone", default="tiny")
    parser.add_argument("--copies", type=int, default=0, help="look-alikes of every second text")
    parser.add_argument("--alone", action="store_true", help="ask look-alikes one by one")
    parser.add_argument("--explain", type=float, default=0.0, help="share of the texts that are explained")
    parser.add_argument("--out", default="bench/results/app.json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        texts = toy_file(Path(folder), rows=round(1.3 * asked.people * asked.labels))
        if asked.copies:
            with_copies(texts, asked.copies)
        project = Project.create(
            read_source(str(texts), text="body", classes=("sport", "food")),
            Path(folder) / "toy.hybridal",
            db=asked.db,
            backbone=asked.backbone,
            budget=asked.people * asked.labels,
        )
        project.decide({"look_alikes": not asked.alone, "show_predictions": asked.explain > 0})
        group_texts(project)
        with project.sessions.begin() as session:
            everybody = [add_person(session, f"person {n}", "annotator") for n in range(asked.people)]
            cookies = [f"{cookie_name(project)}={sign_in(session, person)}" for person in everybody]
        busy = os.getloadavg()[0]
        start = time.perf_counter()
        with serving(project.folder, asked.db) as (port, stat):
            people = asyncio.run(crowd(port, cookies, asked.labels, asked.pause, asked.explain))
            spent = processor_seconds(stat)
        took = time.perf_counter() - start
        check(project, people)
        rounds = sum(len(RunFolder(path.parent).history()) for path in project.runs.glob("*/rounds.jsonl"))
        project.close()
    name = (asked.db or "sqlite").partition(":")[0].partition("+")[0]
    name += f", {asked.copies} look-alikes {'alone' if asked.alone else 'at once'}" if asked.copies else ""
    figures: dict[str, Any] = {
        "people": asked.people,
        "labels": asked.people * asked.labels,
        "pause_s": asked.pause,
        "seconds": round(took, 1),
        "labels_per_s": round(asked.people * asked.labels / took, 1),
        "rounds_trained_meanwhile": rounds,
        "copies": sum(person.copies for person in people),
        "server_processor_s": round(spent, 1),
        "backbone": asked.backbone,
        "cores": os.cpu_count(),
        "load_before": round(busy, 1),
    }
    for what in people[0].seconds:
        times = 1000 * np.array([seconds for person in people for seconds in person.seconds[what]])
        if not times.size:
            continue
        figures[f"{what}_ms"] = {"requests": times.size} | {
            f"p{q}": round(float(np.percentile(times, q)), 1) for q in (50, 95, 99, 100)
        }
    path = Path(asked.out)
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known | {name: figures}, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({name: figures}, indent=2))


if __name__ == "__main__":
    main()
