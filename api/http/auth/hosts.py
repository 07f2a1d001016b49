"""The hosts that a server without keys answers to.

A web page may let its own name point to 127.0.0.1, and its script may then read the answers of a server there (DNS
rebinding). It cannot choose the `Host` that the browser sends: the page's own name.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit


@lru_cache(maxsize=64)
def is_harmless(host: str | None) -> bool:
    """Return True if no page from elsewhere has this `Host`: an address, localhost, or a name without a domain."""
    if not host:
        return True
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if "." not in name or name.endswith(".localhost"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
