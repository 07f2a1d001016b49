"""Solvers and other planners side by side on suites of problems; and the machines of clusters, for all commands."""

from memplan.capabilities import Cluster, Command

COMMAND = Command(
    where="memplan_bench.command:bench",
    help="Run solvers on suites, each run in a process of its own, or compare two files of results.",
    panel="Solvers",
)
CLUSTER = Cluster(where="memplan_bench.several_files:run_away")
