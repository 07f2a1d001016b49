"""Bring a database to the tables that this program has."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from memplan.api.store.database import Database
from memplan.api.store.errors import NewerStoreError

_FOLDER = Path(__file__).with_name("migrations")
_VERSIONS = sorted(path.name[1:4] for path in (_FOLDER / "versions").glob("v*.py"))
"""The versions that databases had and have, the oldest first, as the names of the migrations count them."""
_LOCK = 0x6D656D706C616E  # "memplan"


def migrate(database: Database) -> None:
    """Run what migrations are missing, in one transaction; of several servers that start, one does it.

    Raises StoreError; NewerStoreError where the database is ahead of this program.
    """
    with database.writing() as connection:
        if not database.is_sqlite:  # whose transaction locks the whole database already
            connection.execute(text("SET LOCAL lock_timeout = 0"))  # another may take its time over it
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        version = revision(connection)
        if version == _VERSIONS[-1]:
            return
        if version is not None and version not in _VERSIONS:
            raise NewerStoreError(f"database: was made by a newer memplan (its version is {version})")
        _upgrade(connection)


def _upgrade(connection: Connection) -> None:
    # Imported here: it takes a fifth of a server's start, and few starts need it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def revision(connection: Connection) -> str | None:
    """Return the version of a database; None of an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return version
