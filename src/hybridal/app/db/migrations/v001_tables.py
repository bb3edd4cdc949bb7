"""The first tables.

Revision ID: 001
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "001"
down_revision = None

COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NUMBER = sa.Float(precision=53)


def upgrade() -> None:
    """Makes all tables."""
    op.create_table(
        "classes",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("became", COUNTER, nullable=True),
        sa.ForeignKeyConstraint(["became"], ["classes.number"], name="classes_refer_by_became"),
        sa.PrimaryKeyConstraint("number", name="classes_key"),
        sa.UniqueConstraint("name", name="classes_unique_name"),
    )
    op.create_table(
        "people",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("password", sa.String(), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("joined", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("number", name="people_key"),
        sa.UniqueConstraint("name", name="people_unique_name"),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="settings_key"),
    )
    op.create_table(
        "tally",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("texts", sa.Integer(), nullable=False),
        sa.Column("labelled", sa.Integer(), nullable=False),
        sa.Column("validation", sa.Integer(), nullable=False),
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("flagged", sa.Integer(), nullable=False),
        sa.Column("disagreements", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="tally_key"),
    )
    op.create_table(
        "texts",
        sa.Column("row", COUNTER, nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("place", NUMBER, nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("answered", sa.Integer(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("added", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("row", name="texts_key"),
        sa.UniqueConstraint("id", name="texts_unique_id"),
    )
    op.create_index("texts_begun", "texts", ["place"], **where("open{true} AND answered > 0"))
    op.create_index("texts_in_order", "texts", ["split", "place"])
    op.create_index("texts_open", "texts", ["split", "place"], **where("open{true}"))
    op.create_table(
        "trainer",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("update", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("seconds_left", NUMBER, nullable=True),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("asked", sa.String(), nullable=False),
        sa.Column("beat", NUMBER, nullable=False),
        sa.Column("seen", COUNTER, nullable=False),
        sa.PrimaryKeyConstraint("number", name="trainer_key"),
    )
    op.create_table(
        "answers",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("class_number", COUNTER, nullable=True),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
        sa.Column("decides", sa.Boolean(), nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="answers_refer_by_class_number"),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="answers_refer_by_person_number"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="answers_refer_by_text_row"),
        sa.PrimaryKeyConstraint("number", name="answers_key"),
        sa.UniqueConstraint("key", name="answers_unique_key"),
    )
    op.create_index("answers_by_person_number", "answers", ["person_number"])
    op.create_index("answers_by_text_row", "answers", ["text_row"])
    op.create_table(
        "guesses",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("class_number", COUNTER, nullable=False),
        sa.Column("probability", NUMBER, nullable=False),
        sa.Column("entropy", NUMBER, nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="guesses_refer_by_class_number"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="guesses_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", name="guesses_key"),
    )
    op.create_index("guesses_by_entropy", "guesses", ["entropy"])
    op.create_table(
        "invitations",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("until", NUMBER, nullable=False),
        sa.Column("used_by", COUNTER, nullable=True),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["used_by"], ["people.number"], name="invitations_refer_by_used_by"),
        sa.PrimaryKeyConstraint("number", name="invitations_key"),
        sa.UniqueConstraint("token", name="invitations_unique_token"),
    )
    op.create_table(
        "leases",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("until", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="leases_refer_by_person_number"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="leases_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", "person_number", name="leases_key"),
    )
    op.create_index("leases_by_until", "leases", ["until"])
    op.create_table(
        "llm_answers",
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("class_name", sa.String(), nullable=True),
        sa.Column("confidence", NUMBER, nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="llm_answers_refer_by_text_row"),
        sa.PrimaryKeyConstraint("question", name="llm_answers_key"),
    )
    op.create_index("llm_answers_by_text_row", "llm_answers", ["text_row"])
    op.create_table(
        "logins",
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("csrf_token", sa.String(length=64), nullable=False),
        sa.Column("until", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="logins_refer_by_person_number"),
        sa.PrimaryKeyConstraint("token", name="logins_key"),
    )
    op.create_index("logins_by_person_number", "logins", ["person_number"])
    op.create_table(
        "queue",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="queue_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", name="queue_key"),
    )
    op.create_index("queue_by_rank", "queue", ["rank"])
    op.create_table(
        "standings",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("answer_number", COUNTER, nullable=False),
        sa.Column("class_number", COUNTER, nullable=True),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("decides", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["answer_number"], ["answers.number"], name="standings_refer_by_answer_number"),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="standings_refer_by_class_number"),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="standings_refer_by_person_number"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="standings_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", "person_number", name="standings_key"),
    )
    op.create_index("standings_flagged", "standings", ["text_row"], **where("flagged{true}"))
    op.create_index("standings_of_a_person", "standings", ["person_number", "answer_number"])
    op.create_index("standings_skipped", "standings", ["text_row"], **where("class_number IS NULL"))
    op.create_table(
        "verdicts",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("class_number", COUNTER, nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("changed", COUNTER, nullable=False),
        sa.ForeignKeyConstraint(["changed"], ["answers.number"], name="verdicts_refer_by_changed"),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="verdicts_refer_by_class_number"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="verdicts_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", name="verdicts_key"),
    )
    op.create_index("verdicts_by_changed", "verdicts", ["changed"])
    op.create_index("verdicts_by_class_number", "verdicts", ["class_number"])


def where(rows: str) -> dict[str, Any]:
    """An index of some rows only, in the words of each database."""
    return {
        "sqlite_where": sa.text(rows.format(true=" = 1")),
        "postgresql_where": sa.text(rows.format(true="")),
    }
