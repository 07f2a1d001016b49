"""The input of capabilities about problems whose sizes are expressions."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any

from pydantic import BeforeValidator

from memplan.capabilities.inputs import object_in
from memplan.capabilities.question import Input, Question, Subject
from memplan.capabilities.reading import Reader
from memplan.planner.errors import OptionError, ProblemError, shown
from memplan.planner.formats import memplan_json
from memplan.planner.symbols.problem import SymbolicProblem


def _read(value: object) -> SymbolicProblem:
    content = object_in(value, "problem", ProblemError)
    if "pools" in content or "ops" in content or "functions" in content:
        raise ProblemError("problem: must have symbols and buffers alone: of several memories, each is a problem")
    return SymbolicProblem.model_validate(content)


def _read_file(_reader: Reader, data: bytes, _name: str, _question: Question) -> SymbolicProblem:
    return _read(memplan_json.parse(data))


def symbolic_subject(problem: SymbolicProblem) -> Subject:
    """Return the facts of a problem whose sizes are expressions."""
    text = problem.model_dump_json(exclude={"name", "source", "format"})
    return Subject(f"sha256:{sha256(text.encode()).hexdigest()}", problem.name, len(problem.buffers))


SYMBOLIC = Input(
    "problem",
    SymbolicProblem,
    _read,
    lambda problem: problem.model_dump(mode="json", exclude_none=True),
    "A file, JSON, whose sizes are expressions over symbols, or - for standard input.",
    from_file=_read_file,
    subject=symbolic_subject,
)
EXAMPLE: dict[str, Any] = {
    "symbols": {"b": {"min": 1, "max": 64}, "n": {"min": 2, "max": 2048}},
    "alignment": 64,
    "buffers": [
        {"id": "embedding", "size": "3072*b*n", "start": 0, "end": 3},
        {"id": "scores", "size": "48*b*n**2", "start": 2, "end": 4},
        {"id": "mask", "size": "ceil_div(n, 8)*n", "start": 1, "end": 5},
    ],
}


def _values(given: object) -> object:
    """Return values that were given as texts, `n=128`, as a mapping."""
    if not isinstance(given, tuple | list):
        return given
    found: dict[str, int] = {}
    for text in given:
        name, sign, value = str(text).partition("=")
        if not sign or not value.strip().isascii() or not value.strip().isdigit():
            raise OptionError(f"at: must be a symbol and its value, n=128, got {shown(text)}")
        found[name.strip()] = int(value)
    return found


GivenValues = Annotated[dict[str, int], BeforeValidator(_values)]
