"""The errors of the database, and their hierarchy.

```
MemplanError
├── StoreError               the database does not respond, is full, or belongs to a later version
│   ├── UnreachableError     the database accepts no connections: it is starting or unreachable
│   └── FullDiskError        the disk of the database is full
└── InputError
        └── RepeatedKeyError     an idempotency key that was used for another request
```
"""

from memplan.planner.errors import InputError, MemplanError


class StoreError(MemplanError):
    """The database failed; the transaction may or may not have been committed."""


class UnreachableError(StoreError):
    """The database accepts no connections at present, because it is starting or unreachable."""


class FullDiskError(StoreError):
    """The disk of the database is full; stored data can still be read, and jobs can be removed."""


class RepeatedKeyError(InputError):
    """An idempotency key was already used for a different request."""
