"""Jobs have a kind; those that are there already are for plans."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "002"
down_revision = "001"


def upgrade() -> None:
    """Add the column."""
    op.add_column("jobs", sa.Column("kind", sa.Text, nullable=False, server_default="plan"))
