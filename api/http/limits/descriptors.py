"""The connections that a process may have, by the descriptors that the system gives it."""

from __future__ import annotations

import resource

_OTHERS = 128
"""The descriptors for files, workers and the database."""
_LEAST = 16


def take_all_descriptors() -> None:
    """Let this process, and those that it starts, have as many descriptors as the system allows it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def most_connections() -> int:
    """Return how many connections leave enough descriptors for all else."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if most == resource.RLIM_INFINITY else max(_LEAST, most - _OTHERS, most // 2)
