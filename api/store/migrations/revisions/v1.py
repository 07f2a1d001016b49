"""Revision 1: the first tables, which were created without a revision number."""

revision, down_revision = "1", None


def upgrade() -> None:
    """Do nothing, because a database without tables gets the newest tables directly."""
