"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

from fastapi import Request

Scope = Literal["plan", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True)
class Caller:
    """Whoever sent a request, and what they may; without an id, one of those that nobody asks for a key.

    `max_jobs` is how many of the key's jobs may be unfinished at a time; None: as many as the server takes.
    """

    key_id: str | None
    name: str | None
    scopes: frozenset[str]
    max_jobs: int | None = None

    def may(self, scope: Scope) -> bool:
        """Return whether a scope is among the caller's; `admin` is all of them."""
        return scope in self.scopes or "admin" in self.scopes

    def sees(self, key_id: str | None) -> bool:
        """Return whether what belongs to a key is the caller's to see: its own, or anybody's for `admin`."""
        return self.key_id == key_id or "admin" in self.scopes

    @classmethod
    def of(cls, request: Request) -> Caller:
        """Return who sent a request, of a route that asks `may(...)`."""
        return cast(Caller, request.state.caller)


ANY_CALLER = Caller(key_id=None, name=None, scopes=frozenset(SCOPES))
"""Who asks where no key is needed."""
