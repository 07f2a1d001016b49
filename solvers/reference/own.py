"""A caller's own planner, named `module:function`, which runs in a child process with a time limit.

The function gets a problem and its time limit in seconds. It returns the buffers' offsets in the problem's order, or a
mapping from ids to offsets or to (pool name, offset), or a plan. Modules are imported from Python's path, and then from
the working directory. The child sends the plan as JSON, and it is verified like any other plan.
"""

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memplan.planner.errors import InputError, OptionError, excerpt
from memplan.planner.instance import instance
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ANY, ReferencePlanner
from memplan.solvers.processes.child import ChildProcess
from memplan.solvers.processes.parent import Parent
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, StoppedError

if TYPE_CHECKING:
    from memplan.solvers.reference.tensors import Planner

_MOST_NUMBER = 2**63
_SHAPE = "must be a function plan(problem, time_limit_s)"
EVERYTHING = ANY | frozenset(instance.PLAIN) | frozenset(instance.CONSTRAINTS)


@dataclass(frozen=True, eq=False)
class OwnPlanner(ReferencePlanner):
    """A caller's own planner, with its time limit `limit_s` in seconds."""

    limit_s: float = 0.0

    def load(self) -> "Planner":
        """Return a function that calls the caller's planner in a child process."""
        return partial(_run_planner, self.name, self.limit_s)


def planner_by_name(name: str, limit_s: float) -> OwnPlanner:
    """Return the planner with the name `module:function`; raises OptionError for an invalid name."""
    module, _, function = name.partition(":")
    if not function.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise OptionError(f"solver: must be MODULE:FUNCTION for a planner of your own, got {excerpt(name)}")
    return OwnPlanner(name, "a planner of your own", name, name, EVERYTHING, limit_s=limit_s)


def _run_planner(where: str, limit_s: float, problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Run the planner in a child process until it returns or the search is over; raises OptionError if it fails."""

    def is_over() -> bool:
        try:
            stop_check()
        except StoppedError:
            return True
        return False

    # The child process runs the caller's code, so it needs the caller's whole environment.
    with ChildProcess("memplan.solvers.reference.own", is_over, environment=os.environ) as child:
        child.give((where, limit_s, problem, sys.path))
        try:
            answer = child.answer()
        except (EOFError, ValueError):
            stop_check()
            raise OptionError(
                f"solver: {where}: the planner's process must return a plan, but ended without one"
            ) from None
    return _read_placements(where, problem, answer)


def _read_placements(where: str, problem: Problem, answer: dict[str, Any]) -> PlannerAnswer:
    """Return the placements in the child's message; raises OptionError if the planner failed."""
    if "failed" in answer:
        raise OptionError(f"solver: {where}: {answer['failed']}")
    placements: dict[int, tuple[int, int]] = {}
    for i, pool, offset in answer["placements"]:
        placements[i] = pool, offset
    missing = tuple(i for i in range(len(problem.buffers)) if i not in placements)
    return PlannerAnswer(placements, missing)


def rows_of(problem: Problem, answer: object) -> list[tuple[int, int, int]]:
    """Convert the return value of a caller's planner to a row (buffer position, pool position, offset) per placement.

    Raises OptionError if the value has another form.
    """
    if isinstance(answer, Plan):
        return [_validated_row(problem, row.id, (row.pool, row.offset)) for row in answer.placements]
    if isinstance(answer, Mapping):
        return [_validated_row(problem, name, place) for name, place in answer.items()]
    offsets: object = answer.tolist() if hasattr(answer, "tolist") else answer
    if not isinstance(offsets, Sequence) or isinstance(offsets, (str, bytes)):
        kinds = "a list of offsets, a mapping from ids to offsets or to (pool, offset), or a plan"
        raise OptionError(f"must return {kinds}, got {excerpt(answer)}")
    if len(offsets) != len(problem.buffers):
        raise OptionError(f"must return an offset for each of {len(problem.buffers)} buffers, got {len(offsets)}")
    return [_validated_row(problem, name, place) for name, place in zip(problem.buffers.ids, offsets, strict=True)]


def _validated_row(problem: Problem, name: object, place: object) -> tuple[int, int, int]:
    """Return one placement as (buffer position, pool position, offset); raise OptionError if it is invalid."""
    if not isinstance(name, (int, str)) or name not in problem.index:
        raise OptionError(f"must place buffers of the problem, got {excerpt(name)}")
    pair = place if isinstance(place, (tuple, list)) else (problem.pools[0].name, place)
    if len(pair) != 2 or not isinstance(pair[0], str) or pair[0] not in problem.pool_index:
        raise OptionError(f"must return an offset, or a pool and an offset, for {excerpt(name)}, got {excerpt(place)}")
    try:
        offset = pair[1].__index__()
    except AttributeError:
        raise OptionError(f"must return whole numbers as offsets, got {excerpt(pair[1])} for {excerpt(name)}") from None
    if not 0 <= offset < _MOST_NUMBER:
        raise OptionError(f"must return offsets of at least 0 and below 2^63, got {offset} for {excerpt(name)}")
    return problem.index[name], problem.pool_index[pair[0]], offset


def main() -> None:
    """Run the child process: call the caller's planner, and send its placements or its failure."""
    parent = Parent()
    where, limit_s, problem, path = parent.task
    # The planner may import modules next to the caller's script or in the current folder, so extend the path.
    sys.path += [each for each in (*path, str(Path.cwd())) if each not in sys.path]
    parent.send(_answer_or_failure(where, limit_s, problem))


def _answer_or_failure(where: str, limit_s: float, problem: Problem) -> dict[str, Any]:
    """Return, as values for JSON, the planner's placements or a sentence about its failure."""
    module, _, function = where.partition(":")
    try:
        planner = getattr(import_module(module), function, None)
        if planner is None:
            return {"failed": f"must be a function of {module}, which has no {function}"}
        if not callable(planner):
            return {"failed": f"{_SHAPE}, got {excerpt(planner)}"}
        return {"placements": rows_of(problem, planner(problem, limit_s))}
    except InputError as error:
        return {"failed": str(error)}
    except ModuleNotFoundError as error:
        if error.name not in {module, module.partition(".")[0]}:
            return {"failed": f"{module} imports {error.name}, which is not installed"}
        return {"failed": f"must be in a module that can be imported, got none named {module} in {Path.cwd()}"}
    except TypeError as error:
        is_called = error.__traceback__ is not None and error.__traceback__.tb_next is None
        return {"failed": f"{_SHAPE}: {error}" if is_called else _error_text(error)}
    except Exception as error:  # noqa: BLE001 - the parent process reports the error of the caller's code
        return {"failed": _error_text(error)}


def _error_text(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} (line {frame.lineno} of {frame.filename})"


if __name__ == "__main__":
    main()
