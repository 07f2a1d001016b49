"""The errors of the store.

```
MemplanError
├── StoreError               the database does not answer, is full, or is of a later version
│   ├── UnreachableError     it takes no connections now: it starts, or its machine is away
│   └── FullDiskError        its disk is full
└── InputError
    └── RepeatedKeyError     an idempotency key that another request had
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
    """An idempotency key that was used for another request."""
