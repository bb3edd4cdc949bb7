"""The tables. Annotations are append-only; `Vote`, `Consensus` and `Tally` hold what follows from them."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from unicodedata import combining, normalize

from sqlalchemy import JSON, BigInteger, Dialect, Float, ForeignKey, Index, Integer, MetaData, String, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from hybridal.app.db.class_set import ClassSet, decode_set


class CleanString(TypeDecorator[str]):
    """Any text. PostgreSQL cannot store U+0000, so in both databases it becomes the replacement character."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else clean(value)


class EncodedSet(TypeDecorator[ClassSet]):
    """A set of classes, stored as a text."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: ClassSet | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else value.encode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> ClassSet | None:  # noqa: ARG002
        return None if value is None else decode_set(value)


def clean(words: str) -> str:
    """Replace characters that PostgreSQL cannot store.

    >>> clean("a\\0b")
    'a\ufffdb'
    """
    return words.replace("\0", "\ufffd")


def text_digest(words: str) -> str:
    """Hash a text; an index over the hash is much smaller than one over the text."""
    return sha256(clean(words).encode()).hexdigest()[:32]


def digest_of_body(context: Any) -> str:
    """Default of `Text.digest`."""
    return text_digest(context.get_current_parameters()["body"])


def fold(words: str) -> str:
    """Normalise text for search: without case, accents and other marks, in every script.

    >>> fold("ÜBUNG"), fold("Ёлка в Москве"), fold("Straße")
    ('ubung', 'елка в москве', 'strasse')
    """
    words = clean(words)
    if words.isascii():
        return words.lower()
    return "".join(sign for sign in normalize("NFKD", normalize("NFKD", words).casefold()) if not combining(sign))


def folded_body(context: Any) -> str:
    """Default of `Text.folded`: body and context, followed by the two line ends that `search.py` needs."""
    given = context.get_current_parameters()
    return fold("\n".join([given["body"], *(given.get("context") or {}).values(), "", ""]))


# SQLite auto-increments only INTEGER columns.
Counter = BigInteger().with_variant(Integer, "sqlite")


def now() -> float:
    """The Unix time, which both databases store and compare as a number."""
    return datetime.now(UTC).timestamp()


class Base(DeclarativeBase):
    """All tables of a project."""

    type_annotation_map = {str: CleanString(), float: Float(53)}  # noqa: RUF012
    # Migrations can only change constraints that have names.
    metadata = MetaData(
        naming_convention={
            "ix": "%(table_name)s_by_%(column_0_N_name)s",
            "uq": "%(table_name)s_unique_%(column_0_N_name)s",
            "fk": "%(table_name)s_refer_by_%(column_0_N_name)s",
            "pk": "%(table_name)s_key",
        }
    )


def _where(rows: str) -> dict[str, Any]:
    """Options for a partial index. SQLite uses it only if a query has exactly the same condition."""
    return {"sqlite_where": text(rows.format(true=" = 1")), "postgresql_where": text(rows.format(true=""))}


class Text(Base):
    """One text.

    Attributes:
        split: `pool`, or `validation` for the random reserve that is never learnt.
        random_order: A random number, drawn when the text was added; without a model, texts are served in this order.
        required_votes: How many people shall label it; more than one where agreement is measured.
        vote_count: How many people have labelled it; follows from the votes, and is stored so that the queue is fast.
        open: Whether people may still be asked for it; stored for the same reason.
        digest: Finds a text by its exact words.
        folded: Finds a text by any part of its words or its context (see `search.py`).
        context: The other columns of its file.
        suggestion: The class number that the file suggests, if its labels are not taken as answers.
        suggested_set: The same if a text may have several classes: the number of a label set.
        deleted: When it was deleted. It is then neither open nor counted, and its annotations stay.
        draw: The random draw that set it aside, if it is in the split `validation`.
        look_alike_of: The row of the first text of its group of look-alikes, also on that text itself; None if no other
            text is almost the same.
    """

    __tablename__ = "texts"

    row: Mapped[int] = mapped_column(Counter, primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    body: Mapped[str]
    split: Mapped[str] = mapped_column(default="pool")
    random_order: Mapped[float]
    required_votes: Mapped[int] = mapped_column(default=1)
    vote_count: Mapped[int] = mapped_column(default=0)
    open: Mapped[bool] = mapped_column(default=True)
    added: Mapped[float] = mapped_column(default=now)
    digest: Mapped[str] = mapped_column(String(32), index=True, default=digest_of_body)
    folded: Mapped[str] = mapped_column(default=folded_body, deferred=True)
    context: Mapped[dict[str, str] | None] = mapped_column(JSON(none_as_null=True))
    suggestion: Mapped[int | None] = mapped_column(BigInteger)
    suggested_set: Mapped[int | None] = mapped_column(ForeignKey("label_sets.number"))
    deleted: Mapped[float | None]
    draw: Mapped[int | None] = mapped_column(ForeignKey("draws.number"))
    look_alike_of: Mapped[int | None] = mapped_column(Counter)

    __table_args__ = (
        Index("texts_alike", "look_alike_of", "open", "row", **_where("look_alike_of IS NOT NULL")),
        Index("texts_in_order", "split", "random_order"),
        Index("texts_open", "split", "random_order", **_where("open{true}")),
        Index("texts_begun", "random_order", **_where("open{true} AND vote_count > 0")),
        Index("texts_deleted", "deleted", **_where("deleted IS NOT NULL")),
    )


class Draw(Base):
    """A random draw of texts that are set aside: each text of its frame had the same probability.

    Attributes:
        made: When it was made.
        newest: The newest annotation before it. The frame has no text that was annotated before.
        upload: Whether it was drawn from the texts of one upload, not from all texts without a label.
        frame: How many texts could be drawn.
        size: How many were drawn.
    """

    __tablename__ = "draws"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    made: Mapped[float] = mapped_column(default=now)
    newest: Mapped[int] = mapped_column(Counter)
    upload: Mapped[bool]
    frame: Mapped[int]
    size: Mapped[int]


class RecallSample(Base):
    """A random sample of the texts that would be left out of a class; the newest of a class counts.

    Attributes:
        class_number: The class whose texts shall be found.
        left_out: How many texts had no label for the class and were not given it by the model.
        random_order: The rows of the texts without a label for the class, in random order; of many texts the first.
        given: Those of them to which the model gave the class: they are labelled, but are not left out.
        drawn: How many of `random_order` people are asked for.
    """

    __tablename__ = "recall_samples"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    class_number: Mapped[int] = mapped_column(ForeignKey("classes.number"))
    made: Mapped[float] = mapped_column(default=now)
    left_out: Mapped[int]
    random_order: Mapped[list[int]] = mapped_column(JSON)
    given: Mapped[list[int]] = mapped_column(JSON)
    drawn: Mapped[int]


class ServedText(Base):
    """A text that the queue served before it was labelled: its first annotator did not pick it by its content."""

    __tablename__ = "served_texts"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)


class Class(Base):
    """One class. A merged class stays as a row, so that old annotations keep their meaning.

    Attributes:
        description: Tells people, the model and an LLM what belongs in the class.
        examples: Example texts, one per line.
        group: The group of classes that it belongs to; "" if to none.
        key: The key that gives it on the page Label; "" for one by its place.
        keywords: Words to highlight in texts, one per line.
        position: Its place in the list of classes.
        merged_into: The class that it was merged into.
        archived: "" while people can give the class; `kept` if the model goes on learning its labels, `out` if it does
            not, `deleted` if its labels no longer count.
        threshold: If a text may have several classes: the probability from which the newest model gives this one.
    """

    __tablename__ = "classes"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str] = mapped_column(default="")
    examples: Mapped[str] = mapped_column(default="")
    group: Mapped[str] = mapped_column(default="")
    key: Mapped[str] = mapped_column(default="")
    keywords: Mapped[str] = mapped_column(default="")
    position: Mapped[int]
    merged_into: Mapped[int | None] = mapped_column(ForeignKey("classes.number"))
    archived: Mapped[str] = mapped_column(default="")
    threshold: Mapped[float | None]


class CodebookVersion(Base):
    """A change of the classes; rows are never changed. The codebook of a version follows from all later changes.

    Attributes:
        operation: What was done: `add`, `rename`, `describe`, `group`, `archive`, `restore`, `delete`, `merge`,
            `split`, `redefine`, or `change` for several of them at once.
        class_number: The class that was split or redefined.
        parts: The numbers of the classes that a class was split into.
        changes: The fields of each class that changed, before and after (see `codebook.py`).
    """

    __tablename__ = "codebook_versions"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    made: Mapped[float] = mapped_column(default=now)
    person_number: Mapped[int | None] = mapped_column(ForeignKey("people.number"))
    operation: Mapped[str]
    class_number: Mapped[int | None] = mapped_column(ForeignKey("classes.number"))
    parts: Mapped[list[int]] = mapped_column(JSON)
    changes: Mapped[list[dict[str, Any]]] = mapped_column(JSON)


class LabelSet(Base):
    """An answer of a project in which a text may have several classes; rows are never changed.

    Annotations, votes, consensus and predictions refer to it. Two rows may hold the same set if two people gave it
    first at the same moment, so compare sets, not numbers.
    """

    __tablename__ = "label_sets"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    digest: Mapped[str] = mapped_column(String(32), index=True)
    classes: Mapped[ClassSet] = mapped_column(EncodedSet())


class LabelSetClass(Base):
    """A class that a label set names; `present` is None if it is unknown."""

    __tablename__ = "label_set_classes"

    set_number: Mapped[int] = mapped_column(ForeignKey("label_sets.number"), primary_key=True)
    class_number: Mapped[int] = mapped_column(ForeignKey("classes.number"), primary_key=True)
    present: Mapped[bool | None]

    __table_args__ = (Index("label_sets_of_a_class", "class_number", "present", "set_number"),)


class Person(Base):
    """An annotator.

    Attributes:
        kind: `person`, `file` for the labels that came with the texts, or `llm`.
        role: `owner`, `reviewer` or `annotator`.
        password: Its hash; None if the person signs in with a link or through a proxy.
        own_keys: The keys that they chose for functions of the page Label (see `own_keys.py`); None if they never did.
    """

    __tablename__ = "people"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str] = mapped_column(default="person")
    role: Mapped[str] = mapped_column(default="annotator")
    password: Mapped[str | None]
    active: Mapped[bool] = mapped_column(default=True)
    joined: Mapped[float] = mapped_column(default=now)
    own_keys: Mapped[dict[str, str] | None] = mapped_column(JSON(none_as_null=True))


REASONS = ("unclear", "none_fits", "several_fit", "guidelines", "wrong_text", "other")
"""Why a text is skipped or flagged."""


class Annotation(Base):
    """One act of an annotator on a text; rows are never changed.

    Attributes:
        key: Drawn by the client, so that a repeated request counts once.
        action: `label`, `skip`, or `withdraw`, which takes back the last one.
        class_number: The class of a label.
        label_set: The set of a label, if a text may have several classes.
        flagged: Whether the text was flagged for review.
        reason: Why the text was skipped or flagged, one of `REASONS`; "" if no reason was given.
        comment: Free text.
        decides: Whether this is an adjudication.
        drawn: How the annotator came to the text: `random` or `queue` if the queue gave it (of the texts set aside, or
            of the others), `picked` by a person, `bulk`, `file`, `import` or `llm`; `copied` if the person answered for
            a look-alike and the answer was copied.
        codebook: The version of the codebook that the annotator saw.
        copy_of: The annotation that it copies.
    """

    __tablename__ = "annotations"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    key: Mapped[str] = mapped_column(String(64), unique=True)
    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), index=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), index=True)
    action: Mapped[str]
    class_number: Mapped[int | None] = mapped_column(ForeignKey("classes.number"))
    label_set: Mapped[int | None] = mapped_column(ForeignKey("label_sets.number"))
    flagged: Mapped[bool] = mapped_column(default=False)
    reason: Mapped[str] = mapped_column(default="")
    comment: Mapped[str] = mapped_column(default="")
    decides: Mapped[bool] = mapped_column(default=False)
    drawn: Mapped[str] = mapped_column(default="picked")
    codebook: Mapped[int]
    copy_of: Mapped[int | None] = mapped_column(ForeignKey("annotations.number"))
    at: Mapped[float] = mapped_column(default=now)

    __table_args__ = (Index("annotations_copied", "copy_of", **_where("copy_of IS NOT NULL")),)


class CommentThread(Base):
    """A comment on a text that is addressed to a person, with the answers to it.

    Attributes:
        person_number: Who began it.
        to_person: The person it is addressed to; None for the reviewers, who also get those of removed people.
        newest: The number of its newest comment.
        done: Whether the newest comment marks it as done.
    """

    __tablename__ = "comment_threads"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), index=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), index=True)
    to_person: Mapped[int | None] = mapped_column(ForeignKey("people.number"), index=True)
    newest: Mapped[int] = mapped_column(Counter, index=True)
    done: Mapped[bool] = mapped_column(default=False)


class Comment(Base):
    """A comment of a thread; rows are only added.

    Attributes:
        key: Drawn by the client, so that a repeated request counts once.
        done: Whether it marks the thread as done; it may then be empty.
    """

    __tablename__ = "comments"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    key: Mapped[str] = mapped_column(String(64), unique=True)
    thread_number: Mapped[int] = mapped_column(ForeignKey("comment_threads.number"), index=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"))
    body: Mapped[str]
    done: Mapped[bool] = mapped_column(default=False)
    at: Mapped[float] = mapped_column(default=now)


class CommentReader(Base):
    """A person who takes part in a thread; `read` is the number of the newest comment that they have read."""

    __tablename__ = "comment_readers"

    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), primary_key=True)
    thread_number: Mapped[int] = mapped_column(ForeignKey("comment_threads.number"), primary_key=True)
    read: Mapped[int] = mapped_column(Counter)


class Vote(Base):
    """A person's present answer to a text: their last annotation that was not withdrawn; a skip has no class.

    Attributes:
        annotation_number: The annotation that last changed it.
        label_set: If a text may have several classes, all that the person has decided so far.
        partial: Whether some of the classes are undecided; the text can then be served to the person again.
        copied: Whether it is a copy of the person's answer to a look-alike, and no answer to this text itself.
    """

    __tablename__ = "votes"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), primary_key=True)
    annotation_number: Mapped[int] = mapped_column(ForeignKey("annotations.number"))
    class_number: Mapped[int | None] = mapped_column(ForeignKey("classes.number"))
    label_set: Mapped[int | None] = mapped_column(ForeignKey("label_sets.number"), index=True)
    partial: Mapped[bool] = mapped_column(default=False)
    flagged: Mapped[bool] = mapped_column(default=False)
    decides: Mapped[bool] = mapped_column(default=False)
    copied: Mapped[bool] = mapped_column(default=False)

    __table_args__ = (
        Index("votes_copied", "text_row", **_where("copied{true}")),
        Index("votes_of_a_person", "person_number", "annotation_number"),
        Index("votes_skipped", "text_row", **_where("class_number IS NULL AND label_set IS NULL")),
        Index("votes_flagged", "text_row", **_where("flagged{true}")),
    )


class Consensus(Base):
    """The class that the model learns for a text; there is no row while people disagree.

    Attributes:
        class_number: The class, if a text has exactly one.
        label_set: The classes, if it may have several; the set may be partial.
        source: `people`, `file`, `llm` or `adjudicated`.
        annotation_number: The annotation that last changed it; the trainer finds new labels by it.
    """

    __tablename__ = "consensus"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    class_number: Mapped[int | None] = mapped_column(ForeignKey("classes.number"), index=True)
    label_set: Mapped[int | None] = mapped_column(ForeignKey("label_sets.number"), index=True)
    source: Mapped[str]
    annotation_number: Mapped[int] = mapped_column(ForeignKey("annotations.number"), index=True)


class AuditEntry(Base):
    """An entry of the audit log; rows are only added.

    Attributes:
        person_number: Who did it; None if it is not known.
        area: `settings`, `classes`, `people` or `exports`.
        action: What was done (see `audit_log.py`).
        details: What it was done to; a list of two is a value before and after.
    """

    __tablename__ = "audit_log"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    at: Mapped[float] = mapped_column(default=now)
    person_number: Mapped[int | None] = mapped_column(ForeignKey("people.number"))
    area: Mapped[str] = mapped_column(index=True)
    action: Mapped[str]
    details: Mapped[dict[str, Any]] = mapped_column(JSON)


class Recheck(Base):
    """A text whose label a version of the codebook touches, so that a person shall look at it again.

    Attributes:
        rank: Its place in the queue; the lowest first.
        reason: Why it is queued: it had the `class`, the `model` predicts the class, or it is `similar` to its texts.
        class_number: The consensus when the version was made.
        label_set: The same, if a text may have several classes.
        state: `open`, `done` once a person has answered under this version or a later one, or `dismissed`.
    """

    __tablename__ = "rechecks"

    version: Mapped[int] = mapped_column(ForeignKey("codebook_versions.number"), primary_key=True)
    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    rank: Mapped[int]
    reason: Mapped[str]
    class_number: Mapped[int | None] = mapped_column(ForeignKey("classes.number"))
    label_set: Mapped[int | None] = mapped_column(ForeignKey("label_sets.number"))
    state: Mapped[str] = mapped_column(default="open")

    __table_args__ = (
        Index("rechecks_of_a_text", "text_row"),
        Index("rechecks_open", "version", "rank", **_where("state = 'open'")),
    )


class Tally(Base):
    """A single row of counts that each annotation updates, so that no request counts all texts.

    Attributes:
        texts: All texts that are not deleted.
        labelled: Texts with a consensus.
        validation: Those of them in the validation split.
        pool: Those of them in the pool.
        copied: Those of them whose label is only copied from look-alikes.
        skipped: Texts without a consensus that a person skipped.
        flagged: Texts that were flagged and not adjudicated since.
        disagreements: Texts without a consensus because people disagree.
    """

    __tablename__ = "tally"

    number: Mapped[int] = mapped_column(primary_key=True, default=1)
    texts: Mapped[int] = mapped_column(default=0)
    labelled: Mapped[int] = mapped_column(default=0)
    validation: Mapped[int] = mapped_column(default=0)
    pool: Mapped[int] = mapped_column(default=0)
    copied: Mapped[int] = mapped_column(default=0)
    skipped: Mapped[int] = mapped_column(default=0)
    flagged: Mapped[int] = mapped_column(default=0)
    disagreements: Mapped[int] = mapped_column(default=0)


class QueuedText(Base):
    """A text that the model chose to be labelled, the lowest rank first; `round` is the model's."""

    __tablename__ = "queued_texts"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    rank: Mapped[int] = mapped_column(index=True)
    round: Mapped[int]


