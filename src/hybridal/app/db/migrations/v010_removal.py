"""Texts that were deleted, and classes that are archived or deleted.

Revision ID: 010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "010"
down_revision = "009"


def upgrade() -> None:
    """Nothing is yet."""
    op.add_column("texts", sa.Column("deleted", sa.Float(53), nullable=True))
    some = sa.text("deleted IS NOT NULL")
    op.create_index("texts_deleted", "texts", ["deleted"], sqlite_where=some, postgresql_where=some)
    op.add_column("classes", sa.Column("archived", sa.String, server_default=sa.text("''"), nullable=False))
