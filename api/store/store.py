"""The persistent store of a server: its jobs, plans and API keys in one database."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from sqlalchemy import text, update

from memplan.api.store import migrations, totals
from memplan.api.store.database import CONNECTIONS, Database
from memplan.api.store.errors import FullDiskError, UnreachableError
from memplan.api.store.listening import NotificationThread
from memplan.api.store.schema import versions
from memplan.api.store.tables.events import Events
from memplan.api.store.tables.jobs import Jobs
from memplan.api.store.tables.keys import Keys
from memplan.api.store.tables.leases import Leases
from memplan.api.store.tables.plans import Plans

T = TypeVar("T")
PATIENCE_S = 30.0
"""The seconds for which a starting server or worker waits for a database that is still starting."""
_AGAIN_S = 0.5
_LOG = logging.getLogger("memplan")
_LOCK = 0x6D656D706C616E  # The lock number must differ from other programs' numbers: it spells "memplan".


class Store:
    """Jobs, plans and keys in one database. All methods block, so an event loop calls them by `run_in_thread`."""

    def __init__(self, database: Database) -> None:
        """Make the operations on each table of an open database."""
        self._database = database
        self._threads = CapacityLimiter(CONNECTIONS)
        self.jobs = Jobs(database)
        self.leases = Leases(database)
        self.events = Events(database)
        self.plans = Plans(database)
        self.keys = Keys(database)

    @classmethod
    def open(cls, url: str | None, data_folder: Path, patience_s: float = 0.0, connections: int = CONNECTIONS) -> Store:
        """Open the database at `url`, or by default the file in `data_folder`, and create or upgrade its tables.

        For `patience_s` seconds, connecting is tried again. Raises OptionError for a wrong `url` or folder, and
        StoreError if the database does not respond, or has tables of a later version or of another program.
        """
        database, give_up = Database.open(url, data_folder, connections), time.monotonic() + patience_s
        while True:
            try:
                upgrade_tables(database)
            except UnreachableError as error:
                if time.monotonic() >= give_up:
                    database.close()
                    raise
                _LOG.warning("%s: it is asked again", error)
                time.sleep(_AGAIN_S)
            except FullDiskError:
                if database.disk is None or not database.disk.give_reserve():
                    database.close()
                    raise
            except BaseException:
                database.close()
                raise
            else:
                return cls(database)

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Return the result of a blocking operation of the store, run in a thread; its errors are raised here."""
        return await to_thread.run_sync(work, limiter=self._threads)

    def start_listening(self, wake: Callable[[], object]) -> NotificationThread | None:
        """Return a started thread that calls `wake` for waiting jobs and cancellations; None for SQLite."""
        return None if self._database.is_sqlite else NotificationThread(self._database, wake)

    def check(self) -> None:
        """Test the store by writing and reading; raises StoreError, or FullDiskError without space for jobs."""
        self._database.check_file()
        with self._database.writing() as connection:
            # Write the same value again, which tests the path to the disk without changing data.
            connection.execute(update(versions).values(version=versions.c.version))
        self._database.check_room()

    @property
    def lacks_room(self) -> bool:
        """True if the disk was full at the last write or check."""
        return self._database.lacks_room

    def tidy(self) -> None:
        """Restore the reserve (disk space for removing jobs from a full disk); if the disk was full, check it again."""
        if self._database.disk is not None:
            self._database.disk.keep_reserve()
        if self.lacks_room:
            self._database.check_room()

    def close(self) -> None:
        """Close all connections to the database."""
        self._database.close()


def upgrade_tables(database: Database) -> int | None:
    """Create or upgrade the tables; return the revision that they had, or None for a new database.

    If several servers start at once, one of them does the work while the others wait. Raises StoreError.
    """
    with database.writing() as connection:
        if not database.is_sqlite:  # a SQLite transaction locks the whole database, so no lock is needed
            # A migration may take long, so turn off timeouts for the migration and for servers that wait for the lock.
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'")
        before = migrations.upgrade_tables(connection)
        totals.recount(connection)
        return before
