"""The first tables: raters, pairs with slots, assignments, answers, exclusions, settled versions, media, planted truth.

Written out rather than taken from `schema.py`, which goes on changing after this revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "v0001"
down_revision = None
branch_labels = None
depends_on = None

UTC_TIME = sa.DateTime(timezone=True)
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create every table; those that others refer to first."""
    _create_exclusion()
    _create_media()
    _create_pair()
    _create_rater()
    _create_settled()
    _create_study_identity()
    _create_slot()
    _create_assignment()
    _create_answer()
    _create_media_token()
    _create_planted()


def _create_exclusion() -> None:
    op.create_table(
        "exclusion",
        sa.Column("id", KEY, nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", UTC_TIME, nullable=False),
        sa.Column("lifted_at", UTC_TIME, nullable=True),
        sa.Column("lifted_by", sa.Text(), nullable=True),
        sa.Column("lifted_reason", sa.Text(), nullable=True),
        sa.CheckConstraint("scope IN ('rating', 'rater', 'response')", name="ck_exclusion_scope"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "uq_exclusion_live",
        "exclusion",
        ["scope", "target"],
        unique=True,
        sqlite_where=sa.text("lifted_at IS NULL"),
        postgresql_where=sa.text("lifted_at IS NULL"),
    )


def _create_media() -> None:
    op.create_table(
        "media",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("duration_s", sa.Float(), nullable=False),
        sa.CheckConstraint("kind IN ('prompt', 'response')", name="ck_media_kind"),
        sa.PrimaryKeyConstraint("kind", "subject"),
    )


def _create_pair() -> None:
    op.create_table(
        "pair",
        sa.Column("id", KEY, nullable=False),
        sa.Column("pair", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("config_a", sa.Text(), nullable=False),
        sa.Column("config_b", sa.Text(), nullable=False),
        sa.Column("response_a", sa.Text(), nullable=True),
        sa.Column("response_b", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.Column("shuffle", sa.Integer(), nullable=False),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("level", sa.Text(), nullable=True),
        sa.Column("acoustic", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("pair", name="uq_pair_pair"),
    )
    op.create_index("ix_pair_response_a", "pair", ["response_a"], unique=False)
    op.create_index("ix_pair_response_b", "pair", ["response_b"], unique=False)
    op.create_index(
        "ix_pair_wanted",
        "pair",
        ["taken", "shuffle"],
        unique=False,
        sqlite_where=sa.text("state = 'open' AND taken < slots"),
        postgresql_where=sa.text("state = 'open' AND taken < slots"),
    )


def _create_rater() -> None:
    op.create_table(
        "rater",
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("attributes", sa.JSON(), nullable=False),
        sa.Column("created_at", UTC_TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", name="uq_rater_name"),
        sa.UniqueConstraint("provider", "external_id", name="uq_rater_external"),
    )


def _create_settled() -> None:
    op.create_table(
        "settled",
        sa.Column("id", KEY, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("watermark", UTC_TIME, nullable=False),
        sa.Column("answers", sa.BigInteger(), nullable=False),
        sa.Column("exclusions", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _create_study_identity() -> None:
    op.create_table(
        "study_identity",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("study", sa.Text(), nullable=False),
        sa.Column("created_at", UTC_TIME, nullable=False),
        sa.CheckConstraint("id = 1", name="ck_study_identity_one"),
        sa.PrimaryKeyConstraint("id"),
    )


def _create_slot() -> None:
    op.create_table(
        "slot",
        sa.Column("pair_id", sa.BigInteger(), nullable=False),
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("first", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.CheckConstraint("first IN ('a', 'b')", name="ck_slot_first"),
        sa.ForeignKeyConstraint(["pair_id"], ["pair.id"], name="fk_slot_pair"),
        sa.PrimaryKeyConstraint("pair_id", "slot"),
    )


def _create_assignment() -> None:
    op.create_table(
        "assignment",
        sa.Column("id", KEY, nullable=False),
        sa.Column("pair_id", sa.BigInteger(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("leased_at", UTC_TIME, nullable=False),
        sa.Column("expires_at", UTC_TIME, nullable=False),
        sa.Column("submitted_at", UTC_TIME, nullable=True),
        sa.ForeignKeyConstraint(["pair_id", "slot"], ["slot.pair_id", "slot.slot"], name="fk_assignment_slot"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_assignment_rater"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("nonce", name="uq_assignment_nonce"),
        sa.UniqueConstraint("pair_id", "rater_id", name="uq_assignment_pair_rater"),
    )
    op.create_index(
        "ix_assignment_lease",
        "assignment",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("state = 'leased'"),
        postgresql_where=sa.text("state = 'leased'"),
    )
    op.create_index("ix_assignment_rater", "assignment", ["rater_id"], unique=False)
    op.create_index(
        "uq_assignment_live",
        "assignment",
        ["pair_id", "slot"],
        unique=True,
        sqlite_where=sa.text("state IN ('leased', 'done')"),
        postgresql_where=sa.text("state IN ('leased', 'done')"),
    )


def _create_answer() -> None:
    op.create_table(
        "answer",
        sa.Column("id", KEY, nullable=False),
        sa.Column("rating_id", sa.Text(), nullable=False),
        sa.Column("assignment_id", sa.BigInteger(), nullable=True),
        sa.Column("pair_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("score", sa.SmallInteger(), nullable=False),
        sa.Column("screen_value", sa.SmallInteger(), nullable=True),
        sa.Column("first", sa.Text(), nullable=True),
        sa.Column("submitted_at", UTC_TIME, nullable=True),
        sa.Column("landed_at", UTC_TIME, nullable=False),
        sa.Column("elapsed_ms", sa.Integer(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("mark", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("score BETWEEN -3 AND 3", name="ck_answer_score"),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name="fk_answer_assignment"),
        sa.ForeignKeyConstraint(["pair_id"], ["pair.id"], name="fk_answer_pair"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_answer_rater"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("assignment_id", "rubric", name="uq_answer_assignment_rubric"),
        sa.UniqueConstraint("rating_id", name="uq_answer_rating_id"),
    )
    op.create_index("ix_answer_landed", "answer", ["landed_at", "mark"], unique=False)


def _create_media_token() -> None:
    op.create_table(
        "media_token",
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("assignment_id", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.CheckConstraint("role IN ('prompt', 'first', 'second')", name="ck_media_token_role"),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name="fk_media_token_assignment"),
        sa.PrimaryKeyConstraint("token"),
    )
    op.create_index("ix_media_token_assignment", "media_token", ["assignment_id"], unique=False)


def _create_planted() -> None:
    op.create_table(
        "planted",
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("strength", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("config", "rubric"),
    )
