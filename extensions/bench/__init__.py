"""Solvers and other planners side by side on suites of problems; and the machines of clusters, for all commands."""

from memplan.questions import Cluster, Command

COMMAND = Command(
    where="memplan.extensions.bench.command:bench",
    help="Run solvers on suites, each run in a process of its own, or compare two files of results.",
    panel="Solvers",
)
CLUSTER = Cluster(where="memplan.extensions.bench.several_files:run_away")
