"""What reviewers say of the recordings of a script."""

import sqlalchemy as sa
from alembic import op

revision = "v0007"
down_revision = "v0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "recording_verdict",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("recording", sa.Text(), nullable=False),
        sa.Column("source_blob", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("selected", sa.Boolean(), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.CheckConstraint("verdict IN ('accept', 'rerecord', 'reject')", name="ck_recording_verdict_verdict"),
        sa.CheckConstraint(
            "NOT selected OR (verdict IS NOT NULL AND verdict = 'accept')", name="ck_recording_verdict_selected"
        ),
    )
    op.create_index("ix_recording_verdict_prompt", "recording_verdict", ["prompt"])
