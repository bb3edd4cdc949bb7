"""Fifty people label at once while the model trains: `python -m bench.app_load` writes bench/results/app.json.

A real server in a process of its own, with its trainer; the people are clients of this process, each with pauses to
read. Afterwards the database is compared with what was acknowledged: nothing lost, nothing twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from sqlalchemy import func, select

from hybridal.app.db.schema import Answer, Text
from hybridal.app.labelling.source import read_source
from hybridal.app.people import accounts, logins
from hybridal.app.project import Project
from hybridal.app.web.cookies import cookie_name
from hybridal.testing import toy_file

TEXTS_A_VISIT = 5


class Person:
    """One annotator at a browser: reads, answers, and sends an answer again until it is acknowledged."""

    def __init__(self, client: httpx.AsyncClient, labels: int, pause: float, seed: int) -> None:
        self.client, self.labels, self.pause, self.random = client, labels, pause, random.Random(seed)
        self.acknowledged: dict[str, str] = {}
        self.seconds: dict[str, list[float]] = {"label": [], "next": []}

    async def work(self) -> None:
        about = (await self.client.get("/api/project")).raise_for_status().json()
        self.client.headers["X-CSRF"] = about["csrf"]
        names = [one["name"] for one in about["classes"]]
        await asyncio.sleep(self.random.uniform(0, self.pause))
        while len(self.acknowledged) < self.labels:
            items = (await self._timed("next", "GET", f"/api/next?n={TEXTS_A_VISIT}"))["items"]
            if not items:
                raise RuntimeError("no text was left to label")
            for item in items[: self.labels - len(self.acknowledged)]:
                await asyncio.sleep(self.random.uniform(0.5, 1.5) * self.pause)
                answer = {"key": uuid.uuid4().hex, "text": item["id"], "action": "label"}
                await self._timed("label", "POST", "/api/answers", {**answer, "class": self.random.choice(names)})
                self.acknowledged[answer["key"]] = item["id"]

    async def _timed(self, name: str, method: str, path: str, body: Any = None) -> Any:
        start = time.perf_counter()
        answer = (await self.client.request(method, path, json=body)).raise_for_status()
        self.seconds[name].append(time.perf_counter() - start)
        return answer.json()


@contextmanager
def serving(folder: Path, db: str | None) -> Iterator[str]:
    """The app, as a person starts it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "hybridal", "label", str(folder), "--port", str(port), "--no-browser"]
    with subprocess.Popen([*command, *(("--db", db) if db else ())], stdout=subprocess.DEVNULL) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(600):
                try:
                    httpx.get(f"{address}/login")
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield address
        finally:
            server.terminate()


async def crowd(address: str, cookies: list[dict[str, str]], labels: int, pause: float) -> list[Person]:
    clients = [httpx.AsyncClient(base_url=address, cookies=cookie, timeout=30) for cookie in cookies]
    people = [Person(client, labels, pause, seed) for seed, client in enumerate(clients)]
    await asyncio.gather(*(person.work() for person in people))
    for client in clients:
        await client.aclose()
    return people


def check(project: Project, people: list[Person]) -> None:
    """Every acknowledged answer is there once, and no text was given to two."""
    acknowledged = {key: text for person in people for key, text in person.acknowledged.items()}
    with project.reads() as session:
        stored = dict(session.execute(select(Answer.key, Text.id).join(Text)).all())
        twice = session.execute(select(Answer.text_row).group_by(Answer.text_row).having(func.count() > 1)).all()
    assert stored == acknowledged, f"{len(stored)} answers are stored and {len(acknowledged)} were acknowledged"
    assert not twice, f"{len(twice)} texts were given to two people"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--labels", type=int, default=200, help="of each")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two answers of a person")
    parser.add_argument("--db", help="a database other than SQLite, empty")
    parser.add_argument("--backbone", default="tiny")
    parser.add_argument("--out", default="bench/results/app.json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        texts = toy_file(Path(folder), rows=round(1.3 * asked.people * asked.labels))
        project = Project.create(
            read_source(str(texts), text="body", classes=("sport", "food")),
            Path(folder) / "toy.hybridal",
            db=asked.db,
            backbone=asked.backbone,
            budget=asked.people * asked.labels,
        )
        with project.sessions.begin() as session:
            everybody = [accounts.add(session, f"person {n}", "annotator") for n in range(asked.people)]
            cookies = [{cookie_name(project): logins.sign_in(session, person)} for person in everybody]
        start = time.perf_counter()
        with serving(project.folder, asked.db) as address:
            people = asyncio.run(crowd(address, cookies, asked.labels, asked.pause))
        took = time.perf_counter() - start
        check(project, people)
        rounds = sum(1 for path in project.runs.glob("*/rounds.jsonl") for _ in path.open(encoding="utf-8"))
        project.close()
    name = (asked.db or "sqlite").partition(":")[0].partition("+")[0]
    figures: dict[str, Any] = {
        "people": asked.people,
        "labels": asked.people * asked.labels,
        "pause_s": asked.pause,
        "seconds": round(took, 1),
        "labels_per_s": round(asked.people * asked.labels / took, 1),
        "rounds_trained_meanwhile": rounds,
        "backbone": asked.backbone,
        "cores": os.cpu_count(),
    }
    for what in ("label", "next"):
        times = 1000 * np.array([seconds for person in people for seconds in person.seconds[what]])
        figures[f"{what}_ms"] = {f"p{q}": round(float(np.percentile(times, q)), 1) for q in (50, 95, 99, 100)}
    path = Path(asked.out)
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known | {name: figures}, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({name: figures}, indent=2))


if __name__ == "__main__":
    main()