class Lease(Base):
    """A text that is reserved for a person until a time."""

    __tablename__ = "leases"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), primary_key=True)
    until: Mapped[float] = mapped_column(index=True)


class Prediction(Base):
    """The likeliest class of a text, with its probability and the entropy of all probabilities.

    Attributes:
        label_set: If a text may have several classes, those whose probability reaches their threshold.
        round: The model's; a prediction stays until a newer model has scored the text.
    """

    __tablename__ = "predictions"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    class_number: Mapped[int] = mapped_column(ForeignKey("classes.number"))
    label_set: Mapped[int | None] = mapped_column(ForeignKey("label_sets.number"), index=True)
    probability: Mapped[float]
    entropy: Mapped[float]
    round: Mapped[int]

    # One index per sort order of the lists; ties are ordered by row, newest first.
    __table_args__ = (
        Index("predictions_of_a_class", "class_number", "probability", "text_row"),
        Index("predictions_by_probability", "probability", "text_row"),
        Index("predictions_by_entropy", "entropy", "text_row"),
    )


class Explanation(Base):
    """Which words of a text speak for and against its prediction; the page requests it, and the trainer computes it.

    Attributes:
        asked: When it was last requested.
        round: The round of the model that is explained; None while it is waiting.
        found: Spans of words, and their weights for some classes, or an error; None while it is waiting.
    """

    __tablename__ = "explanations"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    asked: Mapped[float] = mapped_column(default=now)
    round: Mapped[int | None]
    found: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))

    __table_args__ = (Index("explanations_waiting", "asked", **_where("round IS NULL")),)


