"""What a new model predicts, brought to the people: the queue and its predictions, and files of all predictions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Prediction, QueuedText, Text
from hybridal.app.labelling.texts import chunks
from hybridal.app.project import Project
from hybridal.app.trainer.chapter import Chapter, ScoredText
from hybridal.app.trainer.runs import clear_scratch
from hybridal.app.trainer.snapshot import current_classes
from hybridal.app.trainer.status import clear_request, write_status
from hybridal.runs.export import export_model
from hybridal.system.files import file_made_whole

PART = 100
PAUSE = 0.02  # seconds: in SQLite, whoever waits gets in here


def publish(
    project: Project,
    round: int,
    queue: Sequence[str],
    scored: Iterable[ScoredText],
    seen: int | None = None,
    asked: str = "",
    phase: str = "waiting",
) -> None:
    """Replaces queue and predictions by those of this round's model, which has learnt from all answers up to `seen`."""
    by_id = {one.id: one for one in scored}
    with project.reads() as session:
        rows = rows_of(session, [*queue, *by_id])
        now = current_classes(session)  # classes may have been merged while the model trained
    queued = [{"text_row": rows[id], "rank": rank, "round": round} for rank, id in enumerate(queue) if id in rows]
    predictions = [
        {
            "text_row": rows[id],
            "class_number": now[one.class_number],
            "probability": one.probability,
            "entropy": one.entropy,
            "round": round,
        }
        for id, one in by_id.items()
        if id in rows
    ]
    learnt = {} if seen is None else {"seen": seen}
    for part in chunks(predictions, PART):
        with project.sessions.begin() as session:
            session.execute(
                delete(Prediction).where(Prediction.text_row.in_([prediction["text_row"] for prediction in part]))
            )
            session.execute(insert(Prediction), part)
        time.sleep(PAUSE)
    with project.sessions.begin() as session:
        session.execute(delete(Prediction).where(Prediction.round != round))
        session.execute(delete(QueuedText))
        if queued:
            session.execute(insert(QueuedText), queued)
        write_status(session, phase=phase, round=round, done=0, total=0, seconds_left=None, error="", **learnt)
        clear_request(session, asked)


def published_round(session: Session) -> int:
    """The round whose model filled the queue; 0 where it is empty. What others put before it has a negative rank."""
    return session.scalar(select(func.max(QueuedText.round)).where(QueuedText.rank >= 0)) or 0


def rows_of(session: Session, ids: Sequence[str]) -> Mapping[str, int]:
    """The rows of texts by their ids; the ids that are not there are left out."""
    found: dict[str, int] = {}
    for some in chunks(list(dict.fromkeys(ids))):
        found.update((id, row) for id, row in session.execute(select(Text.id, Text.row).where(Text.id.in_(some))))
    return found


PREDICTIONS, MODEL = "predictions.parquet", "model"
CHUNK = 512


def export_predictions(project: Project, chapter: Chapter, progress: Callable[[int, int], None]) -> None:
    """Writes `predictions.parquet` and the model folder `model`; each is there whole, or as it was before."""
    exports = project.exports
    exports.mkdir(exist_ok=True)
    for name in (PREDICTIONS, MODEL):
        clear_scratch(exports, name)
    with project.reads() as session:
        names = dict(session.execute(select(Class.number, Class.name)).all())
        total = session.scalar(select(func.count()).select_from(Text)) or 0
    classes = [names[number] for number in chapter.frame.classes]
    _write_predictions(chapter, _pages(project), classes, exports / PREDICTIONS, total, progress)
    _write_model(chapter, classes, exports / MODEL)


def _pages(project: Project) -> Iterator[Mapping[str, str]]:
    """All texts by id, a page a transaction."""
    last = -1
    while True:
        after = select(Text.row, Text.id, Text.body).where(Text.row > last).order_by(Text.row).limit(CHUNK)
        with project.reads() as session:
            rows = session.execute(after).all()
        if not rows:
            return
        last = rows[-1].row
        yield {row.id: row.body for row in rows}


def _write_predictions(
    chapter: Chapter,
    pages: Iterator[Mapping[str, str]],
    classes: Sequence[str],
    target: Path,
    total: int,
    progress: Callable[[int, int], None],
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = [("id", pa.string()), ("class", pa.string()), ("probability", pa.float64())]
    schema = pa.schema([*columns, *((f"p({name})", pa.float64()) for name in classes)])
    done = 0
    with file_made_whole(target) as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for page in pages:
            probabilities = chapter.learner.predict_proba(list(page.values()))
            best = [classes[index] for index in probabilities.argmax(axis=1)]
            arrays = [list(page), best, probabilities.max(axis=1), *probabilities.T]
            writer.write_table(pa.table(arrays, schema=schema))
            done += len(page)
            progress(done, max(done, total))


def _write_model(chapter: Chapter, classes: Sequence[str], target: Path) -> None:
    """The model answers in the names that the classes have now, not in those of the chapter's beginning."""
    model, learner = chapter.model, chapter.learner
    # The classifier is written under its own names where it is pooled, and under those of its config otherwise.
    model.classifier.classes = tuple(classes)
    config = model.classifier.module.config
    config.id2label = dict(enumerate(classes))
    config.label2id = {name: index for index, name in enumerate(classes)}
    task = replace(learner.cell.task, classes=tuple(classes))
    export_model(model.classifier, model.encoder, task, learner.settings, learner.history[-1], target)
