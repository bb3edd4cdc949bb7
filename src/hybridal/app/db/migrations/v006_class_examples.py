"""Texts that an owner writes down as examples of a class, one a line.

Revision ID: 006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "006"
down_revision = "005"


def upgrade() -> None:
    """Classes that are there have none."""
    op.add_column("classes", sa.Column("examples", sa.String, server_default=sa.text("''"), nullable=False))
