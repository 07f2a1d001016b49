"""The hosts that a server without keys answers to, and the pages whose requests it takes.

A web page may let its own name point to 127.0.0.1, and its script may then read the answers of a server there (DNS
rebinding). It cannot choose the `Host` that the browser sends: the page's own name. Any page may post to 127.0.0.1
without seeing the answer; browsers say with `Origin` and `Sec-Fetch-Site` that it was a page, and of which site.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit


@lru_cache(maxsize=64)
def is_harmless(host: str | None, named: str = "") -> bool:
    """Return True if no page from elsewhere has this `Host`: an address, localhost, or a name without a domain.

    `named` are other names of this server, with commas between them.
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


_OWN_SITES = frozenset({"same-origin", "none"})
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_from_elsewhere(method: str, host: str | None, origin: str | None, site: str | None) -> bool:
    """Return True if a browser says that a page of another origin than the server's own asks for a change."""
    if method in _SAFE_METHODS:
        return False
    if site is not None and site.strip().lower() not in _OWN_SITES:
        return True
    return origin is not None and origin.strip().lower().partition("://")[2] != (host or "").strip().lower()
