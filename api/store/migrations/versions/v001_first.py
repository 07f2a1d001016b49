"""The first tables: those of the schema as it stands, since no release has written any other."""

from __future__ import annotations

from alembic import op

from memplan.api.store.schema import METADATA

revision = "001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    METADATA.create_all(op.get_bind())
