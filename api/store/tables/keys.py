"""The table of keys."""

from __future__ import annotations

from sqlalchemy import Row, exists, select, update

from memplan.api.store.api_key import Key
from memplan.api.store.database import Database
from memplan.api.store.schema import keys
from memplan.api.store.writing import insert_new
from memplan.planner.errors import OptionError, shown


class Keys:
    """Keys, the revoked ones too, so that what they did can still be told; each call is one transaction.

    All raise StoreError.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: Key) -> None:
        """Keep a new key; raises OptionError where another has or had its name."""
        values = {**vars(key), "scopes": sorted(key.scopes)}
        with self._database.writing() as connection:
            if not insert_new(connection, keys, [values], keys.c.id):
                raise OptionError(f"name: must be one that no other key has or had, got {shown(key.name)}")

    def find(self, key_id: str) -> Key | None:
        """Return a key, also one that was revoked."""
        with self._database.reading() as connection:
            row = connection.execute(select(keys).where(keys.c.id == key_id)).one_or_none()
        return None if row is None else _key(row)

    def all(self) -> list[Key]:
        """Return all keys by name."""
        with self._database.reading() as connection:
            return [_key(row) for row in connection.execute(select(keys).order_by(keys.c.name))]

    def is_any_valid(self) -> bool:
        """Return True if there is a key that was not revoked."""
        with self._database.reading() as connection:
            return bool(connection.execute(select(exists().where(keys.c.revoked_at.is_(None)))).scalar())

    def revoke(self, name: str, at: float) -> bool:
        """Let a key hold no more, from now on; return whether it held until now."""
        holds = (keys.c.name == name) & keys.c.revoked_at.is_(None)
        with self._database.writing() as connection:
            return connection.execute(update(keys).where(holds).values(revoked_at=at)).rowcount == 1

    def note_use(self, key_id: str, at: float) -> None:
        """Remember when a key was used last."""
        with self._database.writing() as connection:
            connection.execute(update(keys).where(keys.c.id == key_id).values(used_at=at))


def _key(row: Row[tuple[object, ...]]) -> Key:
    values = row._asdict()
    return Key(**{**values, "scopes": frozenset(values["scopes"])})
