"""The tables of this version; each change here needs a module in `migrations`, and the next REVISION.

Times are UTC, in seconds since 1970. Large values are in separate tables, since SQLite rewrites a whole row for each
change.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

from memplan.api.store.columns import CompressedBytes, Json

REVISION = 4
"""The number of the newest revision of the tables."""
METADATA = MetaData()
alembic_version = Table("alembic_version", METADATA, Column("version_num", String(32), primary_key=True))
"""The revision of the tables, where alembic looks for it."""
versions = Table("versions", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))
"""The same revision in the form that servers without migrations expect."""


def _job_id() -> Column[str]:
    return Column("job_id", Text, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)


jobs = Table(
    "jobs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("key_id", Text),
    Column("kind", Text, nullable=False, server_default="plan"),
    Column("state", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("problem_hash", Text, nullable=False),
    Column("name", Json),
    Column("n_buffers", Integer, nullable=False),
    Column("options", Json, nullable=False),
    Column("time_limit_s", Double, nullable=False),
    Column("deadline_at", Double),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    Column("attempts", Integer, nullable=False),  # number of times the job was started
    Column("lapses", Integer, nullable=False),  # number of times the job's worker died
    Column("failures", Integer, nullable=False),  # number of times the job's child process died or was late
    Column("is_cancel_asked", Boolean, nullable=False),
    Column("idempotency_key", Text, unique=True),  # the caller's key, prefixed with the id of the API key
    Column("request_digest", Text),
    Column("lease_holder", Text),  # the id of the worker that runs the job
    Column("lease_until", Double),
    # number of times the job was claimed; writes of earlier claims are refused
    Column("lease", Integer, nullable=False),
    Column("last_event", Integer, nullable=False),
    Column("progress", Json),
    Column("plan_status", Text),
    Column("plan_hash", Text),
    Column("error", Text),
    Column("late_s", Double),
    Column("bytes", Integer, nullable=False, server_default="0"),  # the job's stored bytes; 0 for jobs of older servers
    Index("jobs_in_turn", "state", "priority", "id"),
    Index("jobs_by_lease", "state", "lease_until"),
    Index("jobs_by_deadline", "state", "deadline_at"),
    Index("jobs_by_end", "finished_at"),
    Index("jobs_by_holder", "lease_holder"),
    Index("jobs_by_key", "key_id", "id"),
    Index("jobs_by_key_and_state", "key_id", "state"),
    Index("jobs_in_turn_of_key", "state", "key_id", "priority", "id"),
    Index("jobs_by_name", "name"),
    Index("jobs_by_problem", "problem_hash"),
    Index("jobs_by_plan", "plan_hash"),
    Index("jobs_by_bytes", "key_id", "bytes"),
)

submissions = Table(
    "submissions",
    METADATA,
    _job_id(),
    Column("head", Text, nullable=False),
    Column("body", CompressedBytes, nullable=False),
)
"""The requests of jobs: media type, query, and the body as it arrived."""

answers = Table("answers", METADATA, _job_id(), Column("content", CompressedBytes, nullable=False))
"""The best answer of each job so far."""

job_events = Table(
    "job_events",
    METADATA,
    _job_id(),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("data", Json, nullable=False),
)

plans = Table(
    "plans",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("plan", LargeBinary, nullable=False),
    Column("status", Text, nullable=False),
    Column("searched_s", Double, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index("plans_by_age", "updated_at", "bytes"),  # eviction scans all plans by this index
)

keys = Table(
    "keys",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, unique=True, nullable=False),
    Column("hash", Text, unique=True, nullable=False),
    Column("scopes", Json, nullable=False),
    Column("max_jobs", Integer),
    Column("max_requests_per_minute", Integer),
    Column("max_kept_bytes", BigInteger),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
    Column("used_at", Double),
)

totals = Table(
    "totals",
    METADATA,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
)
"""Totals over rows that are too many to count for each request; see the module `totals`."""

workers = Table(
    "workers", METADATA, Column("holder", Text, primary_key=True), Column("seen_at", Double, nullable=False)
)
"""The time at which each worker was last known to be alive; a worker is a holder of leases."""

probes = Table("probes", METADATA, Column("content", Text, nullable=False))
"""An always empty table. Filling it in a transaction that is rolled back tests PostgreSQL's disk for free space."""
