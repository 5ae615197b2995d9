"""Who may open the admin pages: links that were made, and the browsers that opened them."""

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"
branch_labels = None
depends_on = None

UTC_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "admin_access",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("made_at", UTC_TIME, nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=True),
        sa.Column("opened_at", UTC_TIME, nullable=True),
        sa.Column("ended_at", UTC_TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_hash", name="uq_admin_access_secret_hash"),
        sa.UniqueConstraint("token_hash", name="uq_admin_access_token_hash"),
    )
