"""The setting `show_guesses` is called `show_predictions`.

Revision ID: 003
"""

from __future__ import annotations

from alembic import op

revision = "003"
down_revision = "002"


def upgrade() -> None:
    """Renames it where it was decided."""
    op.execute("UPDATE settings SET name = 'show_predictions' WHERE name = 'show_guesses'")
