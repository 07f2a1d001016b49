"""Revision 3: an index of waiting jobs by key, to find jobs of other keys when one key fills the queue."""

from alembic import op

revision, down_revision = "3", "2"


def upgrade() -> None:
    """Create the index."""
    op.create_index("jobs_in_turn_of_key", "jobs", ["state", "key_id", "priority", "id"])
