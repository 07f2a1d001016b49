"""The callers of the service, each with the scopes that its key grants."""

from dataclasses import dataclass
from typing import Literal, get_args

Scope = Literal["plan", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True)
class Caller:
    """The sender of a request: the id and name of its key (None if keys are not required), its scopes and its quotas.

    The scope `admin` includes all others. `max_jobs`: the maximum number of the key's unfinished jobs; None for the
    server's own limit. `max_kept_bytes`: the maximum stored bytes of its jobs; None for a fraction of the total limit.
    """

    key_id: str | None
    name: str | None
    scopes: frozenset[str]
    max_jobs: int | None = None
    max_kept_bytes: int | None = None

    @property
    def sees_all(self) -> bool:
        """True if the caller may see the jobs of all keys."""
        return "admin" in self.scopes

    def sees(self, key_id: str | None) -> bool:
        """Return True if the caller may see the jobs of a key."""
        return self.sees_all or self.key_id == key_id


ANY_CALLER = Caller(key_id=None, name=None, scopes=frozenset(SCOPES))
"""The caller of every request if keys are not required."""
