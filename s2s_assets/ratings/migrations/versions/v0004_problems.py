"""Find the pairs with technical problems without reading every assignment."""

import sqlalchemy as sa
from alembic import op

revision = "v0004"
down_revision = "v0003"
branch_labels = None
depends_on = None

PROBLEM = sa.text("state = 'problem'")


def upgrade() -> None:
    """Add the partial index."""
    op.create_index("ix_assignment_problem", "assignment", ["pair_id"], sqlite_where=PROBLEM, postgresql_where=PROBLEM)
