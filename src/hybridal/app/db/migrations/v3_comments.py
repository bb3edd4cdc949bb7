"""Comments on a text that are addressed to a person, and the answers to them.

Revision ID: 3
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"

COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NUMBER = sa.Float(precision=53)


def upgrade() -> None:
    """Create the tables of comments."""
    op.create_table(
        "comment_threads",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("to_person", COUNTER, nullable=True),
        sa.Column("newest", COUNTER, nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="comment_threads_refer_by_person_number"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="comment_threads_refer_by_text_row"),
        sa.ForeignKeyConstraint(["to_person"], ["people.number"], name="comment_threads_refer_by_to_person"),
        sa.PrimaryKeyConstraint("number", name="comment_threads_key"),
    )
    for column in ("text_row", "person_number", "to_person", "newest"):
        op.create_index(f"comment_threads_by_{column}", "comment_threads", [column])
    op.create_table(
        "comments",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("thread_number", COUNTER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="comments_refer_by_person_number"),
        sa.ForeignKeyConstraint(["thread_number"], ["comment_threads.number"], name="comments_refer_by_thread_number"),
        sa.PrimaryKeyConstraint("number", name="comments_key"),
        sa.UniqueConstraint("key", name="comments_unique_key"),
    )
    op.create_index("comments_by_thread_number", "comments", ["thread_number"])
    op.create_table(
        "comment_readers",
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("thread_number", COUNTER, nullable=False),
        sa.Column("read", COUNTER, nullable=False),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="comment_readers_refer_by_person_number"),
        sa.ForeignKeyConstraint(
            ["thread_number"], ["comment_threads.number"], name="comment_readers_refer_by_thread_number"
        ),
        sa.PrimaryKeyConstraint("person_number", "thread_number", name="comment_readers_key"),
    )
