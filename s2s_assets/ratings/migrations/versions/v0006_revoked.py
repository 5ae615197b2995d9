"""By whom and why an invitation was revoked."""

import sqlalchemy as sa
from alembic import op

revision = "v0006"
down_revision = "v0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the two columns; empty where it was revoked before they were there."""
    for name in ("revoked_by", "revoked_reason"):
        op.add_column("invitation", sa.Column(name, sa.Text(), nullable=True))
