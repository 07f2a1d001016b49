"""Programs as graphs of operations: equal live bytes, and equal results in any valid order."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from memplan.planner.errors import OperationsError
from memplan.programs.lifetimes import analyse
from memplan.programs.operations.operations import Operations, operations_from
from memplan.programs.operations.order_check import peak_of
from memplan.programs.operations.program_graph import ProgramGraph, program_graph
from memplan.programs.operations.statements import Branches, Call, Operation, Repetition, Statement
from tests.support.depth import seeds
from tests.support.operation_graphs import random_order
from tests.support.random_programs import random_program


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


def program(*body: dict[str, Any], **fields: Any) -> Operations:
    """Return a program in which the size of each buffer in bytes is the length of its name."""
    names = dict.fromkeys(fields.pop("names").split())
    views = fields.pop("views", {})
    buffers = [{"id": name, "size": len(name)} | ({"alias_of": views[name]} if name in views else {}) for name in names]
    return operations_from({"functions": {"main": {"buffers": buffers, "body": body, **fields}}})


def live_bytes(operations: Operations) -> int:
    return max((step.live_bytes for step in analyse(operations).steps), default=0)


def peak(found: ProgramGraph) -> int:
    return peak_of(found.graph, range(len(found.graph.ops)))


def test_program_graph_maps_buffers_to_tensors_and_views_to_viewed_buffers() -> None:
    found = program_graph(
        program(
            {"op": "conv", "inputs": ["in", "weight"], "outputs": ["sum"], "temporaries": ["columns"]},
            {"op": "relu", "inputs": ["mus"], "outputs": ["out"]},
            names="in weight sum mus columns out",
            views={"mus": "sum"},
            params=["in"],
            results=["out"],
            constants=["weight"],
        )
    )
    graph = found.graph
    assert found.buffers == ("in", "weight", "sum", "out")
    assert (graph.size, graph.resident, graph.kept) == ((2, 6, 3, 3), (1,), (3,))
    ops = [(row.name, row.inputs, row.outputs, row.work) for row in graph.ops]
    assert ops == [("conv", (0, 1), (2,), 7), ("relu", (2,), (3,), 0)]
    assert peak(found) == 12


def test_a_region_counts_its_inner_tensors_and_outer_tensors_that_only_its_operation_uses() -> None:
    body = (
        {"op": "begin", "outputs": ["four", "b"]},
        {
            "branches": [
                [
                    {"op": "x", "inputs": ["four"], "outputs": ["sixsix"]},
                    {"op": "y", "inputs": ["sixsix"], "outputs": ["end"]},
                ],
                [{"op": "z", "outputs": ["end"]}],
            ],
            "inputs": ["b"],
        },
    )
    program_ = program(*body, names="four b sixsix end", results=["end"])
    found = program_graph(program_)
    (first, second) = found.graph.ops[1].regions
    assert (first.kind, first.graph.size, first.outer) == ("branch", (4, 6, 3), ((0, 0), (2, 2)))
    assert second.graph.size == (3,)
    assert found.graph.ops[1].work == 10 - (4 + 1 + 3)
    assert (peak(found), live_bytes(program_)) == (10, 10)


def test_a_value_carried_between_iterations_is_alive_during_the_whole_loop() -> None:
    big = {"op": "big", "inputs": ["own"], "outputs": ["carried"], "temporaries": ["temporary"]}
    loop = [{"op": "read", "inputs": ["carried"], "outputs": ["own"]}, big]
    found = program_graph(program({"loop": loop, "trips": 2}, names="carried own temporary"))
    inside = found.graph.ops[0].regions[0].graph
    assert (inside.size, inside.given, inside.kept) == ((7, 3), (0,), (0,))
    assert peak(found) == 7 + 3 + 9


def test_state_of_called_functions_counts_for_each_call() -> None:
    state = {"buffers": [{"id": "s", "size": 5, "persistent": True}], "body": [{"op": "f", "outputs": ["s"]}]}
    main = {"body": [{"call": "f"}, {"call": "f"}]}
    assert peak(program_graph(operations_from({"functions": {"main": main, "f": state}}))) == 10


def test_program_graph_refuses_too_many_operations_and_too_deep_nesting() -> None:
    body: dict[str, Any] = {"op": "leaf"}
    functions: dict[str, Any] = {"f0": {"body": [body] * 10}}
    functions |= {f"f{k}": {"body": [{"call": f"f{k - 1}"}] * 10} for k in range(1, 8)}
    with pytest.raises(OperationsError, match="must run at most 1000000 operations"):
        program_graph(operations_from({"entry": "f7", "functions": functions}))
    chain = {f"f{k}": {"body": [{"call": f"f{k - 1}"}] if k else [body]} for k in range(150)}
    with pytest.raises(OperationsError, match="must nest at most 100"):
        program_graph(operations_from({"entry": "f149", "functions": chain}))


@pytest.mark.drawn
def test_random_programs_keep_their_live_bytes_and_results_in_any_order() -> None:
    exact = tried = 0
    for seed in seeds(30):
        rng = random.Random(seed)
        operations = operations_from(random_program(seed))
        try:
            bytes_ = live_bytes(operations)
        except OperationsError:  # skip random programs with invalid scopes
            continue
        found = program_graph(operations)
        assert peak(found) >= bytes_
        tried, exact = tried + 1, exact + (peak(found) == bytes_)
        order = random_order(found.graph, rng)
        reordered = found.reorder(order)
        assert live_bytes(reordered) <= peak_of(found.graph, order)
        for way in range(3):
            assert values_of(reordered, way) == values_of(operations, way)
    assert exact > 0.8 * tried > 15


def test_an_unused_parameter_is_alive_before_the_first_operation() -> None:
    read = program({"op": "relu", "inputs": ["in"], "outputs": ["out"]}, names="in unread out", params=["in", "unread"])
    found = program_graph(read)
    assert [(row.name, row.inputs) for row in found.graph.ops] == [("given", (1,)), ("relu", (0,))]
    assert (found.statements, peak(found), found.reorder([0, 1])) == (((), (0,)), len("in" + "unread"), read)
