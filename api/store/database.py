"""A database, either an SQLite file or PostgreSQL, with its connections and transactions."""

import importlib.util
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from memplan.api.store import totals
from memplan.api.store.disk import LEAST_ROOM, Disk
from memplan.api.store.errors import FullDiskError, StoreError, UnreachableError
from memplan.planner.errors import OptionError

FILE = "memplan.db"
CONNECTIONS = 8
"""The maximum number of threads that use the database at one time."""
_CACHE_KIB = 512
"""The size of SQLite's page cache per connection, in KiB; a small one suffices, as most look-ups are of recent rows."""
_BUSY_S = 10
"""The seconds for which a transaction waits for another process."""
_POOL: dict[str, Any] = {"pool_size": CONNECTIONS, "max_overflow": 0, "pool_timeout": _BUSY_S}
_MAGIC = b"SQLite format 3\0"
_NO_CONNECTION = (None, "57P03")
"""PostgreSQL's error states for a server that does not respond, or is starting or stopping."""
_DISK_FULL, _LOCKED = "53100", "55P03"
"""PostgreSQL's error states for a full disk, and for a lock held by another transaction."""
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_WRITE)
_FILL = "INSERT INTO probes SELECT repeat('memplan.', 240) FROM generate_series(1, 40)"
"""Ten pages of rows that PostgreSQL neither compresses nor stores elsewhere: inserting them grows an emptied table."""
T = TypeVar("T")


