"""Reads large bodies in processes of their own, one each, which are killed at limits of time and memory.

A parser holds the interpreter until it is done, so that nothing else of a process goes on meanwhile; and what it makes
of a body may be many times as large. The child answers twice: first with the options, which say for how long the caller
waits, then with the columns of the problem, compiled; or with what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.submissions import BegunSubmission, begin_submission, check_size
from memplan.api.options import Options
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.settings import Settings
from memplan.planner.errors import FormatError, InputError, OptionError, ProblemError
from memplan.planner.instance.instance import CompiledPool, Instance
from memplan.planner.model.buffer_table import RARE_FIELDS, BufferTable, frozen
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
            return _compiled_from(_heard(child, most), child.data)

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


def _parts_of(compiled: CompiledProblem) -> tuple[dict[str, Any], list[npt.NDArray[Any]]]:
    """Return a problem as JSON can be made of it, and the columns that it numbers."""
    arrays: list[npt.NDArray[Any]] = []

    def part(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {"column": len(arrays) - 1}
        return [*value.items()] if isinstance(value, Mapping) else value

    def parts(row: Any) -> dict[str, Any]:
        return {field.name: part(getattr(row, field.name)) for field in fields(row)}

    content = {
        "fields": compiled.problem.model_dump(exclude={"buffers"}, exclude_unset=True),
        "buffers": parts(compiled.problem.buffers),
        "instance": parts(replace(compiled.instance, pools=())),
        "pools": [parts(pool) for pool in compiled.instance.pools],
        "rest": parts(compiled) | {"problem": None, "instance": None},
    }
    return content | {"columns": [(array.dtype.str, array.shape) for array in arrays]}, arrays


def _compiled_from(content: dict[str, Any], data: Callable[[int], bytes]) -> CompiledProblem:
    """Return the problem of `_parts_of`; `data` gives the bytes of one column after the other."""
    arrays = [
        frozen(np.frombuffer(data(np.dtype(kind).itemsize * prod(shape)), kind).reshape(shape))
        for kind, shape in content["columns"]
    ]

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            return arrays[value["column"]]
        return tuple(map(whole, value)) if isinstance(value, list) else value

    def wholes(row: dict[str, Any]) -> dict[str, Any]:
        return {
            name: MappingProxyType(dict(whole(value))) if name in _MAPPINGS else whole(value)
            for name, value in row.items()
        }

    problem = Problem(**content["fields"], buffers=BufferTable(**wholes(content["buffers"])))
    pools = tuple(CompiledPool(**wholes(pool)) for pool in content["pools"])
    instance = Instance(**wholes(content["instance"]) | {"pools": pools})
    findings = tuple(Finding(**wholes(finding)) for finding in content["rest"].pop("findings"))
    return CompiledProblem(**wholes(content["rest"]) | {"problem": problem, "instance": instance, "findings": findings})


def main() -> None:
    """Run the child."""
    parent = Parent(_NICENESS)
    kind, body, query, settings = parent.task
    try:
        begun = begin_submission(kind, body, QueryParams(query))
        parent.send([None, [begun.options.model_dump(exclude_unset=True), begun.rows]])
        problem = begun.problem()
        check_size(problem, settings)
        content, arrays = _parts_of(CompiledProblem.of(problem))
        parent.send([None, content], *arrays)
    except InputError as error:
        parent.send([next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _WRONG), error.sentences])


if __name__ == "__main__":
    main()
