"""Searches that distributions provide as entry points of the group `memplan.searches`."""

from __future__ import annotations

from typing import Any

from memplan.planner.errors.extras import SEARCHES, MissingPackageError, missing
from memplan.planner.extensions import extensions


def require_search(name: str) -> None:
    """Raise MissingPackageError, naming the search, if no distribution provides it."""
    if name not in extensions("searches"):
        raise MissingPackageError.of(name, missing(SEARCHES[name]))


def search(name: str) -> Any:
    """Return the function of a search; raises MissingPackageError if no distribution provides it."""
    require_search(name)
    return extensions("searches")[name].load()
