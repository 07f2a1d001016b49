"""Revision 3: an index of waiting jobs by key, which finds other keys' jobs fast if one key fills the queue."""

from alembic import op

revision, down_revision = "3", "2"


def upgrade() -> None:
    """Create the index of jobs by state, key and priority."""
    op.create_index("jobs_in_turn_of_key", "jobs", ["state", "key_id", "priority", "id"])
