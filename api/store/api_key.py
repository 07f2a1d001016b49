"""API keys of callers: the text that the holder receives, and the hash that the database stores."""

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256

from memplan.api.store.caller import Caller

_MARK = "memplan"
_ID_BYTES, _SECRET_BYTES = 8, 32


@dataclass(frozen=True)
class Key:
    """A key as stored, without its secret; times are UTC epoch seconds.

    Its quotas are `max_jobs`, `max_requests_per_minute` and `max_kept_bytes`; for None, the server's settings apply.
    """

    id: str
    name: str
    hash: str
    scopes: frozenset[str]
    created_at: float
    max_jobs: int | None = None
    max_requests_per_minute: int | None = None
    max_kept_bytes: int | None = None
    revoked_at: float | None = None
    used_at: float | None = None

    def caller(self, max_jobs: int | None, max_kept_bytes: int | None) -> Caller:
        """Return the caller with this key; the arguments are the quotas for a key that has no quotas itself."""
        most = max_jobs if self.max_jobs is None else self.max_jobs
        most_bytes = max_kept_bytes if self.max_kept_bytes is None else self.max_kept_bytes
        return Caller(self.id, self.name, self.scopes, most, most_bytes)


def new_secret() -> tuple[str, str, str]:
    """Return a new key's id, the text for its holder (`memplan_ID_SECRET`, shown once), and the hash to store."""
    key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES)
    return key_id, f"{_MARK}_{key_id}_{secret}", digest(secret)


def split(text: str) -> tuple[str, str] | None:
    """Return the id and the secret in a key's text; None if the text is not a key."""
    match text.split("_"):
        case [mark, key_id, secret] if mark == _MARK and len(key_id) == 2 * _ID_BYTES and secret:
            return key_id, secret
    return None


def digest(secret: str) -> str:
    """Return the hash under which a secret is stored.

    A secret has 256 random bits, too many to guess, so a fast hash is as safe as a slow one.
    """
    return sha256(secret.encode()).hexdigest()


def is_same(secret: str, kept: str) -> bool:
    """Return True if a secret has the stored hash; the comparison takes constant time."""
    return hmac.compare_digest(digest(secret), kept)
