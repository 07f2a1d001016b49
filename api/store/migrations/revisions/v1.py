"""The first tables, which were made without a revision."""

revision, down_revision = "1", None


def upgrade() -> None:
    """Do nothing: a database without tables gets the latest ones."""
