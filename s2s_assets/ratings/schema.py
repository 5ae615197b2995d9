"""The tables of the ratings database, in SQLAlchemy Core; SQLite and Postgres alike.

```
study_identity  the one study that this database belongs to
rater           who answers: unique by name and by (provider, external_id)
pair            two responses to one prompt; `open` pairs are handed out, `void` and `outside` ones are not
slot            one planned showing of a pair, with the response that is heard first
assignment      a slot leased to a rater: leased → done | expired | late | problem; done → excluded with its rater
answer          one score on one rubric, by an assignment or from an import; never changed, never deleted by cleaning;
                `extra` holds what an imported file said of it in columns of its own
exclusion       a rating, rater or response that does not count, by whom and why, until lifted
settled         the versions of the answers that were found settled, newest last
media           what is heard: prompt or response id → blob reference
media_token     an opaque name of a blob, good for one assignment
planted         the strengths that simulated raters answered from; empty where people rate
```

Two indexes hold what code alone could get wrong: a rater has a pair once, and a slot has at most one assignment that is
leased or done. Every time is stored as UTC and read back as an aware datetime. A stored score is positive where the
pair's `config_a` is better; `screen_value`, beside it, is positive where the second heard was preferred. The rating
app's own tables are in `app_schema`.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

LIVE = "state IN ('leased', 'done')"
"""Assignments that take a slot."""
PROBLEM = "state = 'problem'"
"""Assignments that ended in a technical problem."""
WANTED = "state = 'open' AND taken < slots"
"""Pairs that have a slot to give. Literal text: SQLite uses a partial index only where a query repeats its condition."""


class UtcTime(TypeDecorator[datetime]):
    """An aware datetime, stored as UTC; a naive one is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; SQLite stores it without an offset.

        Raises:
            ValueError: a datetime without a time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; expected an aware datetime")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give it back aware, in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def column(name: str, kind: Any, *parts: Any, null: bool = False, **options: Any) -> "Column[Any]":
    """A column that holds a value in every row unless `null` says otherwise."""
    return Column(name, kind, *parts, nullable=null, **options)


def key() -> "Column[Any]":
    """The primary key of rows that are numbered as they come."""
    # SQLite counts up by itself only in a column that is declared INTEGER
    return Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True)


metadata = MetaData()

study_identity = Table(
    "study_identity",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    column("study", Text),
    column("created_at", UtcTime),
    CheckConstraint("id = 1", name="ck_study_identity_one"),
)

rater = Table(
    "rater",
    metadata,
    key(),
    column("name", Text),
    column("provider", Text),
    column("external_id", Text),
    column("simulated", Boolean),
    column("attributes", JSON),
    column("created_at", UtcTime),
    UniqueConstraint("name", name="uq_rater_name"),
    UniqueConstraint("provider", "external_id", name="uq_rater_external"),
)

pair = Table(
    "pair",
    metadata,
    key(),
    column("pair", Text),
    column("prompt", Text),
    column("config_a", Text),
    column("config_b", Text),
    column("response_a", Text, null=True),
    column("response_b", Text, null=True),
    column("state", Text),
    column("slots", Integer),
    column("taken", Integer),
    column("shuffle", Integer),
    column("category", Text, null=True),
    column("level", Text, null=True),
    column("acoustic", Text, null=True),
    UniqueConstraint("pair", name="uq_pair_pair"),
    Index("ix_pair_wanted", "taken", "shuffle", sqlite_where=text(WANTED), postgresql_where=text(WANTED)),
    Index("ix_pair_response_a", "response_a"),
    Index("ix_pair_response_b", "response_b"),
)

slot = Table(
    "slot",
    metadata,
    column("pair_id", BigInteger, ForeignKey("pair.id", name="fk_slot_pair"), primary_key=True),
    column("slot", Integer, primary_key=True, autoincrement=False),
    column("epoch", Integer),
    column("first", Text),
    column("source", Text),
    CheckConstraint("first IN ('a', 'b')", name="ck_slot_first"),
)

