"""The tables. Annotations are only ever added; what they mean now (`Vote`, `Consensus`) is kept beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from unicodedata import combining, normalize

from sqlalchemy import JSON, BigInteger, Dialect, Float, ForeignKey, Index, Integer, MetaData, String, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator


class CleanString(TypeDecorator[str]):
    """Any text. PostgreSQL cannot keep U+0000, so in both databases it becomes the replacement character."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else clean(value)


def clean(words: str) -> str:
    """The words as the database keeps them.

    >>> clean("a\\0b")
    'a\ufffdb'
    """
    return words.replace("\0", "\ufffd")


def text_digest(words: str) -> str:
    """What a text is found by: an index of the words themselves would be as large as they are."""
    return sha256(clean(words).encode()).hexdigest()[:32]


def digest_of_body(context: Any) -> str:
    """That of a text which is being added."""
    return text_digest(context.get_current_parameters()["body"])


def fold(words: str) -> str:
    """The words as they are searched for: without case, accents and other marks, in every script.

    >>> fold("ÜBUNG"), fold("Ёлка в Москве"), fold("Straße")
    ('ubung', 'елка в москве', 'strasse')
    """
    words = clean(words)
    if words.isascii():
        return words.lower()
    return "".join(sign for sign in normalize("NFKD", normalize("NFKD", words).casefold()) if not combining(sign))


def folded_body(context: Any) -> str:
    """That of a text which is being added, and of what else its file says of it; two line ends follow (`search.py`)."""
    given = context.get_current_parameters()
    return fold("\n".join([given["body"], *(given.get("context") or {}).values(), "", ""]))


# SQLite counts up only a column that is called INTEGER.
Counter = BigInteger().with_variant(Integer, "sqlite")


def now() -> float:
    """Seconds since 1970, UTC: the same in both databases, and easy to compare."""
    return datetime.now(UTC).timestamp()


class Base(DeclarativeBase):
    """All tables of a project."""

    type_annotation_map = {str: CleanString(), float: Float(53)}  # noqa: RUF012
    # Constraints with names can be changed by later migrations.
    metadata = MetaData(
        naming_convention={
            "ix": "%(table_name)s_by_%(column_0_N_name)s",
            "uq": "%(table_name)s_unique_%(column_0_N_name)s",
            "fk": "%(table_name)s_refer_by_%(column_0_N_name)s",
            "pk": "%(table_name)s_key",
        }
    )


def _where(rows: str) -> dict[str, Any]:
    """An index of some rows only. SQLite uses it if a query says the same words, and has no word for true."""
    return {"sqlite_where": text(rows.format(true=" = 1")), "postgresql_where": text(rows.format(true=""))}


class Text(Base):
    """One text. `split` is `pool`, or `validation` for the random reserve that is only ever measured on.

    `place` is a random number drawn when the text came: texts are served in its order while no model has a say.
    `wanted` is how many people shall label it: more than one for the texts on which agreement is measured.
    `answered` is how many people have labelled it, and `open` whether somebody may still be asked: both follow from
    the votes, and are kept here so that the next text is found without a look at all the others.
    `digest` finds a text by its words, and `folded` by any part of them or of its context (see `search.py`).
    `context` is what the other columns of its file say, and `suggestion` the number of the class that the file gives
    where its labels are not taken for true. `deleted` is when somebody deleted it: it is then neither open nor counted,
    and what was said of it stays in the record.
    """

    __tablename__ = "texts"

    row: Mapped[int] = mapped_column(Counter, primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    body: Mapped[str]
    split: Mapped[str] = mapped_column(default="pool")
    place: Mapped[float]
    wanted: Mapped[int] = mapped_column(default=1)
    answered: Mapped[int] = mapped_column(default=0)
    open: Mapped[bool] = mapped_column(default=True)
    added: Mapped[float] = mapped_column(default=now)
    digest: Mapped[str] = mapped_column(String(32), index=True, default=digest_of_body)
    folded: Mapped[str] = mapped_column(default=folded_body, deferred=True)
    context: Mapped[dict[str, str] | None] = mapped_column(JSON(none_as_null=True))
    suggestion: Mapped[int | None] = mapped_column(BigInteger)
    deleted: Mapped[float | None]

    __table_args__ = (
        Index("texts_in_order", "split", "place"),
        Index("texts_open", "split", "place", **_where("open{true}")),
        Index("texts_begun", "place", **_where("open{true} AND answered > 0")),
        Index("texts_deleted", "deleted", **_where("deleted IS NOT NULL")),
    )


class Class(Base):
    """One class. A merged class stays, with the class it became, so that old annotations keep their meaning.

    `description` and `examples`, a text a line, tell people and an LLM what belongs there. `archived` is empty while
    the class can be given; then `kept`, where the model goes on learning its labels, `out`, where they are left out, or
    `deleted`, where they are no labels any more.
    """

    __tablename__ = "classes"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str] = mapped_column(default="")
    examples: Mapped[str] = mapped_column(default="")
    position: Mapped[int]
    became: Mapped[int | None] = mapped_column(ForeignKey("classes.number"))
    archived: Mapped[str] = mapped_column(default="")


