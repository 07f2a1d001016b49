"""The inputs and options of questions about problems whose sizes are expressions over symbols."""

import re
from hashlib import sha256
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from memplan.extensions.shapes.symbolic_models import read_symbolic
from memplan.planner import formats
from memplan.planner.errors import OptionError, ProblemError, excerpt
from memplan.planner.foreign import reading as importers
from memplan.planner.formats import memplan_json
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Name
from memplan.programs.symbols.problem import SymbolicBuffer, SymbolicProblem
from memplan.programs.symbols.space import SymbolRange
from memplan.questions.inputs import FILE, Base64, read_problem_field, require_object
from memplan.questions.inputs.values import Input, InputValues, Subject
from memplan.questions.question import ForeignOptions
from memplan.questions.reading import Reader

_RANGE = re.compile(r"\s*(\S(?:.*\S)?)\s*=\s*(\d{1,18})\.\.(\d{1,18})?(?::([1-9]\d{0,17}))?\s*", re.ASCII)


def _parsed_ranges(given: object) -> object:
    """Return a map from symbols to ranges, parsed from texts such as `n=2..2048:8`; any other value unchanged."""
    if not isinstance(given, str | tuple | list):
        return given
    ranges: dict[str, SymbolRange] = {}
    for text in given.split(",") if isinstance(given, str) else given:
        parts = _RANGE.fullmatch(str(text))
        if parts is None:
            one = f": --dim {text} sets one size" if re.fullmatch(r"\S+=[0-9]+", str(text)) else ""
            raise OptionError(
                f"symbol: must be a symbol and its range, such as n=2..2048 or n=8..:8, got {excerpt(text)}{one}"
            )
        name, low, high, divisor = parts.groups()
        if name in ranges:
            raise OptionError(f"symbol: must be given once for each symbol, got {excerpt(name)} again: leave one out")
        ranges[name] = SymbolRange(min=int(low), max=int(high) if high else None, multiple_of=int(divisor or 1))
    return ranges


class SymbolicOptions(ForeignOptions):
    """The options for reading a model with symbols as dimensions."""

    symbol: Annotated[dict[Name, SymbolRange], BeforeValidator(_parsed_ranges)] = Field(
        {},
        description="The values of a symbol: n=2..2048, or n=8..2048:8 for multiples of eight, or n=1.. without "
        "an upper bound. The default is what the file says.",
    )


def read_sizes(given: SymbolicProblem | bytes, options: SymbolicOptions) -> SymbolicProblem:
    """Return the symbolic problem in `given` with the options' ranges; raises InputError for an unknown symbol."""
    if isinstance(given, bytes):
        return read_symbolic(given, options.name, options.symbol, options)
    options.refuse_for_models()
    if unknown := [name for name in options.symbol if name not in given.symbols]:
        names = ", ".join(given.symbols) or "it has none"
        raise OptionError(f"symbol: must be a symbol of the problem ({names}), got {excerpt(unknown[0])}")
    changed = {"symbols": given.symbols | options.symbol, "alignment": options.alignment or given.alignment}
    return given.model_copy(update=changed)


def _parsed_problem(value: object) -> SymbolicProblem | bytes:
    if isinstance(value, str | bytes):
        return FILE.from_json(value)
    content = require_object(value, "problem", ProblemError)
    return (
        SymbolicProblem.model_validate(content) if "symbols" in content else _symbolic_form(read_problem_field(content))
    )


def _symbolic_form(problem: Problem) -> SymbolicProblem:
    """Return a problem with plain sizes as a symbolic one; raises ProblemError for more than sizes and lifetimes."""
    features = compile_problem(problem).features
    alignments = {row.alignment for row in problem.buffers}
    if features - {"alignment", "capacity"} or len(alignments) > 1:
        text = ", ".join(sorted(features)) or "several alignments"
        raise ProblemError(f"problem: must have one memory and only sizes and lifetimes, got {text}")
    rows = problem.buffers
    return SymbolicProblem(
        symbols={},
        buffers=tuple(
            SymbolicBuffer(id=row.id, size=row.size, start=row.intervals[0][0], end=row.intervals[-1][1])
            for row in rows
        ),
        alignment=next(iter(alignments), 1),
        capacity=problem.pools[0].size,
        name=problem.name,
    )


def _read_file(_reader: Reader, data: bytes, name: str, _question: InputValues) -> SymbolicProblem | bytes:
    if importers.detect(data, name) is not None:
        return data
    is_json = formats.detect(data, name) == "json"
    return _parsed_problem(memplan_json.parse(data)) if is_json else _symbolic_form(formats.read_problem(data, name))


def _problem_json(problem: SymbolicProblem | bytes) -> Any:
    return FILE.to_json(problem) if isinstance(problem, bytes) else problem.model_dump(mode="json", exclude_none=True)


def symbolic_subject(problem: SymbolicProblem | bytes) -> Subject:
    """Return what identifies a symbolic problem or model file in a list: its hash, name and number of buffers."""
    if isinstance(problem, bytes):
        return Subject(f"sha256:{sha256(problem).hexdigest()}", None, 0)
    text = problem.model_dump_json(exclude={"name", "source", "format"})
    return Subject(f"sha256:{sha256(text.encode()).hexdigest()}", problem.name, len(problem.buffers))


SYMBOLIC = Input(
    "problem",
    SymbolicProblem | Base64,
    _parsed_problem,
    _problem_json,
    "A file whose sizes are expressions over symbols, a model whose dimensions have names, plain problems, or -.",
    from_file=_read_file,
    subject=symbolic_subject,
    about="The problem, whose sizes are expressions over symbols, or the bytes of a file in base64.",
    is_foreign=True,
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


def _parsed_values(given: object) -> object:
    """Return a map from symbols to values, parsed from texts such as `n=128`; any other value is returned unchanged."""
    if not isinstance(given, str | tuple | list):
        return given
    values: dict[str, int] = {}
    for text in given.split(",") if isinstance(given, str) else given:
        name, sign, value = str(text).partition("=")
        if not sign or not value.strip().isascii() or not value.strip().isdigit():
            raise OptionError(
                f"at: must be a symbol and its value, such as n=128, got {excerpt(text)}; repeat --at for several"
            )
        if name.strip() in values:
            raise OptionError(
                f"at: must be given once for each symbol, got {excerpt(name.strip())} again: leave one out"
            )
        values[name.strip()] = int(value)
    return values


GivenValues = Annotated[dict[str, int], BeforeValidator(_parsed_values)]
