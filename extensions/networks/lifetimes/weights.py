"""The constants of a program as buffers: weights, their bytes, and the bytes that operations read of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memplan.extensions.networks.operations.operations import Operations
from memplan.extensions.networks.operations.statements import Call, Operation, Repetition, Statement, blocks


@dataclass(frozen=True)
class Weight:
    """A constant of a function; `traffic` is the number of its bytes read in one run of the program."""

    id: str
    size: int
    alignment: int
    traffic: int


def weights_of(operations: Operations) -> list[Weight]:
    """Return the constants of all called functions, by the names of their buffers in the problem.

    Each read is of the whole constant; what a loop without a known number of trips reads is counted once.
    """
    times = Counter({operations.entry: 1})
    for caller in reversed(operations.callees):
        for callee, count in _count_names(operations.functions[caller].body, _calls).items():
            times[callee] += times[caller] * count
    weights = []
    for name, function in operations.functions.items():
        reads = _count_names(function.body, _reads)
        for constant in function.constants if times[name] else ():
            row = function.declarations[constant]
            traffic = row.bytes * reads[constant] * times[name]
            weights.append(Weight(f"{name}/{constant}", row.bytes, row.alignment, traffic))
    return weights


def _count_names(body: tuple[Statement, ...], names: Callable[[Statement], Iterable[str]]) -> Counter[str]:
    """Count how often statements name each buffer while a body runs once; all branches count."""
    counts: Counter[str] = Counter()
    for statement in body:
        counts.update(names(statement))
        times = (statement.trips or 1) if isinstance(statement, Repetition) else 1
        for _, inside in blocks(statement):
            for name, count in _count_names(inside, names).items():
                counts[name] += times * count
    return counts


def _reads(statement: Statement) -> Iterable[str]:
    return statement.inputs if isinstance(statement, Operation) else ()


def _calls(statement: Statement) -> Iterable[str]:
    return (statement.call,) if isinstance(statement, Call) else ()
