"""Revision 4: the stored bytes of each job, totals, and the time at which each worker was last alive."""

from alembic import op
from sqlalchemy import BigInteger, Column, Double, Integer, Text

revision, down_revision = "4", "3"


def upgrade() -> None:
    """Add the columns and tables; the bytes of existing jobs count as 0."""
    op.add_column("jobs", Column("bytes", Integer, nullable=False, server_default="0"))
    op.create_index("jobs_by_bytes", "jobs", ["key_id", "bytes"])
    op.add_column("keys", Column("max_kept_bytes", BigInteger))
    names = Column("kind", Text, primary_key=True), Column("name", Text, primary_key=True)
    part = Column("part", Integer, primary_key=True, autoincrement=False)
    op.create_table("totals", *names, part, Column("value", BigInteger, nullable=False))
    seen_at = Column("seen_at", Double, nullable=False)
    op.create_table("workers", Column("holder", Text, primary_key=True), seen_at)
    op.create_table("probes", Column("content", Text, nullable=False))
