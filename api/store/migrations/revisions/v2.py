"""Why a job was begun anew: its worker ended, or it had no answer. Also made without a revision, by later servers."""

from alembic import op
from sqlalchemy import Column, Integer

revision, down_revision = "2", "1"


def upgrade() -> None:
    """Count both, from nothing."""
    for name in ("lapses", "failures"):
        op.add_column("jobs", Column(name, Integer, nullable=False, server_default="0"))
