"""All tables.

Revision ID: 1
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from hybridal.app.db.search_index import create_search_index

revision = "1"
down_revision = None

COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NUMBER = sa.Float(precision=53)


def upgrade() -> None:
    """Create all tables and the search index."""
    op.create_table(
        "classes",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("examples", sa.String(), nullable=False),
        sa.Column("group", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("keywords", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("merged_into", COUNTER, nullable=True),
        sa.Column("archived", sa.String(), nullable=False),
        sa.Column("threshold", NUMBER, nullable=True),
        sa.ForeignKeyConstraint(["merged_into"], ["classes.number"], name="classes_refer_by_merged_into"),
        sa.PrimaryKeyConstraint("number", name="classes_key"),
        sa.UniqueConstraint("name", name="classes_unique_name"),
    )
    op.create_table(
        "draws",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("made", NUMBER, nullable=False),
        sa.Column("newest", COUNTER, nullable=False),
        sa.Column("upload", sa.Boolean(), nullable=False),
        sa.Column("frame", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="draws_key"),
    )
    op.create_table(
        "recall_samples",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("class_number", COUNTER, nullable=False),
        sa.Column("made", NUMBER, nullable=False),
        sa.Column("left_out", sa.Integer(), nullable=False),
        sa.Column("random_order", sa.JSON(), nullable=False),
        sa.Column("given", sa.JSON(), nullable=False),
        sa.Column("drawn", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="recall_samples_refer_by_class_number"),
        sa.PrimaryKeyConstraint("number", name="recall_samples_key"),
    )
    op.create_table(
        "label_sets",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.Column("classes", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="label_sets_key"),
    )
    op.create_index("label_sets_by_digest", "label_sets", ["digest"])
    op.create_table(
        "label_set_classes",
        sa.Column("set_number", COUNTER, nullable=False),
        sa.Column("class_number", COUNTER, nullable=False),
        sa.Column("present", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="label_set_classes_refer_by_class_number"),
        sa.ForeignKeyConstraint(["set_number"], ["label_sets.number"], name="label_set_classes_refer_by_set_number"),
        sa.PrimaryKeyConstraint("set_number", "class_number", name="label_set_classes_key"),
    )
    op.create_index("label_sets_of_a_class", "label_set_classes", ["class_number", "present", "set_number"])
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
        "audit_log",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=True),
        sa.Column("area", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="audit_log_refer_by_person_number"),
        sa.PrimaryKeyConstraint("number", name="audit_log_key"),
    )
    op.create_index("audit_log_by_area", "audit_log", ["area"])
    op.create_table(
        "codebook_versions",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("made", NUMBER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=True),
        sa.Column("operation", sa.String(), nullable=False),
        sa.Column("class_number", COUNTER, nullable=True),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="codebook_versions_refer_by_class_number"),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="codebook_versions_refer_by_person_number"),
        sa.PrimaryKeyConstraint("number", name="codebook_versions_key"),
    )
    op.create_table(
        "scoring",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("first", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("seconds_left", NUMBER, nullable=True),
        sa.Column("error", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="scoring_key"),
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
        sa.Column("copied", sa.Integer(), nullable=False),
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
        sa.Column("random_order", NUMBER, nullable=False),
        sa.Column("required_votes", sa.Integer(), nullable=False),
        sa.Column("vote_count", sa.Integer(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("added", NUMBER, nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.Column("folded", sa.String(), nullable=False),
        sa.Column("context", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("suggestion", sa.BigInteger(), nullable=True),
        sa.Column("suggested_set", COUNTER, nullable=True),
        sa.Column("deleted", NUMBER, nullable=True),
        sa.Column("draw", COUNTER, nullable=True),
        sa.Column("look_alike_of", COUNTER, nullable=True),
        sa.ForeignKeyConstraint(["draw"], ["draws.number"], name="texts_refer_by_draw"),
        sa.ForeignKeyConstraint(["suggested_set"], ["label_sets.number"], name="texts_refer_by_suggested_set"),
        sa.PrimaryKeyConstraint("row", name="texts_key"),
        sa.UniqueConstraint("id", name="texts_unique_id"),
    )
    op.create_index("texts_alike", "texts", ["look_alike_of", "open", "row"], **where("look_alike_of IS NOT NULL"))
    op.create_index("texts_begun", "texts", ["random_order"], **where("open{true} AND vote_count > 0"))
    op.create_index("texts_by_digest", "texts", ["digest"])
    op.create_index("texts_deleted", "texts", ["deleted"], **where("deleted IS NOT NULL"))
    op.create_index("texts_in_order", "texts", ["split", "random_order"])
    op.create_index("texts_open", "texts", ["split", "random_order"], **where("open{true}"))
    op.create_table(
        "trainer",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("update", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("seconds_left", NUMBER, nullable=True),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("heartbeat", NUMBER, nullable=False),
        sa.Column("learnt_annotation", COUNTER, nullable=False),
        sa.PrimaryKeyConstraint("number", name="trainer_key"),
    )
    op.create_table(
        "webhooks",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("made", NUMBER, nullable=False),
        sa.Column("last_annotation", COUNTER, nullable=False),
        sa.Column("last_round", sa.Integer(), nullable=False),
        sa.Column("last_goal", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="webhooks_key"),
    )
    op.create_table(
        "access_tokens",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("made", NUMBER, nullable=False),
        sa.Column("used", NUMBER, nullable=True),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="access_tokens_refer_by_person_number"),
        sa.PrimaryKeyConstraint("number", name="access_tokens_key"),
        sa.UniqueConstraint("digest", name="access_tokens_unique_digest"),
    )
    op.create_index("access_tokens_by_person_number", "access_tokens", ["person_number"])
    op.create_table(
        "annotations",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("class_number", COUNTER, nullable=True),
        sa.Column("label_set", COUNTER, nullable=True),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
        sa.Column("decides", sa.Boolean(), nullable=False),
        sa.Column("drawn", sa.String(), nullable=False),
        sa.Column("codebook", sa.Integer(), nullable=False),
        sa.Column("copy_of", COUNTER, nullable=True),
        sa.Column("at", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["copy_of"], ["annotations.number"], name="annotations_refer_by_copy_of"),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="annotations_refer_by_class_number"),
        sa.ForeignKeyConstraint(["label_set"], ["label_sets.number"], name="annotations_refer_by_label_set"),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="annotations_refer_by_person_number"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="annotations_refer_by_text_row"),
        sa.PrimaryKeyConstraint("number", name="annotations_key"),
        sa.UniqueConstraint("key", name="annotations_unique_key"),
    )
    op.create_index("annotations_by_person_number", "annotations", ["person_number"])
    op.create_index("annotations_by_text_row", "annotations", ["text_row"])
    op.create_index("annotations_copied", "annotations", ["copy_of"], **where("copy_of IS NOT NULL"))
    op.create_table(
        "deliveries",
        sa.Column("number", COUNTER, nullable=False),
        sa.Column("webhook_number", COUNTER, nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("made", NUMBER, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sent", NUMBER, nullable=True),
        sa.Column("due", NUMBER, nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("problem", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["webhook_number"], ["webhooks.number"], name="deliveries_refer_by_webhook_number"),
        sa.PrimaryKeyConstraint("number", name="deliveries_key"),
    )
    op.create_index("deliveries_by_webhook_number", "deliveries", ["webhook_number"])
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
        "served_texts",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="served_texts_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", name="served_texts_key"),
    )
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
        "login_sessions",
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("csrf_token", sa.String(length=64), nullable=False),
        sa.Column("until", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="login_sessions_refer_by_person_number"),
        sa.PrimaryKeyConstraint("token", name="login_sessions_key"),
    )
    op.create_index("login_sessions_by_person_number", "login_sessions", ["person_number"])
    op.create_table(
        "predictions",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("class_number", COUNTER, nullable=False),
        sa.Column("label_set", COUNTER, nullable=True),
        sa.Column("probability", NUMBER, nullable=False),
        sa.Column("entropy", NUMBER, nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="predictions_refer_by_class_number"),
        sa.ForeignKeyConstraint(["label_set"], ["label_sets.number"], name="predictions_refer_by_label_set"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="predictions_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", name="predictions_key"),
    )
    op.create_index("predictions_by_entropy", "predictions", ["entropy", "text_row"])
    op.create_index("predictions_by_label_set", "predictions", ["label_set"])
    op.create_index("predictions_by_probability", "predictions", ["probability", "text_row"])
    op.create_index("predictions_of_a_class", "predictions", ["class_number", "probability", "text_row"])
    op.create_table(
        "explanations",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("asked", NUMBER, nullable=False),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("found", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="explanations_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", name="explanations_key"),
    )
    op.create_index("explanations_waiting", "explanations", ["asked"], **where("round IS NULL"))
    op.create_table(
        "queued_texts",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="queued_texts_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", name="queued_texts_key"),
    )
    op.create_index("queued_texts_by_rank", "queued_texts", ["rank"])
    op.create_table(
        "rechecks",
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("class_number", COUNTER, nullable=True),
        sa.Column("label_set", COUNTER, nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="rechecks_refer_by_class_number"),
        sa.ForeignKeyConstraint(["label_set"], ["label_sets.number"], name="rechecks_refer_by_label_set"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="rechecks_refer_by_text_row"),
        sa.ForeignKeyConstraint(["version"], ["codebook_versions.number"], name="rechecks_refer_by_version"),
        sa.PrimaryKeyConstraint("version", "text_row", name="rechecks_key"),
    )
    op.create_index("rechecks_of_a_text", "rechecks", ["text_row"])
    op.create_index("rechecks_open", "rechecks", ["version", "rank"], **where("state = 'open'"))
    op.create_table(
        "consensus",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("class_number", COUNTER, nullable=True),
        sa.Column("label_set", COUNTER, nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("annotation_number", COUNTER, nullable=False),
        sa.ForeignKeyConstraint(
            ["annotation_number"], ["annotations.number"], name="consensus_refer_by_annotation_number"
        ),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="consensus_refer_by_class_number"),
        sa.ForeignKeyConstraint(["label_set"], ["label_sets.number"], name="consensus_refer_by_label_set"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="consensus_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", name="consensus_key"),
    )
    op.create_index("consensus_by_annotation_number", "consensus", ["annotation_number"])
    op.create_index("consensus_by_class_number", "consensus", ["class_number"])
    op.create_index("consensus_by_label_set", "consensus", ["label_set"])
    op.create_table(
        "votes",
        sa.Column("text_row", COUNTER, nullable=False),
        sa.Column("person_number", COUNTER, nullable=False),
        sa.Column("annotation_number", COUNTER, nullable=False),
        sa.Column("class_number", COUNTER, nullable=True),
        sa.Column("label_set", COUNTER, nullable=True),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("decides", sa.Boolean(), nullable=False),
        sa.Column("copied", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["annotation_number"], ["annotations.number"], name="votes_refer_by_annotation_number"),
        sa.ForeignKeyConstraint(["class_number"], ["classes.number"], name="votes_refer_by_class_number"),
        sa.ForeignKeyConstraint(["label_set"], ["label_sets.number"], name="votes_refer_by_label_set"),
        sa.ForeignKeyConstraint(["person_number"], ["people.number"], name="votes_refer_by_person_number"),
        sa.ForeignKeyConstraint(["text_row"], ["texts.row"], name="votes_refer_by_text_row"),
        sa.PrimaryKeyConstraint("text_row", "person_number", name="votes_key"),
    )
    op.create_index("votes_by_label_set", "votes", ["label_set"])
    op.create_index("votes_copied", "votes", ["text_row"], **where("copied{true}"))
    op.create_index("votes_flagged", "votes", ["text_row"], **where("flagged{true}"))
    op.create_index("votes_of_a_person", "votes", ["person_number", "annotation_number"])
    op.create_index("votes_skipped", "votes", ["text_row"], **where("class_number IS NULL AND label_set IS NULL"))
    create_search_index(op.get_bind())


def where(condition: str) -> dict[str, Any]:
    """Options for a partial index; `{true}` stands for what each database writes behind a boolean column."""
    return {
        "sqlite_where": sa.text(condition.format(true=" = 1")),
        "postgresql_where": sa.text(condition.format(true="")),
    }
