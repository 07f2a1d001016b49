"""Jobs know the hash of their plan, and where their end is told; what is yet to be told has a table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "004"
down_revision = "003"


def upgrade() -> None:
    """Add the columns and the table."""
    op.add_column("jobs", sa.Column("plan_hash", sa.Text))
    op.add_column("jobs", sa.Column("webhook", sa.Text))
    op.create_index("jobs_by_plan", "jobs", ["plan_hash"])
    op.create_table(
        "deliveries",
        sa.Column("job_id", sa.Text, sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Double, nullable=False),
    )
    op.create_index("deliveries_by_time", "deliveries", ["next_at"])
