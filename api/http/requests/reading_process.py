"""Reads large bodies in processes of their own, one each, which are killed at limits of time and memory.

A parser holds the interpreter until it is done, so that nothing else of a process goes on meanwhile; and what it makes
of a body may be many times as large. The child sends what it read, pickled: first the options, which say for how long
the caller waits, then the problem, compiled; or what is wrong. Only this module's two sides use these pipes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
import time
from typing import IO, Any

import psutil
from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.submissions import BegunSubmission, begin_submission, check_size
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.settings import Settings
from memplan.planner.errors import InputError
from memplan.solvers.search import child_process
from memplan.solvers.search.child_process import ChildProcess

_LARGE_BYTES, _DENSE_BYTES = 16 * 2**20, 2**20
"""Bodies from the first size on are read apart; those of the second where they are of tiny values."""
_LEAST_MEMORY_BYTES, _MEMORY_A_BYTE = 2**30, 16
"""The memory that a child may take: a gigabyte, or so many bytes for each byte of a large body."""
_LOOK_EVERY_S = 0.05
_NICENESS = 5
"""What this adds to the niceness of the server, whose loop goes first; workers are nicer still."""


def is_read_apart(body: bytes) -> bool:
    """Return True for a body whose reading would hold the interpreter for long; O(its bytes), quickly."""
    if len(body) < _DENSE_BYTES:
        return False
    return len(body) >= _LARGE_BYTES or 3 * sum(map(body.count, (b",", b"{", b"["))) > len(body)


def begin_apart(kind: str, body: bytes, query: str, settings: Settings) -> BegunSubmission:
    """Read a body in a child process, as `begin_submission` does, for any thread; raises InputError.

    The problem that the submission has is compiled; where the child is ended, it raises TooLargeError.
    """
    child = ChildProcess("memplan.api.http.requests.reading_process")
    threading.Thread(target=_watch, args=(child, _memory_bytes(len(body))), daemon=True).start()
    try:
        with contextlib.suppress(BrokenPipeError), child.questions as pipe:
            pickle.dump((kind, query, settings), pipe)
            pipe.flush()
            pipe.write(body)
        options, rows = _heard(child, body)
    except BaseException:
        child.close()
        raise

    def compiled() -> CompiledProblem:
        with child:
            found: CompiledProblem = _heard(child, body)
        return found

    return BegunSubmission(options, lambda: compiled().problem, rows, compiled=compiled, end=child.close)


def _heard(child: ChildProcess, body: bytes) -> Any:
    """Return what the child says next; raises what it says is wrong."""
    try:
        is_right, *content = pickle.load(child.answers)
    except (EOFError, ValueError, pickle.UnpicklingError):
        most = _memory_bytes(len(body))
        raise TooLargeError(f"body: must be read within its time limit, and with {most} bytes of memory") from None
    if is_right:
        return content[0]
    kind, sentences = content
    raise kind(*sentences)


def _watch(child: ChildProcess, most_bytes: int) -> None:
    """Kill a child that takes more memory; a limit of the system's would let the parser wait for ever (`abort`)."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(child.pid)
        while child.is_running and process.memory_info().rss <= most_bytes:
            time.sleep(_LOOK_EVERY_S)
    if child.is_running:
        child.kill()


def _memory_bytes(count: int) -> int:
    return max(_LEAST_MEMORY_BYTES, _MEMORY_A_BYTE * count)


def _say(told: IO[bytes], *content: Any) -> None:
    pickle.dump(content, told, protocol=pickle.HIGHEST_PROTOCOL)
    told.flush()


def main() -> None:
    """Run the child: one body from standard input, what it says to standard output."""
    os.nice(_NICENESS)
    output = child_process.answers_of_this_process()
    kind, query, settings = pickle.load(sys.stdin.buffer)
    with output as told:
        try:
            begun = begin_submission(kind, sys.stdin.buffer.read(), QueryParams(query))
            _say(told, True, (begun.options, begun.rows))
            problem = begun.problem()
            check_size(problem, settings)
            _say(told, True, CompiledProblem.of(problem))
        except InputError as error:
            _say(told, False, type(error), error.sentences)


if __name__ == "__main__":
    main()
