"""The option `memplan plan --order best`, which finds a better operation order and then plans its problem."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from memplan.api.cli.asking import Call
from memplan.api.cli.streams import FOLDER, suffix_of, warning_lines, write_output
from memplan.files import prefix_file_name
from memplan.planner.errors import OptionError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.problem import Problem
from memplan.programs.order.moving import order_for_moves
from memplan.programs.order.reordering import reorder
from memplan.questions.question import Control
from memplan.questions.reading import ReadOptions
from memplan.questions.reading.adapting import adapt_problem

PARTS = ("order.json", "problem.json")
"""The names of the files written besides the plan: the answer about the order, and the reordered problem."""
_SHARE, _SHARE_BEFORE_MOVES, _MOVES_SHARE = 0.6, 0.15, 0.8
"""The fractions of the time limit for the search for an order; the plan gets the remaining time."""


def check(given: Mapping[str, Any]) -> None:
    """Raise OptionError if `given` has an option that must not be combined with `--order best`."""
    for name in ("server", "inclusive", "keep", "weights", "copies", "in_place", "spare"):
        if given[name] is not None and (name != "in_place" or given[name]):
            raise OptionError.from_rule(name, f"must not be given with order best, got {given[name]}")
    if len(given["order"]) > 1:
        raise OptionError(f"order: best must be given alone, got {', '.join(given['order'])}")


def reorder_file(call: Call, control: Control) -> Mapping[str, Any]:
    """Reorder the operations of the input file; return the new problem, and a plan to warm-start its solver."""
    reader, path = call.reader, str(call.files["problem"])
    options = reader.options
    running = control.begin(call.options)
    share = _SHARE_BEFORE_MOVES if options.moves else _SHARE
    with prefix_file_name(path):
        model = reorder(reader.data, path, running.child(share), options)
    reader.warnings += model.warnings
    if options.moves:
        answer = order_for_moves(
            model.answer, lambda order: _adapted_problem(model.in_order(order), options), running.child(_MOVES_SHARE)
        )
        model = replace(model, answer=answer)
    placed = model.answer.placed
    assert placed is not None, "an order with a problem has a plan, though it may be without placements"
    problem = placed.problem if options.moves else adapt_problem(placed.problem, model.read, options)
    for folder in (path for path in call.outputs if suffix_of(path) == FOLDER):
        for name, content in zip(PARTS, (to_json(model.facts()) + b"\n", write_problem(problem)), strict=True):
            write_output(str(Path(folder, name)), content)
    if not call.flags["quiet"]:
        call.say(*warning_lines(model.warnings), "".join(model.lines()))
    is_changed = bool(options.pin or options.reserve) and not options.moves
    return (
        {"problem": problem} if placed.plan.peak is None or is_changed else {"problem": problem, "start": placed.plan}
    )


def _adapted_problem(read: ImportedProblem, options: ReadOptions) -> Problem:
    return adapt_problem(read.problem, read, options)
