"""Symbolic execution of a program: each value is a hash of the inputs that it was computed from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from memplan.extensions.networks.operations.operations import Operations
from memplan.extensions.networks.operations.statements import Branches, Call, Operation, Repetition, Statement


def values_of(program: Operations, seed: int) -> dict[str, Any]:
    """Return the values of the entry's params, results and persistent buffers after one run of the program.

    Branches and trips depend on the seed and on the values that a statement has read, not on when it runs.
    """
    entry = program.functions[program.entry]
    held = {row.id: hash(("before", row.id)) for row in entry.buffers if row.alias_of is None}
    _run(program, program.entry, entry.body, held, seed)
    lasting = {*entry.params, *entry.results, *(row.id for row in entry.buffers if row.persistent)}
    return {name: held[name] for name in sorted(lasting) if name in held}


def _run(program: Operations, function: str, body: Sequence[Statement], held: dict[str, int], seed: int) -> None:
    declared = program.functions[function].declarations
    root = {name: row.alias_of or name for name, row in declared.items()}
    for statement in body:
        reads = tuple(held[root[name]] for name in getattr(statement, "inputs", ()))
        key = hash((id(statement), reads, seed))
        if isinstance(statement, Operation):
            for name in statement.temporaries:
                held[root[name]] = hash((key, "scratch"))
            _run(program, function, statement.body, held, seed)
            for name in statement.outputs:
                part = held[root[name]] if declared[name].alias_of else None
                held[root[name]] = hash((key, name, part))
        elif isinstance(statement, Branches):
            _run(program, function, random.Random(key).choice(statement.branches), held, seed)
        elif isinstance(statement, Repetition):
            for _ in range(statement.trips or random.Random(key).randint(0, 2)):
                _run(program, function, statement.loop, held, seed)
        elif isinstance(statement, Call):
            callee = program.functions[statement.call]
            formals = dict(zip((*callee.params, *callee.results), (*statement.inputs, *statement.outputs), strict=True))
            inner = {row.id: hash(("fresh", id(statement), row.id)) for row in callee.buffers if row.alias_of is None}
            inner.update((formal, held[root[actual]]) for formal, actual in formals.items())
            _run(program, statement.call, callee.body, inner, seed)
            for formal, actual in formals.items():
                held[root[actual]] = inner[formal]
