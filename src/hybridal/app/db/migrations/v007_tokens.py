"""Tokens that programs show in place of a password.

Revision ID: 007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "007"
down_revision = "006"


def upgrade() -> None:
    """Nobody has one yet."""
    op.create_table(
        "tokens",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("person_number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("made", sa.Float(53), nullable=False),
        sa.Column("used", sa.Float(53), nullable=True),
        sa.PrimaryKeyConstraint("number", name="tokens_key"),
        sa.UniqueConstraint("digest", name="tokens_unique_digest"),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="tokens_refer_by_person_number"),
    )
    op.create_index("tokens_by_person_number", "tokens", ["person_number"])
