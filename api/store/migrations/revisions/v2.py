"""Two counts of jobs begun anew: their worker ended, or they had no answer. Later servers made both themselves."""

from alembic import op
from sqlalchemy import Column, Integer

revision, down_revision = "2", "1"


def upgrade() -> None:
    """Count both, from nothing."""
    for name in ("lapses", "failures"):
        op.add_column("jobs", Column(name, Integer, nullable=False, server_default="0"))
