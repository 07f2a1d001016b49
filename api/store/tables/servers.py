"""The servers that share a store, with signs of life."""

from __future__ import annotations

from sqlalchemy import delete, select, update

from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.writing import insert_or_skip


class Servers:
    """The table of servers, each with a number that it raises every few seconds.

    It is a number, and no time of day: clocks differ and jump, but a server that sees a number stand still for long, by
    its own stopwatch, knows enough.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def beat(self, server: str) -> dict[str, int]:
        """Record a heartbeat of a server; return the numbers of all."""
        with self._database.writing() as connection:
            rows, mine = schema.servers, schema.servers.c.id == server
            if not connection.execute(update(rows).where(mine).values(beats=rows.c.beats + 1)).rowcount:
                insert_or_skip(connection, rows, {"id": server, "beats": 1})
            return {row.id: row.beats for row in connection.execute(select(rows))}

    def forget(self, server: str, beats: int | None = None) -> bool:
        """Strike a server from the list; with `beats`, only if it stands there still. Return whether it was struck."""
        rows = schema.servers
        strike = delete(rows).where(rows.c.id == server)
        with self._database.writing() as connection:
            return connection.execute(strike if beats is None else strike.where(rows.c.beats == beats)).rowcount == 1
