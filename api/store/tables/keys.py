"""The table of callers' API keys."""

from sqlalchemy import Row, exists, select, update

from memplan.api.store.api_key import Key
from memplan.api.store.database import Database
from memplan.api.store.schema import keys
from memplan.api.store.writing import insert_new
from memplan.planner.errors import OptionError, excerpt


class Keys:
    """The table of API keys, where revoked keys stay, so that past actions remain attributable.

    Each method runs in one transaction and raises StoreError.
    """

    def __init__(self, database: Database) -> None:
        """Use the table in this database."""
        self._database = database

    def add(self, key: Key) -> None:
        """Store a new key; raises OptionError if its name is or was in use."""
        values = {**vars(key), "scopes": sorted(key.scopes)}
        with self._database.writing() as connection:
            if not insert_new(connection, keys, [values], keys.c.id):
                raise OptionError(f"name: must not be in use by a key, revoked or not, got {excerpt(key.name)}")

    def find(self, key_id: str) -> Key | None:
        """Return the key with this id, even if it was revoked; None if there is none."""
        with self._database.reading() as connection:
            row = connection.execute(select(keys).where(keys.c.id == key_id)).one_or_none()
        return None if row is None else _key_from_row(row)

    def list_keys(self) -> list[Key]:
        """Return all keys, sorted by name."""
        with self._database.reading() as connection:
            return [_key_from_row(row) for row in connection.execute(select(keys).order_by(keys.c.name))]

    def is_any_valid(self) -> bool:
        """Return True if a key exists that is not revoked."""
        with self._database.reading() as connection:
            return bool(connection.execute(select(exists().where(keys.c.revoked_at.is_(None)))).scalar())

    def revoke(self, name: str, at: float) -> bool:
        """Revoke a key at a time; return True if the key was valid before."""
        holds = (keys.c.name == name) & keys.c.revoked_at.is_(None)
        with self._database.writing() as connection:
            return connection.execute(update(keys).where(holds).values(revoked_at=at)).rowcount == 1

    def note_use(self, key_id: str, at: float) -> None:
        """Record the time of a key's last use."""
        with self._database.writing() as connection:
            connection.execute(update(keys).where(keys.c.id == key_id).values(used_at=at))


def _key_from_row(row: Row[tuple[object, ...]]) -> Key:
    values = row._asdict()
    return Key(**{**values, "scopes": frozenset(values["scopes"])})