class Person(Base):
    """An annotator: a `person`, the labels that came with a `file`, or an `llm`.

    `role` is `owner`, `reviewer` or `annotator`.
    """

    __tablename__ = "people"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str] = mapped_column(default="person")
    role: Mapped[str] = mapped_column(default="annotator")
    password: Mapped[str | None]
    active: Mapped[bool] = mapped_column(default=True)
    joined: Mapped[float] = mapped_column(default=now)


class Annotation(Base):
    """What somebody said of a text, permanently. `key` is drawn by the page and counts once.

    `action` is `label` (with a class), `skip`, or `withdraw` (as if never given). A flag or a comment may come
    with any of them. An adjudication is a `label` with `decides` set.
    """

    __tablename__ = "annotations"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    key: Mapped[str] = mapped_column(String(64), unique=True)
    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), index=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), index=True)
    action: Mapped[str]
    class_number: Mapped[int | None] = mapped_column(ForeignKey("classes.number"))
    flagged: Mapped[bool] = mapped_column(default=False)
    comment: Mapped[str] = mapped_column(default="")
    decides: Mapped[bool] = mapped_column(default=False)
    at: Mapped[float] = mapped_column(default=now)


class Vote(Base):
    """What a person says of a text now: their last annotation that was not withdrawn; a skip has no class."""

    __tablename__ = "votes"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), primary_key=True)
    annotation_number: Mapped[int] = mapped_column(ForeignKey("annotations.number"))
    class_number: Mapped[int | None] = mapped_column(ForeignKey("classes.number"))
    flagged: Mapped[bool] = mapped_column(default=False)
    decides: Mapped[bool] = mapped_column(default=False)

    __table_args__ = (
        Index("votes_of_a_person", "person_number", "annotation_number"),
        Index("votes_skipped", "text_row", **_where("class_number IS NULL")),
        Index("votes_flagged", "text_row", **_where("flagged{true}")),
    )


class Consensus(Base):
    """The class that the model learns for a text; none while people disagree. `source` says who settled it.

    `source` is `people`, `file`, `llm` or `adjudicated`. `changed` is the annotation that last changed it, so that the
    trainer can tell what is new.
    """

    __tablename__ = "consensus"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    class_number: Mapped[int] = mapped_column(ForeignKey("classes.number"), index=True)
    source: Mapped[str]
    changed: Mapped[int] = mapped_column(ForeignKey("annotations.number"), index=True)


class Tally(Base):
    """One row: counts that each annotation moves, so that no request counts all texts.

    `labelled` texts have a consensus, of which `validation` and `pool` are those of each split. `skipped` texts have
    none and were skipped by somebody; `disagreements` have none because people disagree.
    """

    __tablename__ = "tally"

    number: Mapped[int] = mapped_column(primary_key=True, default=1)
    texts: Mapped[int] = mapped_column(default=0)
    labelled: Mapped[int] = mapped_column(default=0)
    validation: Mapped[int] = mapped_column(default=0)
    pool: Mapped[int] = mapped_column(default=0)
    skipped: Mapped[int] = mapped_column(default=0)
    flagged: Mapped[int] = mapped_column(default=0)
    disagreements: Mapped[int] = mapped_column(default=0)


class QueuedText(Base):
    """A text that the model wants labelled, best first. `round` is that of the model that chose it."""

    __tablename__ = "queued_texts"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    rank: Mapped[int] = mapped_column(index=True)
    round: Mapped[int]


class Lease(Base):
    """A text that is somebody's until a time: nobody else gets it meanwhile."""

    __tablename__ = "leases"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), primary_key=True)
    until: Mapped[float] = mapped_column(index=True)


