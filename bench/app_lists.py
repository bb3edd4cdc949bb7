"""Lists of 200,000 texts: `python -m bench.app_lists` writes the response times to bench/results/app.json.

The texts are made up of common words, two in a hundred are labelled, and a model of 20 classes has scored them all.
With `--several` a text may have several classes, and is given those of a probability of at least 0.1. With
`--copies 4` the lists are measured again with all texts in groups of five look-alikes. A request is
timed in this process, from its routing to its response, without the network. Each list is requested several times: the
fastest response is that of an idle machine. The processor time, here and in a PostgreSQL on the same machine, is
comparable on a busy machine too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from sqlalchemy import insert, select, text, update
from sqlalchemy.orm import Session

from hybridal.acquisition.entropy import entropies
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Class, Prediction, Text
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.labelling.text_source import Source
from hybridal.app.people import project_owner, sign_in
from hybridal.app.project import Project
from hybridal.app.vectors import stamp_of
from hybridal.app.web.auth import LoginLink, cookie_name
from hybridal.app.web.web_app import create_app

CLASSES = [f"class {number}" for number in range(20)]
LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "all texts": ("/api/texts", {}),
    "search: a word that most have": ("/api/texts", {"search": "harbour"}),
    "search: two words": ("/api/texts", {"search": "harbour 777"}),
    "search: a letter that all have": ("/api/texts", {"search": "e"}),
    "search: two letters that most have": ("/api/texts", {"search": "tt"}),
    "search: two letters that one in 10,000 has": ("/api/texts", {"search": "qx"}),
    "search: rare letters and a word that most have": ("/api/texts", {"search": "qx harbour"}),
    "search: a word that most have, unlabelled": ("/api/texts", {"search": "harbour", "state": "unlabelled"}),
    "search: a word that most have, labelled": ("/api/texts", {"search": "harbour", "state": "labelled"}),
    "by probability": ("/api/texts", {"order": "sure"}),
    "by doubt": ("/api/texts", {"order": "doubt"}),
    "of a class": ("/api/texts", {"predicted": "class 3"}),
    "of a class, unlabelled": ("/api/texts", {"predicted": "class 3", "state": "unlabelled"}),
    "by probability, unlabelled": ("/api/texts", {"order": "sure", "state": "unlabelled"}),
    "by doubt, unlabelled": ("/api/texts", {"order": "doubt", "state": "unlabelled"}),
    "by probability, with two words": ("/api/texts", {"order": "sure", "search": "harbour 777"}),
    "by probability, with a word that most have": ("/api/texts", {"order": "sure", "search": "harbour"}),
    "by probability, with rare letters": ("/api/texts", {"order": "sure", "search": "qx"}),
    "by probability, page 2,000": ("/api/texts", {"order": "sure", "page": 2000}),
    "more like one, of 384 numbers": ("/api/texts", {"like": "t7", "state": "unlabelled"}),
    "next, most likely of a class": ("/api/next", {"likely": "class 3", "n": 8}),
}
TIMES = 15
WHICH: dict[str, Callable[[list[float]], float]] = {"fastest": min, "median": statistics.median, "slowest": max}


# With several classes per text.
OF_SEVERAL: dict[str, tuple[str, dict[str, Any]]] = {
    "by the probability of a class": ("/api/texts", {"predicted": "class 3"}),
    "by the probability of a class, unlabelled": ("/api/texts", {"predicted": "class 3", "state": "unlabelled"}),
    "closest to the threshold of a class": ("/api/texts", {"predicted": "class 3", "order": "doubt"}),
    "that have a class": ("/api/texts", {"class": "class 3"}),
    "that lack a class": ("/api/texts", {"lacks": "class 3"}),
    "next, most likely of a class": LISTS["next, most likely of a class"],
}
THRESHOLD = 0.1


def made(folder: Path, texts: int, db: str | None, several: bool) -> Project:
    random = np.random.default_rng(0)
    words = np.array(["alder", "birch", "cloud", "delta", "ember", "field", "grove", "harbour", "island", "jetty"])
    bodies = [" ".join(row) for row in words[random.integers(0, len(words), (texts, 12))]]
    given = random.random(texts) < 0.02
    rows = [
        (f"t{at}", f"{body} {at}{' qx' * (at % 10_000 == 9)}", _label(at, several) if given[at] else None)
        for at, body in enumerate(bodies)
    ]
    project = Project.create(Source("lists", rows, tuple(CLASSES), multi_label=several), folder, db=db)
    logits = random.normal(0, 2, (texts, len(CLASSES)))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    doubts, best, sure = entropies(shares), shares.argmax(axis=1), shares.max(axis=1)
    with project.sessions.begin() as session:
        found = session.scalars(select(Text.row).order_by(Text.row)).all()
        sets = _sets(session, shares >= THRESHOLD) if several else [None] * texts
        predictions = [
            {"text_row": row, "label_set": sets[at], "class_number": int(best[at]) + 1, "probability": float(sure[at])}
            | {"entropy": float(doubts[at]), "round": 1}
            for at, row in enumerate(found)
        ]
        session.execute(insert(Prediction), predictions)
        digests = session.scalars(select(Text.digest).order_by(Text.row)).all()
    project.probabilities.begin({"classes": [*range(1, len(CLASSES) + 1)]}, len(CLASSES))
    project.probabilities.write(found, shares, [2] * texts)
    project.embeddings.begin({}, 384)
    for start in range(0, texts, 10_000):
        some = slice(start, start + 10_000)
        vectors = random.normal(size=(len(found[some]), 384))
        project.embeddings.write(found[some], vectors, [stamp_of(digest) for digest in digests[some]])
    return project


def _label(at: int, several: bool) -> str | frozenset[str]:
    name = CLASSES[at % len(CLASSES)]
    return frozenset([name, CLASSES[at % 7]]) if several else name


def _sets(session: Session, given: np.typing.NDArray[np.bool_]) -> list[int]:
    """Store the thresholds and the sets of classes; the number of the set of each text."""
    session.execute(update(Class).values(threshold=THRESHOLD))
    sets = [ClassSet.of((np.flatnonzero(row) + 1).tolist()) for row in given]
    numbers = store_sets(session, sets)
    return [numbers[one] for one in sets]


def measured(project: Project, lists: Mapping[str, tuple[str, dict[str, Any]]]) -> dict[str, dict[str, float]]:
    with project.sessions.begin() as session:
        cookie = sign_in(session, project_owner(session))
    client = TestClient(create_app(project, LoginLink()), base_url="http://127.0.0.1")
    client.cookies.set(cookie_name(project), cookie)
    figures = {}
    for name, (path, asked) in lists.items():
        assert client.get(path, params=asked).json()["items"], name
        servers = backends(project)
        times, spent = [], []
        for _ in range(TIMES):
            start, before = time.perf_counter(), processor_ms(servers)
            answer = client.get(path, params=asked)
            spent.append(processor_ms(servers) - before)
            times.append(1000 * (time.perf_counter() - start))
            assert answer.status_code == 200, answer.text
        figures[name] = {f"{which}_ms": round(of(times), 1) for which, of in WHICH.items()}
        figures[name]["processor_ms"] = round(min(spent), 1)
    return figures


def backends(project: Project) -> list[Path]:
    """The files in which Linux counts the processor time of this project's PostgreSQL processes."""
    if project.engine.dialect.name != "postgresql":
        return []
    with project.reads() as session:
        numbers = session.scalars(text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()"))
        paths = [Path(f"/proc/{number}/schedstat") for number in numbers]
    return [path for path in paths if path.is_file()]


def processor_ms(servers: Sequence[Path]) -> float:
    """Processor time so far, in this process and in PostgreSQL."""
    return 1e3 * time.process_time() + sum(int(path.read_text().split()[0]) / 1e6 for path in servers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=200_000)
    parser.add_argument("--several", action="store_true", help="a text may have several classes")
    parser.add_argument("--copies", type=int, default=0, help="look-alikes of each text; measured with and without")
    parser.add_argument("--db", help="a database other than SQLite, empty")
    parser.add_argument("--out", default="bench/results/app.json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = made(Path(folder) / "lists.hybridal", asked.texts, asked.db, asked.several)
        busy = os.getloadavg()[0]
        name = (asked.db or "sqlite").partition(":")[0].partition("+")[0]
        name += ", several classes" if asked.several else ""
        lists = OF_SEVERAL if asked.several else LISTS
        about = {"texts": asked.texts, "load_before": round(busy, 1)}
        alone = f"{name}, the same run without look-alikes" if asked.copies else name
        figures = {alone: {**about, **measured(project, lists)}}
        if asked.copies:
            with project.sessions.begin() as session:
                first = Text.row - (Text.row - 1) % (asked.copies + 1)
                session.execute(update(Text).values(look_alike_of=first))
            figures[f"{name}, {asked.copies} look-alikes of each"] = {**about, **measured(project, lists)}
        project.close()
    path = Path(asked.out)
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    known["lists"] = known.get("lists", {}) | figures
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
