"""Keys take turns: the jobs that wait are found by their key, and the last that began of each."""

from __future__ import annotations

from alembic import op

revision = "005"
down_revision = "004"


def upgrade() -> None:
    """Change the indices."""
    op.create_index("jobs_in_turn", "jobs", ["state", "key_id", "priority", "id"])
    op.create_index("jobs_by_start", "jobs", ["key_id", "started_at"])
    op.drop_index("jobs_in_line", "jobs")
