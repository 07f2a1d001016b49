"""The buffers that statements, including nested ones, read, write, or use as scratch memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from memplan.planner.errors import Location
from memplan.programs.operations.operations import Operations
from memplan.programs.operations.statements import Branches, Call, Operation, Repetition, Statement, walk_statements

Placed = tuple[Location, Statement]
"""The type of a statement with its location in the program."""
FirstAccess = tuple[bool, bool]
"""The type of two facts about a buffer: it may be read before it is written; every path writes it."""


@dataclass
class StatementUses:
    """The buffers that statements use, in the order of their first mention; a view counts as the viewed buffer."""

    reads: dict[str, None] = field(default_factory=dict)
    writes: dict[str, None] = field(default_factory=dict)
    scratch: dict[str, None] = field(default_factory=dict)

    @property
    def touched_buffers(self) -> dict[str, None]:
        """All buffers that are read, written or used as scratch memory."""
        return {**self.reads, **self.writes, **self.scratch}


class FunctionUses:
    """The buffers that the statements of a program use, function by function."""

    def __init__(self, program: Operations) -> None:
        """Find the buffers that each function of a program writes, and the buffer behind each view."""
        self.program = program
        self.root = {
            name: {row.id: row.alias_of or row.id for row in function.buffers}
            for name, function in program.functions.items()
        }
        self._is_whole = {
            name: {row.id: row.bytes == function.declarations[row.alias_of or row.id].bytes for row in function.buffers}
            for name, function in program.functions.items()
        }
        self._written: dict[str, frozenset[str]] = {}
        self._with_effects: set[str] = set()
        for name in program.callees:
            body: list[Placed] = [((k,), statement) for k, statement in enumerate(program.functions[name].body)]
            self._written[name] = frozenset(self.uses_of(name, body).writes)
            if self.has_effects(body):
                self._with_effects.add(name)

    def uses_of(self, function: str, body: Sequence[Placed]) -> StatementUses:
        """Return the buffers that a function's statements, including nested ones, read, write or use as scratch."""
        root = self.root[function]
        uses = StatementUses()
        for where, outer in body:
            for _, statement in walk_statements((outer,), where):
                if isinstance(statement, Operation):
                    uses.scratch.update((root[name], None) for name in statement.temporaries)
                if isinstance(statement, Operation | Call | Branches):
                    uses.reads.update((root[name], None) for name in statement.inputs)
                if isinstance(statement, Operation | Call):
                    uses.writes.update((root[name], None) for name in statement.outputs)
                if isinstance(statement, Call):
                    uses.writes.update((root[name], None) for name in self._changed_inputs(statement))
        return uses

    def has_effects(self, body: Sequence[Placed]) -> bool:
        """Return True if any statement of a body, including nested ones, has effects such as printing."""
        return any(
            statement.call in self._with_effects if isinstance(statement, Call) else statement.has_effects
            for where, outer in body
            for _, statement in walk_statements((outer,), where)
            if isinstance(statement, Operation | Call)
        )

    def crosses(self, function: str, body: Sequence[Statement], buffer: str) -> bool:
        """Return True if an iteration of a loop with this body may read what an earlier iteration wrote to a buffer."""
        return self._first_access(function, body, buffer)[0]

    def state_of_calls(self) -> int:
        """Return the bytes of the persistent buffers of all called functions, counted once for each call."""
        times = dict.fromkeys(self.program.functions, 0)
        times[self.program.entry] = 1
        for name, callees in reversed(self.program.callees.items()):
            for callee in callees:
                times[callee] += times[name]
        return sum(
            times[name] * sum(row.bytes for row in function.buffers if row.persistent)
            for name, function in self.program.functions.items()
            if name != self.program.entry
        )

    def _changed_inputs(self, call: Call) -> list[str]:
        formals = self.program.functions[call.call].params
        return [
            actual for formal, actual in zip(formals, call.inputs, strict=True) if formal in self._written[call.call]
        ]

    def _first_access(self, function: str, body: Sequence[Statement], buffer: str) -> FirstAccess:
        for statement in body:
            may_read, surely_written = self._first_access_in(function, statement, buffer)
            if may_read or surely_written:
                return may_read, surely_written
        return False, False

    def _first_access_in(self, function: str, statement: Statement, buffer: str) -> FirstAccess:
        """Return (may_read, surely_written), as in `_first_access`, for one statement and its nested statements."""
        root, is_whole = self.root[function], self._is_whole[function]
        if isinstance(statement, Repetition):
            may_read, surely_written = self._first_access(function, statement.loop, buffer)
            return may_read, surely_written and statement.trips is not None
        if not isinstance(statement, Operation | Call | Branches):
            return False, False
        if any(root[name] == buffer for name in statement.inputs):
            return True, False
        if isinstance(statement, Branches):
            ways = [self._first_access(function, branch, buffer) for branch in statement.branches]
            return any(may_read for may_read, _ in ways), all(surely for _, surely in ways)
        touched = (*statement.outputs, *(statement.temporaries if isinstance(statement, Operation) else ()))
        if any(root[name] == buffer for name in touched):
            return False, any(root[name] == buffer and is_whole[name] for name in touched)
        return (
            self._first_access(function, statement.body, buffer) if isinstance(statement, Operation) else (False, False)
        )
