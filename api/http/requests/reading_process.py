"""Reads large bodies in processes of their own, one each, which are killed at limits of time and memory.

A parser holds the interpreter until it is done, so that nothing else of a process goes on meanwhile; and what it makes
of a body may be many times as large. The child answers twice: first with the options, which say for how long the caller
waits, then with the columns of the problem, compiled; or with what is wrong.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.submissions import BegunSubmission, begin_submission, check_size
from memplan.api.options import Options
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.settings import Settings
from memplan.planner.errors import FormatError, InputError, OptionError, ProblemError
from memplan.planner.instance.instance import CompiledPool, Instance
from memplan.planner.model.buffer_table import RARE_FIELDS, BufferTable
from memplan.planner.model.finding import Finding
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


def begin_apart(kind: str, body: bytes, query: str, settings: Settings) -> BegunSubmission:
    """Read a body in a child process, as `begin_submission` does, for any thread; raises InputError.

    The problem that the submission has is compiled; where the child is ended, TooLargeError is raised.
    """
    most = reading_memory(len(body))
    child = ChildProcess("memplan.api.http.requests.reading_process", most_bytes=most)
    try:
        child.give((kind, body, query, settings))
        options, rows = _heard(child, most)
    except BaseException:
        child.close()
        raise

    def compiled() -> CompiledProblem:
        with child:
            return _compiled_of(_heard(child, most))

    read = Options.model_validate(options)
    return BegunSubmission(read, lambda: compiled().problem, rows, compiled=compiled, end=child.close)


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


def _compiled_of(found: dict[str, Any]) -> CompiledProblem:
    """Return the problem of what a child sent of it."""
    table: dict[str, Any] = found["buffers"]
    table |= {name: MappingProxyType(dict(table[name])) for name in _MAPPINGS}
    problem = Problem(**found["fields"], buffers=BufferTable(**table))
    pools = tuple(CompiledPool(**pool) for pool in found["instance"]["pools"])
    instance = Instance(**found["instance"] | {"pools": pools})
    findings = tuple(Finding(**finding) for finding in found["findings"])
    return CompiledProblem(problem, instance, found["hash"], found["order"], found["is_small"], findings)


def main() -> None:
    """Run the child."""
    parent = Parent(_NICENESS)
    kind, body, query, settings = parent.task
    try:
        begun = begin_submission(kind, body, QueryParams(query))
        parent.send([None, [begun.options.model_dump(exclude_unset=True), begun.rows]])
        problem = begun.problem()
        check_size(problem, settings)
        fields = problem.model_dump(exclude={"buffers"}, exclude_unset=True)
        compiled = vars(CompiledProblem.of(problem)) | {"problem": None, "buffers": problem.buffers, "fields": fields}
        parent.send([None, compiled])
    except InputError as error:
        parent.send([next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _WRONG), error.sentences])


if __name__ == "__main__":
    main()