class Trainer(Base):
    """A single row: the status of the trainer.

    Attributes:
        phase: `waiting`, `loading`, `training`, `scoring`, `failed` or `stopped`; if projects share trainers also
            `resting` (without work) or `queued` (behind `done` others).
        update: The update that is being trained.
        round: The project's last published round.
        step: What `done` and `total` count: `texts` (read), `fits` (of the classifier) or `epochs`; "" if nothing yet.
        done: How many of the step are done.
        total: How many there are.
        seconds_left: An estimate for the step.
        error: Why the last update failed.
        request: What the page requested: `retry`, `train` (with fewer labels than a batch) or `finish` (a last round on
            all labels).
        heartbeat: When the row was last written.
        learnt_annotation: The newest annotation that the published model has learnt.
    """

    __tablename__ = "trainer"

    number: Mapped[int] = mapped_column(primary_key=True, default=1)
    phase: Mapped[str] = mapped_column(default="stopped")
    update: Mapped[str] = mapped_column(default="")
    round: Mapped[int] = mapped_column(default=0)
    step: Mapped[str] = mapped_column(default="")
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    seconds_left: Mapped[float | None]
    error: Mapped[str] = mapped_column(default="")
    request: Mapped[str] = mapped_column(default="")
    heartbeat: Mapped[float] = mapped_column(default=0.0)
    learnt_annotation: Mapped[int] = mapped_column(Counter, default=0)


