"""What the newest model says of every text, and the model itself, to take away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import func, select

from hybridal.app.db.schema import Class, Text
from hybridal.app.project import Project
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.trainer.runs import clear_scratch
from hybridal.runs.export import export_model
from hybridal.system.files import file_made_whole

PREDICTIONS, MODEL = "predictions.parquet", "model"
CHUNK = 512


def export(project: Project, chapter: Chapter, progress: Callable[[int, int], None]) -> None:
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
