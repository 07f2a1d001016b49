"""SQL statements that differ between SQLite and PostgreSQL."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Double, Table, cast, extract, func, literal
from sqlalchemy.dialects import sqlite

T = TypeVar("T")
CHANNEL = "memplan_jobs"
"""The PostgreSQL channel of the notifications that wake workers."""


def time_in(connection: Connection) -> ColumnElement[float]:
    """Return an SQL expression for the database's current time in seconds; for SQLite, this machine's time."""
    if connection.dialect.name == "sqlite":
        return literal(time.time())
    # PostgreSQL cannot use an index for clock_timestamp, which it evaluates per row, so use statement_timestamp.
    return cast(extract("epoch", func.statement_timestamp()), Double)


def wake_workers(connection: Connection) -> None:
    """Wake all listening workers when this transaction commits; with SQLite, workers poll instead."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"NOTIFY {CHANNEL}")


def insert_new(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], column: Column[T]
) -> Sequence[T]:
    """Insert the rows that do not conflict with existing rows. Return the inserted rows' values of `column`."""
    insert = _dialect_insert(connection)
    return connection.execute(insert(table).on_conflict_do_nothing().returning(column), rows).scalars().all()


def upsert_row(
    connection: Connection,
    table: Table,
    values: Mapping[str, Any],
    change: Callable[[Any], Mapping[str, Any]] | None = None,
) -> None:
    """Insert a row; if its primary key exists, overwrite that row, or update it as `change` describes."""
    insert = _dialect_insert(connection)
    keys = {column.name for column in table.primary_key}
    added = insert(table).values(values)
    rest = change(added.excluded) if change else {name: added.excluded[name] for name in values if name not in keys}
    connection.execute(added.on_conflict_do_update(index_elements=sorted(keys), set_=rest))


def _dialect_insert(connection: Connection) -> Any:
    if connection.dialect.name == "sqlite":
        return sqlite.insert
    from sqlalchemy.dialects import postgresql

    return postgresql.insert
