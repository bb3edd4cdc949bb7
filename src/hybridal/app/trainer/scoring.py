"""The job that scores all texts for the export, a part at a time, so that learning goes first and no part is lost."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Scoring, Text
from hybridal.app.project import MODEL_FOLDER, PREDICTIONS_FILE, Project, clear_scratch
from hybridal.app.trainer.chapter import Chapter, write_model
from hybridal.app.trainer.publish import error_sentence, seconds_left
from hybridal.learners.text_classifier import TextClassifier
from hybridal.system.files import file_made_whole, remove_folder

SCORING_FOLDER = "scoring"  # in `exports`: a folder a job
PART = 256  # texts: some seconds on two cores, after which labels that came meanwhile are learnt


def serve_job(project: Project, job: ScoringJob | None, chapter: Chapter | None) -> ScoringJob | None:
    """Does one part of the job that people want, if any; None when there is nothing to go on with."""
    with project.reads() as session:
        wanted = session.get_one(Scoring, 1)
    left = [] if job is not None and job.number == wanted.job else _folders(project, but=wanted)
    for folder in left:  # of a job that was cancelled, or done
        shutil.rmtree(folder, ignore_errors=True)
    if wanted.state != "running" or chapter is None:
        return None
    try:
        if job is None or job.number != wanted.job:
            job = ScoringJob(project, wanted.job, chapter)
        return job if job.score_part() else None
    except Exception as error:
        # What is done is kept; who resumes tries the rest again.
        _say(project, wanted.job, state="paused", error=error_sentence(error, project.folder))
        raise


def _folders(project: Project, but: Scoring) -> list[Path]:
    kept = str(but.job) if but.state != "none" else ""
    return [path for path in (project.exports / SCORING_FOLDER).glob("*") if path.name != kept]


class ScoringJob:
    """In its folder lie the model of its beginning, which scores to its end, and a file for each part that is done.

    A part is named by the row of its last text, so that a trainer that was killed knows where to go on.
    """

    def __init__(self, project: Project, number: int, chapter: Chapter) -> None:
        self.project, self.number = project, number
        self.folder = project.exports / SCORING_FOLDER / str(number)
        model = self.folder / MODEL_FOLDER
        if not model.is_dir():
            with project.reads() as session:
                names = dict(session.execute(select(Class.number, Class.name)).all())
            write_model(chapter, [names[one] for one in chapter.frame.classes], model)
            _say(project, number, round=chapter.round)
        clear_scratch(self.folder)
        self.model = TextClassifier.load(model, device=project.setting("device"))
        self.done = sum(_rows(path) for path in self._parts())
        self._here, self._seconds = 0, 0.0  # texts that this process scored, and how long that took

    def score_part(self) -> bool:
        """Scores some texts more; False when it was the last part, and all is where people take it away."""
        begun, parts = time.monotonic(), self._parts()
        with self.project.reads() as session:
            page = _page(session, int(parts[-1].stem) if parts else -1)
            total = session.scalar(select(func.count()).select_from(Text)) or 0
        if not page:
            self._finish(parts)
            return False
        self._write(page)
        self.done, self._here = self.done + len(page), self._here + len(page)
        self._seconds += time.monotonic() - begun
        rest = max(0, total - self.done)
        left = seconds_left(self._seconds, self._here, self._here + rest)
        _say(self.project, self.number, done=self.done, total=max(self.done, total), seconds_left=left, error="")
        return True

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("*.parquet"), key=lambda path: int(path.stem))

    def _write(self, page: Sequence[Any]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        probabilities = self.model.predict_proba([row.body for row in page])
        names = [str(name) for name in self.model.classes]
        best = [names[index] for index in probabilities.argmax(axis=1)]
        columns = [("id", pa.string()), ("class", pa.string()), ("probability", pa.float64())]
        schema = pa.schema([*columns, *((f"p({name})", pa.float64()) for name in names)])
        arrays = [[row.id for row in page], best, probabilities.max(axis=1), *probabilities.T]
        with file_made_whole(self.folder / f"{page[-1].row}.parquet") as file:
            parquet.write_table(pa.table(arrays, schema=schema), file, compression="zstd")

    def _finish(self, parts: Sequence[Path]) -> None:
        """Each of the two is there whole, or as it was before; killed in between, the same is done again."""
        from pyarrow import parquet

        exports = self.project.exports
        for name in (PREDICTIONS_FILE, MODEL_FOLDER):
            clear_scratch(exports, name)
        with file_made_whole(exports / PREDICTIONS_FILE) as file:
            schema = parquet.read_schema(parts[0])
            with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
                for part in parts:
                    writer.write_table(parquet.read_table(part))
        remove_folder(exports / MODEL_FOLDER)
        self.model.save(exports / MODEL_FOLDER)
        _say(self.project, self.number, state="none", seconds_left=None)
        shutil.rmtree(self.folder, ignore_errors=True)


def _page(session: Session, last: int) -> Sequence[Any]:
    after = select(Text.row, Text.id, Text.body).where(Text.row > last).order_by(Text.row).limit(PART)
    return session.execute(after).all()


def _rows(path: Path) -> int:
    from pyarrow import parquet

    return int(parquet.read_metadata(path).num_rows)


def _say(project: Project, job: int, **values: Any) -> None:
    """Unless people want something else by now: a job that they cancelled says no more."""
    with project.sessions.begin() as session:
        session.execute(update(Scoring).where(Scoring.job == job, Scoring.state != "none").values(values))
