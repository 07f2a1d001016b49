"""Benchmarks of solvers and other planners on suites of problems, also on the machines of a cluster."""

from typing import TYPE_CHECKING

from memplan.questions import Command

if TYPE_CHECKING:
    import click


def _bench(_name: str) -> "click.Command":
    from memplan.extensions.bench.command import bench

    return bench


COMMAND = Command(
    _bench,
    help="Run solvers on suites, each run in a separate process, or compare two files of results.",
    panel="Solvers",
)
