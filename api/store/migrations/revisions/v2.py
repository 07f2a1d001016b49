"""Revision 2: count a job's restarts after the death of its worker, and after a missing answer."""

from alembic import op
from sqlalchemy import Column, Integer

revision, down_revision = "2", "1"


def upgrade() -> None:
    """Add both columns, `lapses` and `failures`, with the value 0."""
    for name in ("lapses", "failures"):
        op.add_column("jobs", Column(name, Integer, nullable=False, server_default="0"))
