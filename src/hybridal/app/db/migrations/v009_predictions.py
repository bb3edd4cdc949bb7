"""Predictions are found by class, probability and doubt; all texts are scored in the background, without a job.

Revision ID: 009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "009"
down_revision = "008"


def upgrade() -> None:
    """What a job had done is done again: its parts were of a model that may not be the newest."""
    op.drop_index("guesses_by_entropy", "guesses")
    op.create_index("guesses_by_entropy", "guesses", ["entropy", "text_row"])
    op.create_index("guesses_by_probability", "guesses", ["probability", "text_row"])
    op.create_index("guesses_of_a_class", "guesses", ["class_number", "probability", "text_row"])
    op.drop_table("scoring")
    scoring = op.create_table(
        "scoring",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("first", sa.String, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("seconds_left", sa.Float(53), nullable=True),
        sa.Column("error", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("number", name="scoring_key"),
    )
    none = {"number": 1, "state": "running", "first": "", "round": 0, "done": 0, "total": 0, "error": ""}
    op.bulk_insert(scoring, [none])