assignment = Table(
    "assignment",
    metadata,
    key(),
    column("pair_id", BigInteger),
    column("slot", Integer),
    column("rater_id", BigInteger, ForeignKey("rater.id", name="fk_assignment_rater")),
    column("session", Text),
    column("state", Text),
    column("nonce", Text),
    column("leased_at", UtcTime),
    column("expires_at", UtcTime),
    column("submitted_at", UtcTime, null=True),
    ForeignKeyConstraint(["pair_id", "slot"], ["slot.pair_id", "slot.slot"], name="fk_assignment_slot"),
    UniqueConstraint("nonce", name="uq_assignment_nonce"),
    UniqueConstraint("pair_id", "rater_id", name="uq_assignment_pair_rater"),
    Index("uq_assignment_live", "pair_id", "slot", unique=True, sqlite_where=text(LIVE), postgresql_where=text(LIVE)),
    Index(
        "ix_assignment_lease",
        "expires_at",
        sqlite_where=text("state = 'leased'"),
        postgresql_where=text("state = 'leased'"),
    ),
    Index("ix_assignment_rater", "rater_id"),
    Index("ix_assignment_problem", "pair_id", sqlite_where=text(PROBLEM), postgresql_where=text(PROBLEM)),
)

answer = Table(
    "answer",
    metadata,
    key(),
    column("rating_id", Text),
    column("assignment_id", BigInteger, ForeignKey("assignment.id", name="fk_answer_assignment"), null=True),
    column("pair_id", BigInteger, ForeignKey("pair.id", name="fk_answer_pair")),
    column("rater_id", BigInteger, ForeignKey("rater.id", name="fk_answer_rater")),
    column("rubric", Text),
    column("score", SmallInteger),
    column("screen_value", SmallInteger, null=True),
    column("first", Text, null=True),
    column("submitted_at", UtcTime, null=True),
    column("landed_at", UtcTime),
    column("elapsed_ms", Integer, null=True),
    column("source", Text),
    column("simulated", Boolean),
    column("mark", BigInteger),
    column("extra", JSON(none_as_null=True), null=True),
    CheckConstraint("score BETWEEN -3 AND 3", name="ck_answer_score"),
    UniqueConstraint("rating_id", name="uq_answer_rating_id"),
    UniqueConstraint("assignment_id", "rubric", name="uq_answer_assignment_rubric"),
    Index("ix_answer_landed", "landed_at", "mark"),
)

exclusion = Table(
    "exclusion",
    metadata,
    key(),
    column("scope", Text),
    column("target", Text),
    column("author", Text),
    column("reason", Text),
    column("created_at", UtcTime),
    column("lifted_at", UtcTime, null=True),
    column("lifted_by", Text, null=True),
    column("lifted_reason", Text, null=True),
    CheckConstraint("scope IN ('rating', 'rater', 'response')", name="ck_exclusion_scope"),
    Index(
        "uq_exclusion_live",
        "scope",
        "target",
        unique=True,
        sqlite_where=text("lifted_at IS NULL"),
        postgresql_where=text("lifted_at IS NULL"),
    ),
)

settled = Table(
    "settled",
    metadata,
    key(),
    column("version", Text),
    column("watermark", UtcTime),
    column("answers", BigInteger),
    column("exclusions", Text),
)

media = Table(
    "media",
    metadata,
    column("kind", Text, primary_key=True),
    column("subject", Text, primary_key=True),
    column("blob", Text),
    column("duration_s", Float),
    CheckConstraint("kind IN ('prompt', 'response')", name="ck_media_kind"),
)

media_token = Table(
    "media_token",
    metadata,
    column("token", Text, primary_key=True),
    column("assignment_id", BigInteger, ForeignKey("assignment.id", name="fk_media_token_assignment")),
    column("role", Text),
    column("blob", Text),
    CheckConstraint("role IN ('prompt', 'first', 'second')", name="ck_media_token_role"),
    Index("ix_media_token_assignment", "assignment_id"),
)

planted = Table(
    "planted",
    metadata,
    column("config", Text, primary_key=True),
    column("rubric", Text, primary_key=True),
    column("strength", Float),
)
