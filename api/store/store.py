"""The store of one server: what must outlive it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from sqlalchemy import text

from memplan.api.store.database import CONNECTIONS, Database
from memplan.api.store.migrating import migrate
from memplan.api.store.tables.arrivals import Arrivals
from memplan.api.store.tables.events import Events
from memplan.api.store.tables.jobs import Jobs
from memplan.api.store.tables.keys import Keys
from memplan.api.store.tables.leases import Leases
from memplan.api.store.tables.plans import Plans

T = TypeVar("T")


class Store:
    """Jobs, plans and keys in one database. Its methods and theirs block: on an event loop, use `briefly`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = CapacityLimiter(CONNECTIONS)
        self.arrivals = Arrivals(database)
        self.jobs = Jobs(database)
        self.leases = Leases(database)
        self.events = Events(database)
        self.plans = Plans(database)
        self.keys = Keys(database)

    @classmethod
    def open(cls, url: str | None, data_folder: Path) -> Store:
        """Open the database that `url` names, or else the one in `data_folder`, with its tables brought up to date.

        Raises OptionError where there can be none, StoreError where it does not answer or a newer memplan made it.
        """
        database = Database.open(url, data_folder)
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    async def briefly(self, work: Callable[[], T]) -> T:
        """Do work with the store in a thread, so that the event loop goes on; raises what it raises."""
        return await to_thread.run_sync(work, limiter=self._threads)

    def check(self) -> None:
        """Write and read; raises StoreError where that fails, or where there is no room for more."""
        self._database.check_room()
        with self._database.writing() as connection:
            # The same again: it takes its way to the disk, and changes nothing.
            connection.execute(text("UPDATE alembic_version SET version_num = version_num"))

    def close(self) -> None:
        """Close all connections."""
        self._database.close()