class Prediction(Base):
    """A model's likeliest class of a text, and how sure it is.

    `round` is that of the model: those of an older one stay until the newest has come to the text.
    """

    __tablename__ = "predictions"

    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), primary_key=True)
    class_number: Mapped[int] = mapped_column(ForeignKey("classes.number"))
    probability: Mapped[float]
    entropy: Mapped[float]
    round: Mapped[int]

    # Each order in which they are listed; of equals, the newest text comes first.
    __table_args__ = (
        Index("predictions_of_a_class", "class_number", "probability", "text_row"),
        Index("predictions_by_probability", "probability", "text_row"),
        Index("predictions_by_entropy", "entropy", "text_row"),
    )


class Trainer(Base):
    """One row: what the trainer does now, as the page shows it.

    `phase` is `waiting`, `loading`, `training`, `scoring`, `failed` or `stopped`; where projects take turns also
    `resting` (it is not its turn, and nothing is to be done) or `queued` (behind `done` others). `done` of `total`
    counts its epochs or texts; `seconds_left` is its own estimate. `beat` is when it last said anything. `asked` is
    what the page wants of it: `retry`, `train` (now, with fewer labels than a batch) or `finish` (train once more on
    all labels). `seen` is the newest answer that its model has learnt from.
    """

    __tablename__ = "trainer"

    number: Mapped[int] = mapped_column(primary_key=True, default=1)
    phase: Mapped[str] = mapped_column(default="stopped")
    update: Mapped[str] = mapped_column(default="")
    round: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    seconds_left: Mapped[float | None]
    error: Mapped[str] = mapped_column(default="")
    asked: Mapped[str] = mapped_column(default="")
    beat: Mapped[float] = mapped_column(default=0.0)
    seen: Mapped[int] = mapped_column(Counter, default=0)


class Scoring(Base):
    """One row: how far the newest model, that of `round`, has come with scoring all texts, as the page shows it.

    `state` is `running` or `paused`, decided by people; `error` says why it paused by itself. `first` are the rows of
    the texts that somebody looks at, with commas between them: they come before the others.
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
    """One thing that was decided for the whole project, as JSON."""

    __tablename__ = "settings"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class Invitation(Base):
    """A link that lets one person in; only the hash of its token is kept."""

    __tablename__ = "invitations"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    token: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str]
    until: Mapped[float]
    used_by: Mapped[int | None] = mapped_column(ForeignKey("people.number"))
    revoked: Mapped[bool] = mapped_column(default=False)


class LoginSession(Base):
    """The session of a signed-in browser; only the hash of its cookie is kept."""

    __tablename__ = "login_sessions"

    token: Mapped[str] = mapped_column(String(64), primary_key=True)
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), index=True)
    csrf_token: Mapped[str] = mapped_column(String(64))
    until: Mapped[float]


class AccessToken(Base):
    """What a program of somebody shows in place of a password; only its hash is kept. `used` is when it last did."""

    __tablename__ = "access_tokens"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str]
    role: Mapped[str]
    person_number: Mapped[int] = mapped_column(ForeignKey("people.number"), index=True)
    made: Mapped[float] = mapped_column(default=now)
    used: Mapped[float | None]


class Webhook(Base):
    """A server that is told of `events`, in messages signed with `secret`.

    How far it has been told: up to which annotation, how many of the project's rounds, and of which goal.
    """

    __tablename__ = "webhooks"

    number: Mapped[int] = mapped_column(Counter, primary_key=True)
    url: Mapped[str]
    secret: Mapped[str]
    events: Mapped[list[str]] = mapped_column(JSON)
    made: Mapped[float] = mapped_column(default=now)
    told_annotation: Mapped[int] = mapped_column(Counter)
    told_round: Mapped[int]
    told_goal: Mapped[int]


class Delivery(Base):
    """A message to a webhook. `due` is when it is sent next; none: it was taken or, with a `problem`, given up.

    `sent` is when it last was, and `status` the answer to that.
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
    """An LLM's answer, kept so that the same question is never paid for twice."""

    __tablename__ = "llm_answers"

    question: Mapped[str] = mapped_column(String(64), primary_key=True)
    model: Mapped[str]
    text_row: Mapped[int] = mapped_column(ForeignKey("texts.row"), index=True)
    class_name: Mapped[str | None]
    confidence: Mapped[float | None]
    reason: Mapped[str] = mapped_column(default="")
    tokens: Mapped[int] = mapped_column(default=0)
    at: Mapped[float] = mapped_column(default=now)
