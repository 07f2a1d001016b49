"""The constants (weights) of a program: their sizes, and the bytes that operations read from each of them."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memplan.programs.operations.operations import Operations
from memplan.programs.operations.statements import Call, Operation, Repetition, Statement, nested_blocks


@dataclass(frozen=True)
class Weight:
    """A constant of a function; `traffic` has the bytes that one run of the program reads from the constant."""

    id: str
    size: int
    alignment: int
    traffic: int


def weights_of(operations: Operations) -> list[Weight]:
    """Return the constants of all called functions, named as the buffers of the problem are.

    Each read counts all bytes of the constant. A read in a loop of unknown trip count counts once.
    """
    times = Counter({operations.entry: 1})
    for caller in reversed(operations.callees):
        for callee, count in _count_names(operations.functions[caller].body, _called_names).items():
            times[callee] += times[caller] * count
    weights = []
    for name, function in operations.functions.items():
        reads = _count_names(function.body, _read_names)
        for constant in function.constants if times[name] else ():
            row = function.declarations[constant]
            traffic = row.bytes * reads[constant] * times[name]
            weights.append(Weight(f"{name}/{constant}", row.bytes, row.alignment, traffic))
    return weights


def _count_names(body: tuple[Statement, ...], names: Callable[[Statement], Iterable[str]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for statement in body:
        counts.update(names(statement))
        times = (statement.trips or 1) if isinstance(statement, Repetition) else 1
        for _, inside in nested_blocks(statement):
            for name, count in _count_names(inside, names).items():
                counts[name] += times * count
    return counts


def _read_names(statement: Statement) -> Iterable[str]:
    return statement.inputs if isinstance(statement, Operation) else ()


def _called_names(statement: Statement) -> Iterable[str]:
    return (statement.call,) if isinstance(statement, Call) else ()
