"""The first tables: jobs and what they need, plans, keys and servers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    _make_jobs()
    _make_what_jobs_need()
    op.create_table(
        "plans",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("plan", sa.LargeBinary, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("is_final", sa.Boolean, nullable=False),
        sa.Column("peak", sa.Text),
        sa.Column("lower_bound", sa.Text),
        sa.Column("searched_s", sa.Double, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("used_at", sa.Double, nullable=False),
    )
    op.create_index("plans_by_use", "plans", ["used_at", "bytes"])
    op.create_table(
        "keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, unique=True, nullable=False),
        sa.Column("hash", sa.Text, unique=True, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("max_jobs", sa.Integer),
        sa.Column("max_requests_per_minute", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
        sa.Column("used_at", sa.Double),
    )
    op.create_table(
        "servers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("beats", sa.Integer, nullable=False),
    )


def _make_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("key_id", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("problem_hash", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("n_buffers", sa.Integer, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("time_limit_s", sa.Double, nullable=False),
        sa.Column("deadline_at", sa.Double),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("finished_at", sa.Double),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("is_cancel_asked", sa.Boolean, nullable=False),
        sa.Column("idempotency_key", sa.Text, unique=True),
        sa.Column("request_digest", sa.Text),
        sa.Column("lease_owner", sa.Text),
        sa.Column("lease", sa.Integer, nullable=False),
        sa.Column("last_event", sa.Integer, nullable=False),
        sa.Column("progress", sa.Text),
        sa.Column("plan_status", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("late_s", sa.Double),
    )
    op.create_index("jobs_in_line", "jobs", ["state", "priority", "id"])
    op.create_index("jobs_by_deadline", "jobs", ["state", "deadline_at"])
    op.create_index("jobs_by_end", "jobs", ["finished_at"])
    op.create_index("jobs_by_owner", "jobs", ["lease_owner"])
    op.create_index("jobs_by_key", "jobs", ["key_id", "id"])
    op.create_index("jobs_by_key_and_state", "jobs", ["key_id", "state"])
    op.create_index("jobs_by_name", "jobs", ["name"])
    op.create_index("jobs_by_problem", "jobs", ["problem_hash"])


def _make_what_jobs_need() -> None:
    for name, column in (("submissions", "problem"), ("answers", "plan")):
        op.create_table(
            name,
            sa.Column("job_id", sa.Text, sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
            sa.Column(column, sa.LargeBinary, nullable=False),
        )
    op.create_table(
        "job_events",
        sa.Column("job_id", sa.Text, sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
