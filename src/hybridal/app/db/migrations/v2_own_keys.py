"""The keys that people chose for functions of the page Label.

Revision ID: 2
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Add a column to the people."""
    op.add_column("people", sa.Column("own_keys", sa.JSON(), nullable=True))
