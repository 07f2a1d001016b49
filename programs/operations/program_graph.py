"""The graph of operations of a program, whose statements may then run in another order.

Views are not operations, because a reader of a view reads the viewed buffer. Branches, loops and calls are operations
with regions. A buffer counts from the first operation that uses it to the last, as in lifetimes by usage; the scopes of
`alloc` and `free` are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_draft import DrawnProgram, GraphDraft
from memplan.programs.operations.graph_facts import OVERWRITING, UPDATING, OperationFacts, ProgramFacts, TensorFacts
from memplan.programs.operations.operations import Operations
from memplan.programs.operations.order_check import peak_of
from memplan.programs.operations.statements import (
    Alloc,
    Branches,
    Free,
    Operation,
    Repetition,
    Statement,
    walk_statements,
)


@dataclass(frozen=True)
class ProgramGraph:
    """A graph of operations, and the program from which it was derived.

    `statements` has, for each operation, the positions of its statements in the entry's body; the operation `given`,
    which represents the caller, has none. `buffers` has the buffer id of each tensor.
    """

    graph: OperationGraph
    program: Operations
    statements: tuple[tuple[int, ...], ...]
    buffers: tuple[str, ...]

    def reorder(self, order: Sequence[int]) -> Operations:
        """Return the program with its operations in another order; raises OperationsError if the order is invalid.

        Branches and loops keep their inner order; `alloc` and `free` statements of the entry function are omitted.
        """
        peak_of(self.graph, order)
        entry = self.program.functions[self.program.entry]
        body = tuple(entry.body[k] for operation in order for k in self.statements[operation])
        functions = {**self.program.functions, self.program.entry: entry.model_copy(update={"body": body})}
        return self.program.model_copy(update={"functions": functions})


def program_graph(operations: Operations, facts: ProgramFacts | None = None) -> ProgramGraph:
    """Return the graph of a program; raises OperationsError for too many operations or too deep nesting.

    Constants are resident. Persistent buffers are alive, and count, all the time.
    """
    entry = operations.functions[operations.entry]
    program = DrawnProgram(operations, facts or ProgramFacts())
    groups = list(program.groups([((k,), statement) for k, statement in enumerate(entry.body)]))
    state = {row.id for row in entry.buffers if row.persistent}
    counted = {row.id for row in entry.buffers if row.alias_of is None}.difference(entry.constants)
    inputs, results = {*entry.params, *state}, {*entry.results, *state}
    draft = GraphDraft(program, operations.entry, groups, counted, inputs, results)
    if unread := [name for name in entry.params if name not in draft.touching and name not in results]:
        # The bytes of unread inputs must count at the start, so add an operation that reads these inputs first.
        groups.insert(0, [((), Operation(op="given", inputs=tuple(unread), outputs=()))])
        draft = GraphDraft(program, operations.entry, groups, counted, inputs, results)
    for root in (*entry.params, *sorted(state)):
        draft.number_of(root)
    graph = draft.graph(operations.name, program.uses.state_of_calls())
    statements = tuple(tuple(int(where[0]) for where, _ in group if where) for group in groups)
    return ProgramGraph(graph, operations, statements, tuple(draft.number))


def facts_of_names(operations: Operations) -> ProgramFacts:
    """Return facts about a program in JSON: its buffers' names and types, and the kinds of overwriting operations.

    An operation may overwrite an input if its name is a kind for which this is known, such as `relu` or `add`.
    """
    entry, kinds = operations.functions[operations.entry], OVERWRITING | UPDATING
    tensors = {row.id: TensorFacts(name=row.id, shape=row.shape, dtype=row.dtype) for row in entry.buffers}
    named = {
        where: OperationFacts(name=statement.op, kind=statement.op.lower())
        for where, statement in walk_statements(entry.body, ())
        if isinstance(statement, Operation) and not statement.body and statement.op.lower() in kinds
    }
    return ProgramFacts(tensors, named)


def remove_scopes(operations: Operations) -> Operations:
    """Return a program without `alloc` and `free` statements, because scopes are valid for the given order only."""
    functions = {
        name: function.model_copy(update={"body": _body_without_scopes(function.body)})
        for name, function in operations.functions.items()
    }
    return operations.model_copy(update={"functions": functions})


def _body_without_scopes(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return the statements of a body without `alloc` and `free`, also inside nested statements."""
    statements: list[Statement] = []
    for row in body:
        if isinstance(row, Repetition):
            statements.append(row.model_copy(update={"loop": _body_without_scopes(row.loop)}))
        elif isinstance(row, Branches):
            statements.append(row.model_copy(update={"branches": tuple(map(_body_without_scopes, row.branches))}))
        elif isinstance(row, Operation) and row.body:
            statements.append(row.model_copy(update={"body": _body_without_scopes(row.body)}))
        elif not isinstance(row, Alloc | Free):
            statements.append(row)
    return tuple(statements)
