"""Webhooks, and what was sent to them.

Revision ID: 008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "008"
down_revision = "007"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """There is none yet."""
    op.create_table(
        "webhooks",
        sa.Column("number", _NUMBER, nullable=False),
        sa.Column("url", sa.String, nullable=False),
        sa.Column("secret", sa.String, nullable=False),
        sa.Column("events", sa.JSON, nullable=False),
        sa.Column("made", sa.Float(53), nullable=False),
        sa.Column("told_annotation", _NUMBER, nullable=False),
        sa.Column("told_round", sa.Integer, nullable=False),
        sa.Column("told_goal", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("number", name="webhooks_key"),
    )
    op.create_table(
        "deliveries",
        sa.Column("number", _NUMBER, nullable=False),
        sa.Column("webhook_number", _NUMBER, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("body", sa.String, nullable=False),
        sa.Column("made", sa.Float(53), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("sent", sa.Float(53), nullable=True),
        sa.Column("due", sa.Float(53), nullable=True),
        sa.Column("status", sa.Integer, nullable=True),
        sa.Column("problem", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("number", name="deliveries_key"),
        sa.ForeignKeyConstraint(["webhook_number"], ["webhooks.number"], name="deliveries_refer_by_webhook_number"),
    )
    op.create_index("deliveries_by_webhook_number", "deliveries", ["webhook_number"])
