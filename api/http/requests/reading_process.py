"""Reads large bodies in processes of their own, one each, which are killed at limits of time and memory.

A parser holds the interpreter until it is done, so that nothing else of a process goes on meanwhile; and what it makes
of a body may be many times as large. The child answers twice: first with the options, which say for how long the caller
waits, then with the columns of the problem; or with what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.submissions import BegunSubmission, begin_submission
from memplan.api.options import Options
from memplan.planner.errors import FormatError, InputError, OptionError, ProblemError
from memplan.planner.model.buffer_table import RARE_FIELDS, BufferTable, column
from memplan.planner.model.problem import Problem
from memplan.solvers.processes.child import ChildProcess, reading_memory
from memplan.solvers.processes.parent import Parent

_LARGE_BYTES, _DENSE_BYTES = 16 * 2**20, 2**20
"""Bodies from the first size on are read apart; those of the second where they are of tiny values."""
_NICENESS = 5
"""What this adds to the niceness of the server, whose loop goes first; workers are nicer still."""
_WRONG = {kind.__name__: kind for kind in (InputError, FormatError, OptionError, ProblemError, TooLargeError)}
_MAPPINGS = {"aliases", *(mapping for mapping, _ in RARE_FIELDS.values())}


def is_read_apart(body: bytes) -> bool:
    """Return True for a body whose reading would hold the interpreter for long; O(its bytes), quickly."""
    if len(body) < _DENSE_BYTES:
        return False
    return len(body) >= _LARGE_BYTES or 3 * sum(map(body.count, (b",", b"{", b"["))) > len(body)


def begin_apart(kind: str, body: bytes, query: str) -> BegunSubmission:
    """Read a body in a child process, as `begin_submission` does, for any thread; raises InputError.

    Where the child is ended, TooLargeError is raised.
    """
    most = reading_memory(len(body))
    child = ChildProcess("memplan.api.http.requests.reading_process", most_bytes=most)
    try:
        child.give((kind, body, query))
        options, rows = _heard(child, most)
    except BaseException:
        child.close()
        raise

    def problem() -> Problem:
        with child:
            return _problem_of(child, most)

    return BegunSubmission(Options.model_validate(options), problem, rows, end=child.close)


def _heard(child: ChildProcess, most_bytes: int) -> Any:
    """Return what the child says next; raises what it says is wrong."""
    try:
        wrong, content = child.answer()
    except (EOFError, ValueError):
        rule = f"must be read within its time limit, and with {most_bytes} bytes of memory"
        raise TooLargeError(f"body: {rule}") from None
    if wrong is not None:
        raise _WRONG[wrong](*content)
    return content


def _problem_of(child: ChildProcess, most_bytes: int) -> Problem:
    """Return the problem that the child has read: its fields come as JSON, and the columns of numbers behind them."""
    told, others, lengths = _heard(child, most_bytes)
    columns = {name: column(np.frombuffer(child.data(8 * count), np.int64)) for name, count in lengths.items()}
    for name, value in others.items():
        columns[name] = MappingProxyType(dict(_as_tuples(value))) if name in _MAPPINGS else _as_tuples(value)
    return Problem(**told, buffers=BufferTable(**columns))


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _send_problem(parent: Parent, problem: Problem) -> None:
    table = {field.name: getattr(problem.buffers, field.name) for field in fields(BufferTable)}
    arrays = {name: value for name, value in table.items() if isinstance(value, np.ndarray)}
    others = {
        name: [*value.items()] if isinstance(value, Mapping) else value
        for name, value in table.items()
        if name not in arrays
    }
    told = problem.model_dump(exclude={"buffers"}, exclude_unset=True)
    lengths = {name: len(value) for name, value in arrays.items()}
    parent.send([None, [told, others, lengths]], b"".join(value.tobytes() for value in arrays.values()))


def main() -> None:
    """Run the child."""
    parent = Parent(_NICENESS)
    kind, body, query = parent.task
    try:
        begun = begin_submission(kind, body, QueryParams(query))
        parent.send([None, [begun.options.model_dump(exclude_unset=True), begun.rows]])
        _send_problem(parent, begun.problem())
    except InputError as error:
        parent.send([next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _WRONG), error.sentences])


if __name__ == "__main__":
    main()
