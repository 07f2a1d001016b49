"""Look-up of the extension that runs the command lines of several files on a cluster of other machines."""

from collections.abc import Callable, Iterator
from typing import Any

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.extensions import extensions, import_object


def runner_on(address: str) -> Callable[..., Iterator[Any]]:
    """Return the function that runs command lines on the cluster at an address; raises OptionError if unknown."""
    clusters = extensions("clusters")
    if (row := clusters.get(address.partition("://")[0])) is None:
        forms = " or ".join(f"{scheme}://HOST:PORT" for scheme in clusters)
        raise OptionError(f"on: must be {forms}, got {excerpt(address)}")
    runner: Callable[..., Iterator[Any]] = import_object(row)
    return runner
