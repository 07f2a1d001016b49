"""Expansion of operations in time: every call is replaced by its body."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from memplan.extensions.networks.lifetimes.activations import Activations, CallWorkspace
from memplan.extensions.networks.lifetimes.timeline import (
    NOWHERE,
    Action,
    BlockPart,
    BranchChoice,
    Loop,
    Mark,
    ProgramTimeline,
    StatementBlock,
    Stretch,
)
from memplan.extensions.networks.operations.operations import Operations
from memplan.extensions.networks.operations.statements import (
    Alloc,
    Branches,
    Call,
    Free,
    Operation,
    Repetition,
    Statement,
    walk_statements,
)
from memplan.planner.errors import OperationsError
from memplan.planner.foreign.programs import TOO_MANY

T = TypeVar("T")
MAX_EXPANDED = 1_000_000
"""The largest number of statements and buffers of a program after its calls are expanded."""
MAX_NESTING = 100
"""The deepest nesting of branches and loops, calls included."""
_PATH_LENGTH = 16
"""The longest mean path of calls in a program with the largest number of statements and buffers."""


def expand(
    operations: Operations,
    function: str | None = None,
    *,
    workspaces: Mapping[str, Sequence[CallWorkspace]] | None = None,
    most: int = MAX_EXPANDED,
) -> ProgramTimeline:
    """Lay a function (the program's entry, by default) out in time, with all functions that it calls.

    Where `workspaces` are given, by function, a call is one step that needs them in addition to its arguments. Raises
    OperationsError for more than `most` statements and buffers, and for arguments that do not match their parameters.
    """
    name = function or operations.entry
    if workspaces is None:
        count = expanded_count(operations, name)
        if count > most:
            raise OperationsError(f"functions: {TOO_MANY.format(most=most)}, got {count}")
    return _Expansion(operations, workspaces, most * _PATH_LENGTH).timeline(name)


def expanded_count(operations: Operations, function: str | None = None) -> int:
    """Return the number of statements and buffers of a function after all its calls are expanded."""
    count: dict[str, int] = {}
    for name, callees in operations.callees.items():
        laid_out = operations.functions[name]
        own = len(laid_out.buffers) + sum(1 for _ in walk_statements(laid_out.body, ()))
        count[name] = own + sum(count[callee] for callee in callees)
    return count[function or operations.entry]


class _Place(NamedTuple):
    """The position at which statements are laid out: in a list, in its call, and in the run with its `parts` so far.

    `scope` are the variables whose scope ends with the whole function.
    """

    position: tuple[int, ...]
    activation: int
    names: Mapping[str, int]
    depth: int
    operation: int
    parts: list[BlockPart]
    scope: list[int]


Laid = Generator["Laid[Any]", Any, T]
"""A layout as a generator: it yields the layouts inside of it, and receives the result of each."""


def _lay_out(layout: Laid[T]) -> T:
    """Run a layout and those inside of it without recursion, so that Python's stack stays shallow."""
    stack: list[Laid[Any]] = [layout]
    value: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as end:
            value = end.value
            stack.pop()
    result: T = value
    return result


class _Expansion:
    """The state of an expansion up to the step `now`."""

    def __init__(
        self, operations: Operations, workspaces: Mapping[str, Sequence[CallWorkspace]] | None, characters: int
    ) -> None:
        self.operations, self.workspaces, self.characters = operations, workspaces, characters
        self.calls = Activations(operations)
        self.stretches: list[Stretch] = []
        self.now = 0
        self.freed = {name: _freed_names(function.body) for name, function in operations.functions.items()}

    def timeline(self, name: str) -> ProgramTimeline:
        """Lay out a function, from the step that supplies its inputs to the step that reads its outputs."""
        function = self.operations.functions[name]
        self.stretches.append(Stretch(0, (), "inputs", -1, 0, 0))
        names = self.calls.begin(name, name, 0, {})
        for param in function.params:
            self.calls.mark(names[param], 0, "write")
        parts: list[BlockPart] = []
        _lay_out(self._body(_Place((), 0, names, 0, NOWHERE, parts, []), function.body))
        self.calls.end(0)
        last = len(self.stretches)
        self.stretches.append(Stretch(0, (), "outputs", self.now, self.now + 1, 0))
        for result in function.results:
            self.calls.mark(names[result], last, "read")
        for row in self.calls.variables:
            if row.is_persistent:
                row.marks = [Mark(0, "write"), *row.marks, Mark(last, "read")]
        whole = StatementBlock(-1, self.now + 1, 0, len(self.stretches), 0, tuple(parts))
        return ProgramTimeline(whole, self.now, self.stretches, self.calls.found, self.calls.variables)

    def _body(self, at: _Place, body: Sequence[Statement]) -> Laid[None]:
        """Lay out statements one after the other, and end the scopes that end with them."""
        scope = [] if at.position else at.scope
        for k, statement in enumerate(body):
            if isinstance(statement, Operation):
                index = self._operation(at, k, statement)
                if statement.body:
                    is_outermost = at.activation == 0 and at.operation == NOWHERE
                    operation = index if is_outermost else at.operation
                    yield self._body(at._replace(position=(*at.position, k), operation=operation), statement.body)
                self._end(index)
                if statement.body:
                    self._hold(at, k, statement)
            elif isinstance(statement, Call):
                yield self._call(at, k, statement)
            elif isinstance(statement, Branches):
                yield self._branches(at, k, statement)
            elif isinstance(statement, Repetition) and statement.trips == 1:
                yield self._body(at._replace(position=(*at.position, k)), statement.loop)
            elif isinstance(statement, Repetition):
                inner = yield self._block(at, statement.loop, (k,))
                if inner.end > inner.start:
                    surely_runs = statement.trips is not None
                    spans = inner.start, inner.end, inner.first, inner.after
                    at.parts.append(Loop(*spans, self._path(at, k), inner, surely_runs))
            else:
                self._scopes(at, k, statement, scope)
        if scope:
            index = len(self.stretches)
            self.stretches.append(
                Stretch(at.activation, at.position, "end", self.now, self.now, at.depth, at.operation)
            )
            for variable in scope:
                self.calls.mark(variable, index, "end")

    def _block(self, at: _Place, body: Sequence[Statement], steps: tuple[int, ...]) -> Laid[StatementBlock]:
        """Lay out a separate statement block inside another block."""
        depth = at.depth + 1
        if depth > MAX_NESTING:
            rule = f"must not lie in more than {MAX_NESTING} branches and loops, calls included"
            raise OperationsError(f"{self._path(at, steps[0])}: {rule}")
        parts: list[BlockPart] = []
        start, first = self.now, len(self.stretches)
        yield self._body(at._replace(position=(*at.position, *steps), depth=depth, parts=parts), body)
        return StatementBlock(start, self.now, first, len(self.stretches), depth, tuple(parts))

    def _operation(self, at: _Place, k: int, statement: Operation) -> int:
        index = self._begin(at, k, statement.op)
        for name, action in _arguments(statement):
            self.calls.mark(at.names[name], index, action)
        for name in statement.temporaries:
            self.calls.mark(at.names[name], index, "scratch")
        return index

    def _hold(self, at: _Place, k: int, statement: Operation) -> None:
        """Hold the operands of an operation until its end, so that no scope ends earlier."""
        held = self._begin(at, k, statement.op, end=self.now)
        for name in dict.fromkeys((*statement.inputs, *statement.outputs, *statement.temporaries)):
            self.calls.mark(at.names[name], held, "hold")

    def _call(self, at: _Place, k: int, statement: Call) -> Laid[None]:
        index = self._begin(at, k, statement.call)
        for name, action in _arguments(statement):
            self.calls.mark(at.names[name], index, action, is_passed=self.workspaces is None)
        path = f"{self._path(at, k)}:{statement.call}"
        if self.workspaces is not None:
            self.calls.add_workspaces(path, at.activation, index, self.workspaces[statement.call])
            self._end(index)
            return
        callee = self.operations.functions[statement.call]
        bindings = zip((*callee.params, *callee.results), (*statement.inputs, *statement.outputs), strict=True)
        activation = len(self.calls.found)
        names = self.calls.begin(statement.call, path, index, {formal: at.names[actual] for formal, actual in bindings})
        if self.calls.characters > self.characters:
            rule = f"must call each other less deeply: the paths of calls have more than {self.characters} characters"
            raise OperationsError(f"functions: {rule}")
        yield self._body(_Place((), activation, names, at.depth, at.operation, at.parts, []), callee.body)
        self._end(index)
        self.calls.end(activation)

    def _branches(self, at: _Place, k: int, statement: Branches) -> Laid[None]:
        if statement.inputs:
            index = self._begin(at, k, "branches")
            for name in statement.inputs:
                self.calls.mark(at.names[name], index, "read")
            self._end(index)
        done: list[StatementBlock] = []
        start, first = self.now, len(self.stretches)
        for j, branch in enumerate(statement.branches):
            done.append((yield self._block(at, branch, (k, j))))
        if self.now > start:
            at.parts.append(BranchChoice(start, self.now, first, len(self.stretches), self._path(at, k), tuple(done)))

    def _scopes(self, at: _Place, k: int, statement: Alloc | Free, scope: list[int]) -> None:
        action: Action = "alloc" if isinstance(statement, Alloc) else "free"
        index = self._begin(at, k, action)
        freed = self.freed[self.calls.found[at.activation].function]
        for name in statement.alloc if isinstance(statement, Alloc) else statement.free:
            self.calls.mark(at.names[name], index, action)
            if action == "alloc":
                (at.scope if name in freed else scope).append(at.names[name])
        self._end(index)

    def _begin(self, at: _Place, k: int, label: str, end: int = NOWHERE) -> int:
        """Begin the stretch of a statement and return its index; it ends at `end`, or later by `_end`."""
        position = (*at.position, k)
        self.stretches.append(Stretch(at.activation, position, label, self.now, end, at.depth, at.operation))
        return len(self.stretches) - 1

    def _end(self, index: int) -> None:
        """End a stretch at the current step; a statement without steps gets one."""
        if self.now == self.stretches[index].start:
            self.now += 1
        self.stretches[index] = self.stretches[index]._replace(end=self.now)

    def _path(self, at: _Place, k: int) -> str:
        return f"{self.calls.found[at.activation].path}/{'.'.join(map(str, (*at.position, k)))}"


def _freed_names(body: tuple[Statement, ...]) -> set[str]:
    return {name for _, item in walk_statements(body, ()) if isinstance(item, Free) for name in item.free}


def _arguments(statement: Operation | Call) -> Iterator[tuple[str, Action]]:
    """Yield each buffer that a statement reads or writes, with the action on it."""
    inputs, outputs = dict.fromkeys(statement.inputs), dict.fromkeys(statement.outputs)
    for name in inputs | outputs:
        yield name, "read" if name not in outputs else "update" if name in inputs else "write"
