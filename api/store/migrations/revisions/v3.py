"""An index of the jobs of each key in their turn, which finds those beside a key that owns the queue."""

from alembic import op

revision, down_revision = "3", "2"


def upgrade() -> None:
    """Make it."""
    op.create_index("jobs_in_turn_of_key", "jobs", ["state", "key_id", "priority", "id"])
