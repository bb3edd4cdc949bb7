"""The other columns of the file that a text came from, and the class that the file suggests for it.

Revision ID: 005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "005"
down_revision = "004"


def upgrade() -> None:
    """Texts that are there have neither."""
    op.add_column("texts", sa.Column("context", sa.JSON, nullable=True))
    op.add_column("texts", sa.Column("suggestion", sa.BigInteger, nullable=True))