class Database:
    """The connections to one database; thread-safe, with one transaction at a time per thread."""

    def __init__(self, engine: Engine) -> None:
        """Use the connections of an SQLAlchemy engine; for SQLite, also prepare a lock of writers and the disk."""
        self.engine = engine
        self.is_sqlite = engine.dialect.name == "sqlite"
        # SQLite allows one writer and would poll to wait, so threads of this process wait for a lock instead.
        self._writer = threading.Lock() if self.is_sqlite else nullcontext()
        self._reader = engine.execution_options(memplan_only_reads=True)
        self.disk = Disk(Path(str(engine.url.database)).absolute()) if self.is_sqlite else None
        self.lacks_room = False
        """True if the disk was full at the last write or check."""
        self._file: FileIO | None = None  # Closing the file would drop SQLite's locks, so keep the file open.

    @classmethod
    def open(cls, url: str | None, folder: Path, connections: int = CONNECTIONS) -> "Database":
        """Open the database at `url`, or by default a file in `folder`; raises OptionError or StoreError.

        A missing folder is created. For PostgreSQL, at most `connections` connections are opened, besides one that
        listens for notifications.
        """
        address = URL.create("sqlite", database=str(folder / FILE)) if url is None else make_url(url)
        if address.get_backend_name() == "sqlite":
            return cls(_sqlite_engine(address))
        return cls(_postgresql_engine(address, connections))

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield the connection of one writing transaction, durable when the block ends. Raises StoreError."""
        with self._translate_errors(), self._writer, self.engine.begin() as connection:
            totals.forget_changes(connection)
            yield connection
            totals.write_changes(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield the connection of one read-only transaction. Raises StoreError."""
        with self._translate_errors(), self._reader.begin() as connection:
            yield connection

    def use_reserve(self, work: Callable[[Connection], T]) -> T:
        """Return the result of a transaction that frees space; on a full disk, it may use the reserve of disk space."""
        try:
            with self.writing() as connection:
                return work(connection)
        except FullDiskError:
            if self.disk is None or not self.disk.give_reserve():
                raise
        try:
            with self.writing() as connection:
                return work(connection)
        finally:
            self.disk.keep_reserve()

    def check_room(self) -> None:
        """Raise FullDiskError if the disk lacks the space that new jobs need."""
        # The test may write rows, but the connection rolls back every change, so no data remain.
        with self._translate_errors(), self._reader.connect() as connection:
            if self.disk is not None:
                if (room := self.disk.room(connection)) < LEAST_ROOM:
                    rule = f"must have at least {LEAST_ROOM} bytes free for jobs"
                    raise FullDiskError(f"database: its disk {rule}, got {room}")
            else:
                try:
                    connection.exec_driver_sql("LOCK TABLE probes IN ACCESS EXCLUSIVE MODE NOWAIT")
                except DBAPIError as error:
                    if getattr(error.orig, "sqlstate", "") != _LOCKED:
                        raise
                    return  # a backup has locked the table, so skip the test
                connection.exec_driver_sql("TRUNCATE probes")
                connection.exec_driver_sql(_FILL)
        self.lacks_room = False

    def check_file(self) -> None:
        """Raise StoreError if the SQLite file on the disk is damaged, even where cached pages still look intact."""
        if not self.is_sqlite:
            return
        path = Path(str(self.engine.url.database)).absolute()
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as connection:
                for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                    connection.execute(f'SELECT * FROM "{table}" LIMIT 1').fetchall()
            self._file = self._file or path.open("rb", buffering=0)
            if os.pread(self._file.fileno(), len(_MAGIC), 0) != _MAGIC:
                raise StoreError("database: its file is no longer an SQLite database")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"database: its file cannot be read: {error}") from error

    def close(self) -> None:
        """Close all connections to the database."""
        self.engine.dispose()
        if self._file is not None:
            self._file.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise StoreError or a subclass for an error of the database driver in the block."""
        try:
            yield
        except FullDiskError:
            self.lacks_room = True
            raise
        except DBAPIError as error:
            # Database errors quote the statement with data of callers, so report only the error's code.
            state, code = getattr(error.orig, "sqlstate", ""), getattr(error.orig, "sqlite_errorcode", None)
            kind = UnreachableError if state in _NO_CONNECTION else StoreError
            if state == _DISK_FULL or code in _FULL:
                kind, self.lacks_room = FullDiskError, True
            raise kind(f"database: {str(error.orig).strip().splitlines()[0]}") from error
        except PoolTimeoutError:
            raise StoreError(f"database: all connections were in use for {_BUSY_S} s") from None


def _sqlite_engine(url: URL) -> Engine:
    """Return an engine for an SQLite file, which is created if it is missing; raises OptionError."""
    if url.database in (None, "", ":memory:"):
        raise OptionError("database_url: must name a file, since a database in memory keeps nothing")
    folder = Path(str(url.database)).parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"data_folder: cannot create {folder}: {error.strerror}") from error
    # SQLite creates its other files with the mode of the database file, so create this private file first.
    with suppress(OSError):
        os.close(os.open(str(url.database), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    engine = create_engine(url, **_POOL, connect_args={"timeout": _BUSY_S, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # `_begin` starts transactions, so the driver must not start any.
        # By default, Debian's secure_delete is ON and needs space to delete rows, which a full disk lacks.
        pragmas = "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = FAST"
        for pragma in (*pragmas, f"cache_size = -{_CACHE_KIB}"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A transaction that reads first cannot write after another's write, so a writer begins with BEGIN IMMEDIATE.
        only_reads = connection.get_execution_options().get("memplan_only_reads", False)
        connection.exec_driver_sql("BEGIN" if only_reads else "BEGIN IMMEDIATE")

    return engine


def _postgresql_engine(url: URL, connections: int) -> Engine:
    """Return an engine for a PostgreSQL database in UTF-8; raises OptionError for a missing package or encoding."""
    if importlib.util.find_spec("psycopg") is None:
        raise OptionError("database_url: PostgreSQL needs psycopg: pip install 'memplan[postgres]'")
    from psycopg import OperationalError

    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        **_POOL | {"pool_size": connections},
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": _BUSY_S,
            "application_name": "memplan",
            # A connection pooler may switch connections, which loses prepared statements, so prepare no statements.
            "prepare_threshold": None,
            # Set timeouts, so that a hanging server cannot hold locks for ever and this process cannot wait for ever.
            "options": "-c lock_timeout=10s -c statement_timeout=60s -c idle_in_transaction_session_timeout=60s",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 20_000,
        },
    )

    @event.listens_for(engine, "connect", insert=True)  # Other queries depend on the encoding, so check it first.
    def _check_encoding(connection: Any, _record: object) -> None:
        """Raise OptionError if the database of a new PostgreSQL connection is not encoded in UTF-8."""
        encoding = connection.info.parameter_status("server_encoding")
        if encoding is None:  # A missing encoding means that the server has closed the connection.
            raise OperationalError("the connection was closed before it was established")
        if encoding != "UTF8":
            connection.close()  # SQLAlchemy does not close a connection that a listener refuses.
            raise OptionError(f"database_url: must name a database whose encoding is UTF8, got {encoding}")

    return engine
