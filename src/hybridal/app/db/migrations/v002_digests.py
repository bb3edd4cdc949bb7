"""A digest of each text's words, so that a text is found by them.

Revision ID: 002
"""

from __future__ import annotations

from hashlib import sha256

import sqlalchemy as sa
from alembic import op

revision = "002"
down_revision = "001"

AT_ONCE = 1000


def upgrade() -> None:
    """Adds the column, fills it in, and makes its index."""
    op.add_column("texts", sa.Column("digest", sa.String(32), server_default=sa.text("''"), nullable=False))
    texts = sa.table("texts", sa.column("row"), sa.column("body"), sa.column("digest"))
    fill_in = texts.update().where(texts.c.row == sa.bindparam("of")).values(digest=sa.bindparam("new"))
    connection, last = op.get_bind(), -1
    while True:
        after = sa.select(texts.c.row, texts.c.body).where(texts.c.row > last).order_by(texts.c.row).limit(AT_ONCE)
        found = connection.execute(after).all()
        if not found:
            break
        new = [{"of": row, "new": sha256(body.encode()).hexdigest()[:32]} for row, body in found]
        connection.execute(fill_in, new)
        last = found[-1].row
    op.create_index("texts_by_digest", "texts", ["digest"])
