"""A PostgreSQL connection that notifies workers of waiting jobs and cancellations."""

import secrets
import threading
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from memplan.api.store.database import Database
from memplan.api.store.errors import StoreError
from memplan.api.store.writing import CHANNEL

_AGAIN_S = 1.0
"""The seconds before a lost connection is reopened."""
_LOOK_S = 0.2
"""The seconds within which the thread ends after it is stopped."""


class NotificationThread:
    """A thread that calls `wake` for each notification from PostgreSQL.

    `hears` is True once a notification that this process sent has arrived. With a pooler that changes the connection of
    each transaction, no notification arrives, and workers must poll.
    """

    def __init__(self, database: Database, wake: Callable[[], object]) -> None:
        """Start the thread at once."""
        self.hears = False
        self._database, self._wake = database, wake
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep_listening, name="memplan-listening", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and end the thread."""
        self._closing.set()
        self._thread.join(2 * _AGAIN_S)

    def _keep_listening(self) -> None:
        """Listen for notifications until the thread stops; after a failure, wake the worker, wait, and try again."""
        from psycopg import Error

        while not self._closing.is_set():
            try:
                self._listen_once()
            # Other queries report the same database errors, so the listening thread only tries to connect again.
            except (Error, SQLAlchemyError, StoreError):
                self.hears = False
                self._wake()  # Without notifications, the worker must poll the store, so wake the worker.
                self._closing.wait(_AGAIN_S)

    def _listen_once(self) -> None:
        """Call `wake` for each notification of one connection, until it fails or the thread stops."""
        pooled = self._database.engine.raw_connection()
        connection, own = pooled.driver_connection, secrets.token_hex(8)
        assert connection is not None
        pooled.detach()  # Listening must not occupy a place in the connection pool, so detach the connection.
        try:
            connection.autocommit = True
            connection.execute(f"LISTEN {CHANNEL}")
            # No notification passes through some connection poolers, so send one and see whether it arrives.
            with self._database.writing() as another:
                another.exec_driver_sql(f"NOTIFY {CHANNEL}, '{own}'")
            while not self._closing.is_set():
                for heard in connection.notifies(timeout=_LOOK_S):
                    self.hears = self.hears or heard.payload == own
                    self._wake()
        finally:
            connection.close()
