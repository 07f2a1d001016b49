"""The store of one server: what must outlive it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from sqlalchemy import insert, inspect, select, text, update

from memplan.api.store.database import CONNECTIONS, Database
from memplan.api.store.errors import StoreError, UnreachableError
from memplan.api.store.schema import METADATA, VERSION, versions
from memplan.api.store.tables.events import Events
from memplan.api.store.tables.jobs import Jobs
from memplan.api.store.tables.keys import Keys
from memplan.api.store.tables.leases import Leases
from memplan.api.store.tables.plans import Plans

T = TypeVar("T")
PATIENCE_S = 30.0
"""The seconds for which a server or a worker that starts asks for a database that starts, too."""
_AGAIN_S = 0.5
_LOG = logging.getLogger("memplan")
_LOCK = 0x6D656D706C616E  # "memplan"


class Store:
    """Jobs, plans and keys in one database. Its methods and theirs block: on an event loop, use `briefly`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = CapacityLimiter(CONNECTIONS)
        self.jobs = Jobs(database)
        self.leases = Leases(database)
        self.events = Events(database)
        self.plans = Plans(database)
        self.keys = Keys(database)

    @classmethod
    def open(cls, url: str | None, data_folder: Path, patience_s: float = 0.0) -> Store:
        """Open the database that `url` names, or else the one in `data_folder`; make its tables if there are none.

        One that takes no connections is asked again for `patience_s`. Raises OptionError where there can be none,
        StoreError where it does not answer or is one of another version.
        """
        database, give_up = Database.open(url, data_folder), time.monotonic() + patience_s
        while True:
            try:
                _make_tables(database)
            except UnreachableError as error:
                if time.monotonic() >= give_up:
                    database.close()
                    raise
                _LOG.warning("%s: it is asked again", error)
                time.sleep(_AGAIN_S)
            except BaseException:
                database.close()
                raise
            else:
                return cls(database)

    async def briefly(self, work: Callable[[], T]) -> T:
        """Do work with the store in a thread, so that the event loop goes on; raises what it raises."""
        return await to_thread.run_sync(work, limiter=self._threads)

    def check(self) -> None:
        """Write and read; raises StoreError where that fails, or where there is no room for more."""
        self._database.check_room()
        self._database.check_file()
        with self._database.writing() as connection:
            # The same again: it takes its way to the disk, and changes nothing.
            connection.execute(update(versions).values(version=versions.c.version))

    def close(self) -> None:
        """Close all connections."""
        self._database.close()


def _make_tables(database: Database) -> None:
    """Make the tables in an empty database; of several servers that start, one does. Raises StoreError."""
    with database.writing() as connection:
        if not database.is_sqlite:  # whose transaction locks the whole database already
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if not inspect(connection).get_table_names():
            METADATA.create_all(connection)
            connection.execute(insert(versions).values(version=VERSION))
        version = connection.scalar(select(versions.c.version)) if inspect(connection).has_table("versions") else None
    if version != VERSION:
        way = "start with another database, or remove this one"
        raise StoreError(f"database: must have tables of version {VERSION}, got {version or 'others'}: {way}")
