"""Answers keep what an imported file says of them in columns of its own."""

import sqlalchemy as sa
from alembic import op

revision = "v0002"
down_revision = "v0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of the answers that are there nothing more is known."""
    op.add_column("answer", sa.Column("extra", sa.JSON(), nullable=True))
