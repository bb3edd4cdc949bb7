"""Projects and visitors, as for the tests of the app."""

from __future__ import annotations

from ..app.conftest import empty_postgres, project, quick_hashes, server
from ..app.web.conftest import _hashes_quickly, annotator, app, one_app, owner, reviewer, stranger

__all__ = [
    "_hashes_quickly", "annotator", "app", "empty_postgres", "one_app", "owner", "project", "quick_hashes", "reviewer",
    "server", "stranger",
]  # fmt: skip
