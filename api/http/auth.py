"""Authorisation: API keys with scopes and quotas, and a defence against requests from pages of other sites.

A route depends on `may("plan")` to require a scope. By DNS rebinding, a malicious page points its own host name at
127.0.0.1 and reads a local server's answers, but the browser then sends that name as `Host`. Without rebinding, a page
can still post to 127.0.0.1; browsers then send `Origin` and `Sec-Fetch-Site`, which reveal the page's site.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from math import inf
from typing import Any, cast
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from memplan.api.refusals import ForbiddenError, FullError, NoKeyError
from memplan.api.settings import Settings
from memplan.api.store.api_key import Key, digest, is_same, split
from memplan.api.store.caller import ANY_CALLER, Caller, Scope
from memplan.api.store.errors import StoreError
from memplan.api.store.tables.keys import Keys
from memplan.planner.errors import excerpt

ADMIN = "admin"
"""The id and the name of the administrator's key, which the settings provide."""
_KEPT_S = 2.0
_USE_NOTED_S = 60.0
_NO_HASH = digest("")
_MOST_KEPT = 10_000
_OWN_SITES = frozenset({"same-origin", "none"})
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_LOG = logging.getLogger("memplan")


class KeyGate:
    """The check of the API keys of all requests to one event loop: the key of a request identifies its caller.

    Keys read from the store are cached for two seconds. A revoked key therefore works for up to two seconds more, and
    an id tried before its key was added is refused for up to two seconds. Each process has its own quota of requests
    per minute: a token bucket with a steady refill.
    """

    def __init__(
        self,
        settings: Settings,
        look_up: Callable[[str], Awaitable[Key | None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make an empty cache of keys; `look_up` reads a key from the store, and `clock` returns seconds."""
        self.requires_keys = bool(settings.require_keys)
        self._settings, self._look_up, self._clock = settings, look_up, clock
        self._admin = None if settings.admin_key is None else digest(settings.admin_key)
        self._kept: OrderedDict[str, tuple[Key, float]] = OrderedDict()
        self._unknown: OrderedDict[str, float] = OrderedDict()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def caller(
        self, authorization: str | None, method: str = "GET", headers: Mapping[str, str] | None = None
    ) -> Caller:
        """Return the caller for an Authorization header; raises NoKeyError, or FullError when a quota is used up.

        If no key is required, requests that another site's page may have sent raise ForbiddenError; `Host`, `Origin`
        and `Sec-Fetch-Site` in `headers` reveal them.
        """
        if not self.requires_keys:
            self._check_page_origin(method, headers or {})
            # A proxy may use the `authorization` header, so `require_keys = false` makes memplan ignore the header.
            if authorization is None or self._settings.require_keys is False:
                return ANY_CALLER
        scheme, _, text = (authorization or "").strip().partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer" or not text:
            raise NoKeyError("authorization: must be Bearer and a key, as in `Authorization: Bearer KEY`")
        if self._admin is not None and is_same(text, self._admin):
            return Caller(ADMIN, ADMIN, frozenset({"admin"}))
        key_id, secret = split(text) or ("", text)
        key = await self._find_key(key_id) if key_id else None
        # Compare hashes even for an unknown id, so that response times do not reveal which ids exist.
        if not is_same(secret, _NO_HASH if key is None else key.hash) or key is None or key.revoked_at is not None:
            way = "`memplan keys add NAME` makes one"
            raise NoKeyError(f"authorization: must be a known key that is not revoked: {way}")
        self._count_request(key)
        return key.caller(self._settings.max_jobs_per_key, self._settings.max_kept_bytes_per_key)

    def _check_page_origin(self, method: str, headers: Mapping[str, str]) -> None:
        """Raise ForbiddenError for a request that another site's page may have sent.

        With `require_keys` false, a proxy may rewrite `Host`, so the header then does not identify the page.
        """
        host, origin, site = (headers.get(name) for name in ("host", "origin", "sec-fetch-site"))
        if not is_harmless(host, self._settings.hosts or ""):
            rule = "must be an address, localhost or a name in MEMPLAN_HOSTS if no key is required"
            raise ForbiddenError(f"host: {rule}, got {excerpt(host)}")
        if self._settings.require_keys is False:
            if site == "cross-site" and is_from_elsewhere(method, host, None, site):
                raise ForbiddenError(f"sec-fetch-site: must not name another site, got {excerpt(site)}")
        elif is_from_elsewhere(method, host, origin, site):
            rule = "must identify this server's own pages if no key is required, unless --without-keys is given"
            name, got = ("sec-fetch-site", site) if origin is None else ("origin", origin)
            raise ForbiddenError(f"{name}: {rule}, got {excerpt(got)}")

    async def _find_key(self, key_id: str) -> Key | None:
        """Return a key from the cache, or from the store if the cached entry is two seconds old; None if unknown."""
        key, read_at = self._kept.get(key_id, (None, 0.0))
        if key is None and self._clock() - self._unknown.get(key_id, -inf) < _KEPT_S:
            return None
        if key is None or self._clock() - read_at >= _KEPT_S:
            key = await self._look_up(key_id)
            self._kept.pop(key_id, None)
            self._unknown.pop(key_id, None)
            if key is None:
                _put_bounded(self._unknown, key_id, self._clock())
            else:
                _put_bounded(self._kept, key_id, (key, self._clock()))
        return key

    def _count_request(self, key: Key) -> None:
        """Count a request against its key's quota; raises FullError if the quota is used up."""
        per_minute = key.max_requests_per_minute
        if per_minute is None:
            return
        now = self._clock()
        budget, then = self._left.pop(key.id, (float(per_minute), now))
        budget = min(float(per_minute), budget + (now - then) * per_minute / 60)
        _put_bounded(self._left, key.id, (budget - (budget >= 1), now))
        if budget < 1:
            raise FullError(
                f"key {key.name}: must send at most {per_minute} requests a minute", (1 - budget) * 60 / per_minute
            )


def _put_bounded(table: OrderedDict[str, Any], name: str, value: Any) -> None:
    table[name] = value
    while len(table) > _MOST_KEPT:
        table.popitem(last=False)


def look_up(keys: Keys, key_id: str) -> Key | None:
    """Return a key from the store, and record the time of its use about once a minute. Raises StoreError."""
    key, now = keys.find(key_id), time.time()
    if key is not None and key.revoked_at is None and abs(now - (key.used_at or 0.0)) > _USE_NOTED_S:
        try:
            keys.note_use(key_id, now)
        except StoreError as error:  # A full disk must not stop callers with a valid key, so only log the error.
            _LOG.warning("the use of a key is not noted: %s", error)
    return key


@lru_cache(maxsize=64)
def is_harmless(host: str | None, named: str = "") -> bool:
    """Return True if no other site can have this `Host`: an IP address, localhost, a name without a dot, or none.

    The comma-separated names in `named` are this server's own names, which are also harmless.
    """
    if not host:
        return True
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    own = (each.strip().lower().rstrip(".") for each in named.split(","))
    if "." not in name or name.endswith(".localhost") or name in own:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_from_elsewhere(method: str, host: str | None, origin: str | None, site: str | None) -> bool:
    """Return True if the browser's headers reveal that another site's page sent a request that changes state."""
    if method in _SAFE_METHODS:
        return False
    if site is not None and site.strip().lower() not in _OWN_SITES:
        return True
    return origin is not None and origin.strip().lower().partition("://")[2] != (host or "").strip().lower()


class ScopeCheck(HTTPBearer):
    """A route dependency that requires a key with one scope; raises NoKeyError, ForbiddenError or FullError."""

    def __init__(self, scope: Scope) -> None:
        """Set the scope, and describe the key for the OpenAPI description."""
        description = "A key, as `memplan keys add` shows it once."
        super().__init__(scheme_name=HTTPBearer.__name__, description=description)
        self.scope = scope

    async def __call__(self, request: Request) -> None:  # type: ignore[override]  # the caller goes to `request.state`
        """Admit a request whose caller has the scope, and store the caller in the request's state."""
        gate: KeyGate = request.app.state.service.gate
        caller = await gate.caller(request.headers.get("authorization"), request.method, request.headers)
        request.state.caller = caller
        if not caller.scopes & {self.scope, "admin"}:
            raise ForbiddenError(f"key {caller.name}: must have the scope {self.scope} for this call")


def may(scope: Scope) -> Any:
    """Return the route dependency that admits callers with a scope before their request's body is read.

    The route then obtains the caller by `caller_of(request)`.
    """
    return Depends(ScopeCheck(scope))


def caller_of(request: Request) -> Caller:
    """Return the caller of a request; its route must depend on `may(...)`."""
    return cast(Caller, request.state.caller)
