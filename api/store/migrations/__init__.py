"""Migrations: creation of a database's tables, and upgrades of existing tables to this version.

Each change is a module of `revisions` with the next number. A change only adds columns and tables, so that servers of
the previous version can run until all are replaced. Columns and tables to be removed are unused for one version first.
"""

from io import StringIO
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, create_mock_engine, insert, inspect, select
from sqlalchemy.schema import CreateTable

from memplan.api.store.errors import StoreError
from memplan.api.store.schema import METADATA, REVISION, alembic_version, jobs, versions

_NUMBERS = (insert(versions).values(version=REVISION), insert(alembic_version).values(version_num=str(REVISION)))


def revision_of(connection: Connection) -> int | None:
    """Return the revision of the tables; None for a database without tables.

    Raises StoreError for tables of a later memplan or of another program.
    """
    there = set(inspect(connection).get_table_names())
    if not there:
        return None
    column = alembic_version.c.version_num if alembic_version.name in there else versions.c.version
    found = str(connection.scalar(select(column))) if {versions.name, jobs.name} <= there else ""
    if not found.isdecimal():
        raise StoreError("database: must be empty or made by memplan, got tables of another program")
    if (revision := int(found)) > REVISION:
        raise StoreError(
            f"database: has the tables of a later memplan (revision {revision}), but this memplan knows {REVISION}: "
            "start the later one, or restore the backup from before the upgrade"
        )
    return revision


def upgrade_tables(connection: Connection) -> int | None:
    """Create or upgrade the tables within the connection's transaction; return the revision that they had before."""
    before = revision_of(connection)
    if before is None:
        METADATA.create_all(connection)
        for row in _NUMBERS:
            connection.execute(row)
    elif before < REVISION:
        _upgrade(connection, before)
    else:  # Tables of a current store may have been dropped, so create missing tables again.
        METADATA.create_all(connection, tables=[each for each in METADATA.sorted_tables if each is not alembic_version])
    return before


def upgrade_statements(connection: Connection) -> str:
    """Return the SQL statements that would create or upgrade the tables; nothing is changed."""
    before, written = revision_of(connection), StringIO()
    if before is None:
        made: list[Any] = []
        engine = create_mock_engine(connection.engine.url, lambda one, *_: made.append(one))
        METADATA.create_all(engine, checkfirst=False)
        for one in (*made, *_NUMBERS):
            sql = one.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
            written.write(f"{str(sql).strip()};\n\n")
    elif before < REVISION:
        _upgrade(connection, before, written)
    return written.getvalue()


def _upgrade(connection: Connection, before: int, written: IO[str] | None = None) -> None:
    """Apply all revisions after `before`; if `written` is given, write their statements to it instead."""
    from alembic import command
    from alembic.config import Config

    config = Config(output_buffer=written)
    folder = str(Path(__file__).parent).replace("%", "%%")
    config.set_main_option("script_location", folder)
    config.set_main_option("version_locations", f"{folder}/revisions")
    config.set_main_option("path_separator", "newline")
    first: list[Any] = []
    # A store older than revision numbers has no table for its revision number, so create that table first.
    if not inspect(connection).has_table(alembic_version.name):
        first = [CreateTable(alembic_version), insert(alembic_version).values(version_num=str(before))]
    config.attributes.update(connection=connection, first=first)
    command.upgrade(config, f"{before}:head" if written else "head", sql=written is not None)
