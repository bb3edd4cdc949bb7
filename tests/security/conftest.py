"""Projects and visitors, as for the tests of the app."""

from __future__ import annotations

from ..app.conftest import project, quick_hashes
from ..app.web.conftest import _hashes_quickly, annotator, app, one_app, owner, reviewer, stranger

__all__ = [
    "_hashes_quickly", "annotator", "app", "one_app", "owner", "project", "quick_hashes", "reviewer", "stranger",
]  # fmt: skip