class Scoring(Base):
    """A single row: the progress of background scoring.

    Attributes:
        state: `running` or `paused`.
        first: Rows of texts that are on a screen, separated by commas; they are scored before the others.
        round: The round of the model that scores.
        done: Texts that it has scored.
        total: All texts.
        seconds_left: An estimate.
        error: Why it paused by itself.
    """

    __tablename__ = "scoring"

    number: Mapped[int] = mapped_column(primary_key=True, default=1)
    state: Mapped[str] = mapped_column(default="running")
    first: Mapped[str] = mapped_column(default="")
    round: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    seconds_left: Mapped[float | None]
    error: Mapped[str] = mapped_column(default="")


class Setting(Base):
    """One setting of the project, as JSON."""

    __tablename__ = "settings"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class Invitation(Base):
    """A link with which one person can join; only the hash of its token is stored."""

    __tablename__ = "invitations"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    token: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str]
    until: Mapped[float]
    used_by: Mapped[int | None] = mapped_column(ForeignKey("people.number"))
    revoked: Mapped[bool] = mapped_column(default=False)


class LoginSession(Base):
    """The session of a signed-in browser; only the hash of its cookie is stored."""

    __tablename__ = "login_sessions"

    token: Mapped[str] = mapped_column(String(64), primary_key=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), index=True)
    csrf_token: Mapped[str] = mapped_column(String(64))
    until: Mapped[float]


