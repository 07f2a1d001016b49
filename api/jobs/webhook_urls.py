"""The URLs that the end of a job may be told to, and the addresses of hosts."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from memplan.api.settings import Settings
from memplan.planner.errors import OptionError, shown

MOST_CHARACTERS = 2000
_NAT64 = IPv6Network("64:ff9b::/96")
_SPECIAL = tuple(
    ip_network(text)
    for text in (
        *("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32"),
        *("2001::/32", "3fff::/20", "fec0::/10"),
    )
)
"""Relays, tunnels and addresses of platforms, which Python's tables do not have, or have in part."""


def check_webhook(url: str, settings: Settings) -> None:
    """Raise OptionError for a URL that no end of a job may be told to, as far as it says so itself."""
    rule = None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        rule = "must be a URL"
    else:
        schemes = ("https", "http") if settings.webhook_private else ("https",)
        if len(url) > MOST_CHARACTERS or not url.isascii() or not url.isprintable() or " " in url:
            rule = f"must be at most {MOST_CHARACTERS} visible ASCII characters"
        elif parts.scheme not in schemes:
            rule = f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}"
        elif not parts.hostname or parts.username is not None or port == 0 or "#" in url:
            rule = "must name a host, without a user and without #"
        elif settings.webhook_secret is None:
            rule = "must not be given to a server without MEMPLAN_WEBHOOK_SECRET"
    if rule is not None:
        raise OptionError(f"webhook: {rule}, got {shown(url)}")


def is_public(address: str) -> bool:
    """Return True for an address of the Internet: none of this machine, or of a network beside it."""
    found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if any(found in network for network in _SPECIAL):
        return False
    if isinstance(found, IPv6Address):
        inside = found.ipv4_mapped or found.sixtofour
        is_translated = found in _NAT64
        if inside is not None or is_translated:
            inside = inside or IPv4Address(int(found) & 0xFFFFFFFF)
            return is_public(str(inside))
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)
