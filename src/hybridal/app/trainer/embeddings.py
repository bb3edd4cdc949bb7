"""Features of the pretrained encoder, which never change: computed once per text and stored in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import select

from hybridal.app.db.schema import Text
from hybridal.app.project import Project
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.vectors import StoredVectors, stamp_of
from hybridal.core.outputs import Floats


def read_texts(project: Project, chapter: Chapter, texts: Sequence[Any]) -> Floats:
    """Return the features of texts (row, id, body, digest), and store those that were not computed before."""
    known = _known(project, chapter)
    new = [text for text in texts if known is None or not _is_there(known, text)]
    if new or known is None:
        found = chapter.known_features([text.id for text in new])
        if missing := {text.id: text.body for text in new if text.id not in found}:
            found |= zip(missing, chapter.model.embed([*missing.values()]), strict=True)
        read = np.stack([found[text.id] for text in new])
        project.embeddings.begin(chapter.feature_settings, read.shape[1])
        project.embeddings.write([text.row for text in new], read, [stamp_of(text.digest) for text in new])
        known = project.embeddings.read()
    assert known is not None
    return known.values[[text.row for text in texts]].astype(np.float32)


def unread(project: Project, chapter: Chapter) -> list[int]:
    """Return the rows of the texts whose features are not stored."""
    known = _known(project, chapter)
    with project.reads() as session:
        there = select(Text.row, Text.digest).where(Text.deleted.is_(None))
        texts = session.execute(there.order_by(Text.row)).all()
    return [text.row for text in texts if known is None or not _is_there(known, text)]


def _known(project: Project, chapter: Chapter) -> StoredVectors | None:
    """The stored features, if they were computed with the settings of this chapter."""
    known = project.embeddings.read()
    return known if known is not None and chapter.feature_settings.items() <= known.about.items() else None


def _is_there(known: StoredVectors, text: Any) -> bool:
    return text.row < len(known.stamps) and bool(known.stamps[text.row] == stamp_of(text.digest))
