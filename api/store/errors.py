"""The errors of the store, and their hierarchy.

```
MemplanError
├── StoreError               the database does not answer, is full, or has a later version
│   ├── UnreachableError     the database accepts no connections: it starts, or is not reachable
│   └── FullDiskError        the disk of the database is full
└── InputError
        └── RepeatedKeyError     an idempotency key that was used for another request
```
"""

from __future__ import annotations

from memplan.planner.errors import InputError, MemplanError


class StoreError(MemplanError):
    """The database failed; the transaction may or may not be committed."""


class UnreachableError(StoreError):
    """The database accepts no connections for now, because it is starting or unreachable."""


class FullDiskError(StoreError):
    """The disk of the database is full; stored data can be read, and jobs can be removed."""


class RepeatedKeyError(InputError):
    """An idempotency key that was already used for another request."""
