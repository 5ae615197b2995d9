"""What the rating app keeps: invitations, sittings, the tasks that were shown, what was heard and replied."""

import sqlalchemy as sa
from alembic import op

revision = "v0003"
down_revision = "v0002"
branch_labels = None
depends_on = None

UTC_TIME = sa.DateTime(timezone=True)
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OPEN = sa.text("state = 'open'")
MOS = sa.text("kind = 'mos' AND state IN ('open', 'done')")


def upgrade() -> None:
    """Create the tables; those that others refer to first."""
    op.create_table(
        "signing_key",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name="ck_signing_key_one"),
        sa.PrimaryKeyConstraint("id"),
    )
    _create_invitation()
    _create_sitting()
    _create_task()
    _create_stimulus()
    _create_reply()


def _create_invitation() -> None:
    op.create_table(
        "invitation",
        sa.Column("id", KEY, nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("panel", sa.Text(), nullable=False),
        sa.Column("work", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("return_url", sa.Text(), nullable=True),
        sa.Column("created_at", UTC_TIME, nullable=False),
        sa.Column("revoked_at", UTC_TIME, nullable=True),
        sa.CheckConstraint("panel IN ('personal', 'prolific', 'mturk', 'generic')", name="ck_invitation_panel"),
        sa.CheckConstraint("work IN ('pairs', 'mos')", name="ck_invitation_work"),
        sa.PrimaryKeyConstraint("id"),
    )


def _create_sitting() -> None:
    op.create_table(
        "sitting",
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("invitation_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("shortcuts", sa.Boolean(), nullable=False),
        sa.Column("consent", sa.Text(), nullable=False),
        sa.Column("started_at", UTC_TIME, nullable=False),
        sa.Column("sound_tries", sa.Integer(), nullable=False),
        sa.Column("sound_at", UTC_TIME, nullable=True),
        sa.Column("headphone_tries", sa.Integer(), nullable=False),
        sa.Column("headphone_answers", sa.JSON(), nullable=False),
        sa.Column("headphones", sa.Text(), nullable=True),
        sa.Column("trained_at", UTC_TIME, nullable=True),
        sa.Column("notice", sa.Text(), nullable=True),
        sa.Column("ended_at", UTC_TIME, nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.CheckConstraint("outcome IN ('done', 'failed', 'no_work')", name="ck_sitting_outcome"),
        sa.ForeignKeyConstraint(["invitation_id"], ["invitation.id"], name="fk_sitting_invitation"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_sitting_rater"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", name="uq_sitting_name"),
        sa.UniqueConstraint("token_hash", name="uq_sitting_token_hash"),
        sa.UniqueConstraint("invitation_id", "rater_id", "claim", name="uq_sitting_claim"),
    )


def _create_task() -> None:
    op.create_table(
        "task",
        sa.Column("id", KEY, nullable=False),
        sa.Column("sitting_id", sa.BigInteger(), nullable=False),
        sa.Column("assignment_id", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("first", sa.Text(), nullable=False),
        sa.Column("second", sa.Text(), nullable=True),
        sa.Column("slot", sa.Integer(), nullable=True),
        sa.Column("expected", sa.JSON(), nullable=True),
        sa.Column("shown_at", UTC_TIME, nullable=False),
        sa.Column("expires_at", UTC_TIME, nullable=True),
        sa.Column("closed_at", UTC_TIME, nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("problem_role", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('training', 'pair', 'mos', 'null', 'gold', 'trap', 'repeat')", name="ck_task_kind"
        ),
        sa.CheckConstraint("state IN ('open', 'done', 'late', 'problem', 'expired')", name="ck_task_state"),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name="fk_task_assignment"),
        sa.ForeignKeyConstraint(["sitting_id"], ["sitting.id"], name="fk_task_sitting"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("nonce", name="uq_task_nonce"),
        sa.UniqueConstraint("assignment_id", name="uq_task_assignment"),
    )
    op.create_index("uq_task_open", "task", ["sitting_id"], unique=True, sqlite_where=OPEN, postgresql_where=OPEN)
    op.create_index("uq_task_mos", "task", ["first", "slot"], unique=True, sqlite_where=MOS, postgresql_where=MOS)
    op.create_index("ix_task_sitting", "task", ["sitting_id"])


def _create_stimulus() -> None:
    op.create_table(
        "stimulus",
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("treatment", sa.Text(), nullable=False),
        sa.Column("duration_s", sa.Float(), nullable=False),
        sa.Column("plays", sa.Integer(), nullable=False),
        sa.Column("coverage", sa.Float(), nullable=False),
        sa.Column("rate", sa.Float(), nullable=False),
        sa.Column("heard_at", UTC_TIME, nullable=True),
        sa.CheckConstraint("role IN ('prompt', 'first', 'second')", name="ck_stimulus_role"),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_stimulus_task"),
        sa.PrimaryKeyConstraint("task_id", "role"),
        sa.UniqueConstraint("token", name="uq_stimulus_token"),
    )


def _create_reply() -> None:
    op.create_table(
        "reply",
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("value", sa.SmallInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("saved_at", UTC_TIME, nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name="fk_reply_task"),
        sa.PrimaryKeyConstraint("task_id", "rubric"),
    )
