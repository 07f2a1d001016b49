"""The reader of models whose dimensions are symbols; sizes become exact expressions, and lifetimes hold for all values.

A model reader computes with numbers that record how they depend on symbols, so that sizes become expressions. At
several values of the symbols, the problem is then compared with problems read with plain numbers as dimensions.
"""

import keyword
import re
from collections.abc import Iterator, Mapping
from importlib import import_module

from memplan.planner.errors import FormatError, Option, OptionError, ProblemError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.foreign.imported import ImportedProblem, stranger_bytes
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id
from memplan.planner.systems import file_readers
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.operations.graph_facts import TensorRole
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.numbers import SymbolicNumber, SymbolicNumbers, max_number
from memplan.programs.symbols.problem import SymbolicBuffer, SymbolicProblem, SymbolicTensor, point_text
from memplan.programs.symbols.space import Space, SymbolRange, Values

_COMPARED = 3
"""The number of values, besides corners, at which the symbolic problem is compared with plain numbers."""


def read_symbolic(
    data: bytes, name: str | None, ranges: Mapping[str, SymbolRange], options: ModelOptions | None = None
) -> SymbolicProblem:
    """Return the symbolic problem of the model in a file; the symbols are its named dimensions.

    The range of a symbol is the given one, else the one in the file, else from 1 without a maximum. A dimension whose
    size the options set is not a symbol. Raises InputError for other files and unknown symbols.
    """
    options = options or ModelOptions()
    kind = detect(data, name)
    if kind is None or not file_readers()[kind].has_symbols:
        with_symbols = ", ".join(name for name, row in file_readers().items() if row.has_symbols)
        raise FormatError(
            f"must be a problem in JSON, or a model whose dimensions have names ({with_symbols}), got {kind}"
        )
    with stranger_bytes():
        stated: dict[str, SymbolRange] = import_module(file_readers()[kind].where).symbols(data)
    by_identifier = {_identifier(each): each for each in stated}
    ranges = {by_identifier.get(each, each): given for each, given in ranges.items()}
    if twice := [each for each in ranges if each in options.dims]:
        rule = f"must be of a dimension without a size, got {excerpt(twice[0])}, for which a size is given too"
        raise OptionError.from_rule("symbol", rule, way="leave one out")
    if unknown := [each for each in ranges if each not in stated]:
        listed = ", ".join(stated) or "none"
        near = did_you_mean(unknown[0], stated)
        rule = f"must be a named dimension of the model ({listed}), got {excerpt(unknown[0])}{near}"
        raise OptionError.from_rule("symbol", rule, way=None if stated else "leave it out")
    names = {each: _identifier(each) for each in stated if each not in options.dims}
    symbols = {short: ranges.get(each, stated[each]) for each, short in names.items()}
    numbers = SymbolicNumbers(symbols)

    def read_at(values: Mapping[str, int]) -> ImportedProblem:
        dims = {each: values[short] for each, short in names.items()}
        return read_model(data, name, options.model_copy(update={"dims": {**options.dims, **dims}}))

    try:
        read = read_at({each: numbers.symbol(each) for each in symbols})
    except FormatError as error:
        if not (endless := [each for each, short in names.items() if symbols[short].max is None]):
            raise
        few, fewer = (Option("symbol", f"{endless[0]}={values}") for values in ("1..1024", "32..1024:32"))
        hint = (
            f"{excerpt(endless[0])} may have any value from 1; fewer values, such as ",
            few,
            " or ",
            fewer,
            ", may help",
        )
        raise FormatError(*error.said, hint) from None
    assert isinstance(read, ImportedProgram), "a reader with symbols reads operations"
    if options.is_set("views") and not (read.views.apart or read.views.aliases):
        raise OptionError.from_rule("views", "applies only to a file with views, and it has none", way="leave it out")
    for point in _compared_points(numbers.space):
        _require_equal_problem(read, read_at(point).problem, point)
    return _symbolic_problem(read, symbols)


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain.isidentifier() and not keyword.iskeyword(plain) else f"x_{plain}"


def _compared_points(space: Space) -> list[Values]:
    if not space.symbols:
        return []
    inner = samples(space, _COMPARED, seed=3)
    few = [inner[0], *inner[-_COMPARED:]]
    largest = {each: row.max for each, row in space.symbols.items()}
    top = {each: (row.steps[1] or 0) * row.multiple_of for each, row in space.symbols.items()}
    return few if None in largest.values() else [*few, top]


def _require_equal_problem(read: ImportedProgram, plain: Problem, point: Values) -> None:
    """Raise FormatError unless the symbolic problem equals `plain`, the problem read at the values `point`."""
    mine = read.problem.buffers
    there = f"must have one form for all values of the symbols: at {point_text(point)}"
    if mine.ids != plain.buffers.ids:
        raise FormatError(f"model: {there}, the buffers differ; narrower ranges or divisors may help")
    for row, other in zip(mine, plain.buffers, strict=True):
        size = read.symbolic_sizes.get(str(row.id))
        value = row.size if size is None else size.numbers.space.value(size.form, point)
        if value != other.size or row.intervals != other.intervals or row.alias_of != other.alias_of:
            size_text = excerpt(str(size) if size is not None else row.size)
            above = " ".join(f"--symbol {name}={value + 1}.." for name, value in point.items() if name in size_text)
            rule = f"{there}, its size ({other.size} bytes) or lifetime is not {size_text}"
            way = f"give narrower ranges, such as {above}, or divisors, such as n=8..:8"
            raise FormatError(f"buffer {excerpt(str(row.id))}: {rule}; {way}")


def _symbolic_problem(read: ImportedProgram, symbols: Mapping[str, SymbolRange]) -> SymbolicProblem:
    """Return the symbolic problem of an imported program; raises ProblemError if it has several pools."""
    problem = read.problem
    if len(problem.pools) > 1:
        raise ProblemError("model: must have only one memory if its sizes have symbols")
    sizes: dict[Id, int] = {}
    for row in problem.buffers:  # An alias may be larger than its buffer, so the buffer gets the largest size of both.
        home = row.id if row.alias_of is None else row.alias_of
        sizes[home] = max_number(sizes.get(home, 0), read.symbolic_sizes.get(str(row.id), row.size))
    buffers = [row for row in problem.buffers if row.alias_of is None]
    rows = tuple(
        SymbolicBuffer(
            id=row.id,
            size=str(size) if isinstance(size := sizes[row.id], SymbolicNumber) else size,
            start=row.intervals[0][0],
            end=row.intervals[-1][1],
        )
        for row in buffers
    )
    alignment = max((row.alignment for row in buffers), default=1)
    tensors = tuple(_named_tensors(read, {str(row.id): row.alias_of or row.id for row in problem.buffers}))
    return SymbolicProblem(symbols=dict(symbols), buffers=rows, alignment=alignment, tensors=tensors, name=problem.name)


def _named_tensors(read: ImportedProgram, homes: Mapping[str, Id]) -> Iterator[SymbolicTensor]:
    """Yield each tensor of a model with the buffer that contains it; weights have no buffer."""
    entry = read.operations.functions[read.operations.entry]
    roles: dict[str, TensorRole] = {**dict.fromkeys(entry.params, "input"), **dict.fromkeys(entry.results, "output")}
    for row in entry.buffers:
        home = homes.get(f"{read.operations.entry}/{row.id}")
        if row.id in entry.constants:
            yield SymbolicTensor(name=row.id, role="weight")
        elif home is not None:
            role: TensorRole = "state" if row.persistent else "activation"
            yield SymbolicTensor(name=row.id, buffer=home, role=roles.get(row.id, role))