class AccessToken(Base):
    """A bearer token of a person's program; only its hash is stored. `used` is the time of its last use."""

    __tablename__ = "access_tokens"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str]
    role: Mapped[str]
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), index=True)
    made: Mapped[float] = mapped_column(default=now)
    used: Mapped[float | None]


class Webhook(Base):
    """A server that receives signed messages about events.

    Attributes:
        events: The names of the events that it receives.
        secret: Signs the messages.
        last_annotation: The newest annotation that was sent or queued.
        last_round: How many rounds were sent or queued.
        last_goal: The last goal that was sent or queued.
    """

    __tablename__ = "webhooks"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    url: Mapped[str]
    secret: Mapped[str]
    events: Mapped[list[str]] = mapped_column(JSON)
    made: Mapped[float] = mapped_column(default=now)
    last_annotation: Mapped[int] = mapped_column(Counter)
    last_round: Mapped[int]
    last_goal: Mapped[int]


class Delivery(Base):
    """A message to a webhook.

    Attributes:
        attempts: How many times it was sent.
        sent: When it was last sent.
        due: When it is sent next; None if it was accepted, or given up with a `problem`.
        status: The HTTP status of the last answer.
        problem: Why the last attempt failed.
    """

    __tablename__ = "deliveries"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    webhook_number: Mapped[int] = mapped_column(ForeignKey("webhooks.number"), index=True)
    event: Mapped[str]
    body: Mapped[str]
    made: Mapped[float] = mapped_column(default=now)
    attempts: Mapped[int] = mapped_column(default=0)
    sent: Mapped[float | None]
    due: Mapped[float | None]
    status: Mapped[int | None]
    problem: Mapped[str] = mapped_column(default="")


class LlmAnswer(Base):
    """An LLM's answer, stored so that the same question is never paid for twice.

    Attributes:
        class_name: The class; if a text may have several, a JSON list of them.
    """

    __tablename__ = "llm_answers"

    question: Mapped[str] = mapped_column(String(64), primary_key=True)
    model: Mapped[str]
    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), index=True)
    class_name: Mapped[str | None]
    confidence: Mapped[float | None]
    reason: Mapped[str] = mapped_column(default="")
    tokens: Mapped[int] = mapped_column(default=0)
    at: Mapped[float] = mapped_column(default=now)
