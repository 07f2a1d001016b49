"""Bring a database to the tables that this program has."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from memplan.api.store.database import Database
from memplan.api.store.errors import NewerStoreError

_FOLDER = Path(__file__).with_name("migrations")
_LOCK = 0x6D656D706C616E  # "memplan"


def migrate(database: Database) -> None:
    """Run what migrations are missing, in one transaction; of several servers that start, one does it.

    Raises StoreError; NewerStoreError where the database is ahead of this program.
    """
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    known = ScriptDirectory.from_config(config)
    with database.writing() as connection:
        if not database.is_sqlite:  # whose transaction locks the whole database already
            connection.execute(text("SET LOCAL lock_timeout = 0"))  # another may take its time over it
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        version = revision(connection)
        if version == known.get_current_head():
            return
        if version is not None and version not in {script.revision for script in known.walk_revisions()}:
            raise NewerStoreError(f"database: was made by a newer memplan (its version is {version})")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def revision(connection: Connection) -> str | None:
    """Return the version of a database; None of an empty one."""
    return MigrationContext.configure(connection).get_current_revision()
