"""The programs that buffers belong to: operations, their lifetimes and orders; a floor on which runtimes stand.

`memplan` registers `TABLES` when it is imported; see `memplan.extensions`.
"""

from collections.abc import Callable, Mapping
from typing import Any


def _questions() -> Mapping[str, Any]:
    from memplan.questions import Row

    return {
        "order": Row(
            "memplan.programs.order.order:QUESTION",
            panel="Networks",
            document="order.md",
            former={"recompute": "order --recompute", "reorder": "order"},
            help="Order operations so that as few bytes as possible are alive at once, and plan them in that order.",
        ),
        "liveness": Row(
            "memplan.programs.liveness.liveness:QUESTION",
            panel="Networks",
            document="liveness.md",
            former={"shadow": "liveness --plan"},
            help="Find out when the buffers of a program are alive, from its operations, and make a problem of them"
            " that can be planned.",
        ),
    }


def _commands() -> Mapping[str, Any]:
    from memplan.questions import Command

    return {
        "order": Command("memplan.programs.commands.order:order"),
        "liveness": Command("memplan.programs.commands.liveness:liveness"),
    }


def _hooks() -> Mapping[str, Any]:
    return {
        "read-operations": "memplan.programs.models.imported_program:read_operations",
        "reorder-file": "memplan.programs.commands.reordering:reorder_file",
        "check-reordering": "memplan.programs.commands.reordering:check",
        "problem-of-graph": "memplan.programs.inputs:problem_of_graph",
        "read-graph-problem": "memplan.programs.inputs:read_graph_problem",
        "in-place-hint": "memplan.programs.models.over_inputs:in_place_hint",
    }


def _inputs() -> Mapping[str, Any]:
    from memplan.programs import inputs

    return {
        "graph": inputs.GRAPH,
        "operations": inputs.OPERATIONS,
        "problem-or-graph": inputs.PROBLEM_OR_GRAPH,
        "graph-inside": inputs.GRAPH_INSIDE,
    }


TABLES: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "questions": _questions,
    "commands": _commands,
    "hooks": _hooks,
    "inputs": _inputs,
}
"""Maps the name of a table to the function that returns this floor's rows by name."""
