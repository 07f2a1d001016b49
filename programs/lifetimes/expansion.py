"""The expansion of a program into a timeline, in which every call is replaced by the called function's body."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from memplan.planner.errors import OperationsError
from memplan.planner.foreign.programs import TOO_MANY
from memplan.programs.lifetimes.activations import Activations, CallWorkspace
from memplan.programs.lifetimes.timeline import (
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
from memplan.programs.operations.operations import Operations
from memplan.programs.operations.statements import (
    Alloc,
    Branches,
    Call,
    Free,
    Operation,
    Repetition,
    Statement,
    walk_statements,
)

T = TypeVar("T")
MAX_EXPANDED = 1_000_000
"""The maximum number of statements and buffers of a program after the expansion of its calls."""
MAX_NESTING = 100
"""The maximum nesting depth of branches and loops, including those of called functions."""
_PATH_LENGTH = 16
"""The maximum mean length of a call's path, in characters, in a program of the maximum size."""


def expand(
    operations: Operations,
    function: str | None = None,
    *,
    workspaces: Mapping[str, Sequence[CallWorkspace]] | None = None,
    most: int = MAX_EXPANDED,
) -> ProgramTimeline:
    """Return the timeline of a function (by default the entry) in which each call is replaced by the called body.

    If `workspaces` gives the workspaces of each function, a call is instead a single step that needs its arguments and
    the called function's workspaces. Raises OperationsError for more than `most` statements and buffers, and for
    arguments that do not match their parameters.
    """
    name = function or operations.entry
    if workspaces is None:
        count = expanded_count(operations, name)
        if count > most:
            raise OperationsError(f"functions: {TOO_MANY.format(most=most)}, got {count}")
    return _Expansion(operations, workspaces, most * _PATH_LENGTH).timeline(name)


def expanded_count(operations: Operations, function: str | None = None) -> int:
    """Return how many statements and buffers a function has, in total, once its calls are expanded."""
    count: dict[str, int] = {}
    for name, callees in operations.callees.items():
        laid_out = operations.functions[name]
        own = len(laid_out.buffers) + sum(1 for _ in walk_statements(laid_out.body, ()))
        count[name] = own + sum(count[callee] for callee in callees)
    return count[function or operations.entry]


class _Place(NamedTuple):
    """The place of a statement list: its position in the function, its call, its nesting depth, its variables by name.

    `parts` collects the blocks nested in the list, and `scope` the variables whose scope ends with the function.
    """

    position: tuple[int, ...]
    activation: int
    names: Mapping[str, int]
    depth: int
    operation: int
    parts: list[BlockPart]
    scope: list[int]


Laid = Generator["Laid[Any]", Any, T]
"""The type of a layout written as a generator: it yields each nested layout and receives that layout's result."""


def _run_layout(layout: Laid[T]) -> T:
    """Run a layout and its nested layouts on an explicit stack, because Python limits the depth of recursion."""
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
    """The expansion of one function into a timeline; `now` is the next free time step."""

    def __init__(
        self, operations: Operations, workspaces: Mapping[str, Sequence[CallWorkspace]] | None, characters: int
    ) -> None:
        """Start an expansion before any statement; `characters` limits the total length of all call paths."""
        self.operations, self.workspaces, self.characters = operations, workspaces, characters
        self.calls = Activations(operations)
        self.stretches: list[Stretch] = []
        self.now = 0
        self.freed = {name: _freed_names(function.body) for name, function in operations.functions.items()}

    def timeline(self, name: str) -> ProgramTimeline:
        """Return a function's timeline, from the step that writes its inputs to the step that reads its outputs."""
        function = self.operations.functions[name]
        self.stretches.append(Stretch(0, (), "inputs", -1, 0, 0))
        names = self.calls.begin(name, name, 0, {})
        for param in function.params:
            self.calls.mark(names[param], 0, "write")
        parts: list[BlockPart] = []
        _run_layout(self._lay_out_body(_Place((), 0, names, 0, NOWHERE, parts, []), function.body))
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

    def _lay_out_body(self, at: _Place, body: Sequence[Statement]) -> Laid[None]:
        """Lay out the statements of a list in order, and end the scopes that end with the list."""
        scope = [] if at.position else at.scope
        for k, statement in enumerate(body):
            if isinstance(statement, Operation):
                index = self._lay_out_operation(at, k, statement)
                if statement.body:
                    is_outermost = at.activation == 0 and at.operation == NOWHERE
                    operation = index if is_outermost else at.operation
                    yield self._lay_out_body(
                        at._replace(position=(*at.position, k), operation=operation), statement.body
                    )
                self._end_stretch(index)
                if statement.body:
                    self._hold_operands(at, k, statement)
            elif isinstance(statement, Call):
                yield self._lay_out_call(at, k, statement)
            elif isinstance(statement, Branches):
                yield self._lay_out_branches(at, k, statement)
            elif isinstance(statement, Repetition) and statement.trips == 1:
                yield self._lay_out_body(at._replace(position=(*at.position, k)), statement.loop)
            elif isinstance(statement, Repetition):
                inner = yield self._lay_out_block(at, statement.loop, (k,))
                if inner.end > inner.start:
                    surely_runs = statement.trips is not None
                    spans = inner.start, inner.end, inner.first, inner.after
                    at.parts.append(Loop(*spans, self._statement_path(at, k), inner, surely_runs))
            else:
                self._mark_scopes(at, k, statement, scope)
        if scope:
            index = len(self.stretches)
            self.stretches.append(
                Stretch(at.activation, at.position, "end", self.now, self.now, at.depth, at.operation)
            )
            for variable in scope:
                self.calls.mark(variable, index, "end")

    def _lay_out_block(self, at: _Place, body: Sequence[Statement], steps: tuple[int, ...]) -> Laid[StatementBlock]:
        """Lay out a nested statement list as a separate block; raises OperationsError beyond MAX_NESTING levels."""
        depth = at.depth + 1
        if depth > MAX_NESTING:
            raise OperationsError(
                f"{self._statement_path(at, steps[0])}: must be nested in at most {MAX_NESTING} branches and loops, "
                "counted across calls"
            )
        parts: list[BlockPart] = []
        start, first = self.now, len(self.stretches)
        yield self._lay_out_body(at._replace(position=(*at.position, *steps), depth=depth, parts=parts), body)
        return StatementBlock(start, self.now, first, len(self.stretches), depth, tuple(parts))

    def _lay_out_operation(self, at: _Place, k: int, statement: Operation) -> int:
        index = self._begin_stretch(at, k, statement.op)
        for name, action in _operand_actions(statement):
            self.calls.mark(at.names[name], index, action)
        for name in statement.temporaries:
            self.calls.mark(at.names[name], index, "scratch")
        return index

    def _hold_operands(self, at: _Place, k: int, statement: Operation) -> None:
        held = self._begin_stretch(at, k, statement.op, end=self.now)
        for name in dict.fromkeys((*statement.inputs, *statement.outputs, *statement.temporaries)):
            self.calls.mark(at.names[name], held, "hold")

    def _lay_out_call(self, at: _Place, k: int, statement: Call) -> Laid[None]:
        """Lay out the called function's body or, if workspaces are given, a single step that needs its workspaces."""
        index = self._begin_stretch(at, k, statement.call)
        for name, action in _operand_actions(statement):
            self.calls.mark(at.names[name], index, action, is_passed=self.workspaces is None)
        path = f"{self._statement_path(at, k)}:{statement.call}"
        if self.workspaces is not None:
            self.calls.add_workspaces(path, at.activation, index, self.workspaces[statement.call])
            self._end_stretch(index)
            return
        callee = self.operations.functions[statement.call]
        bindings = zip((*callee.params, *callee.results), (*statement.inputs, *statement.outputs), strict=True)
        activation = len(self.calls.found)
        names = self.calls.begin(statement.call, path, index, {formal: at.names[actual] for formal, actual in bindings})
        if self.calls.characters > self.characters:
            raise OperationsError(
                f"functions: must call each other less deeply, got call paths of more than {self.characters} characters"
            )
        yield self._lay_out_body(_Place((), activation, names, at.depth, at.operation, at.parts, []), callee.body)
        self._end_stretch(index)
        self.calls.end(activation)

    def _lay_out_branches(self, at: _Place, k: int, statement: Branches) -> Laid[None]:
        """Lay out a choice: a step that reads its inputs, if any, and then its branches one after another in time."""
        if statement.inputs:
            index = self._begin_stretch(at, k, "branches")
            for name in statement.inputs:
                self.calls.mark(at.names[name], index, "read")
            self._end_stretch(index)
        done: list[StatementBlock] = []
        start, first = self.now, len(self.stretches)
        for j, branch in enumerate(statement.branches):
            done.append((yield self._lay_out_block(at, branch, (k, j))))
        if self.now > start:
            at.parts.append(
                BranchChoice(start, self.now, first, len(self.stretches), self._statement_path(at, k), tuple(done))
            )

    def _mark_scopes(self, at: _Place, k: int, statement: Alloc | Free, scope: list[int]) -> None:
        action: Action = "alloc" if isinstance(statement, Alloc) else "free"
        index = self._begin_stretch(at, k, action)
        freed = self.freed[self.calls.found[at.activation].function]
        for name in statement.alloc if isinstance(statement, Alloc) else statement.free:
            self.calls.mark(at.names[name], index, action)
            if action == "alloc":
                (at.scope if name in freed else scope).append(at.names[name])
        self._end_stretch(index)

    def _begin_stretch(self, at: _Place, k: int, label: str, end: int = NOWHERE) -> int:
        position = (*at.position, k)
        self.stretches.append(Stretch(at.activation, position, label, self.now, end, at.depth, at.operation))
        return len(self.stretches) - 1

    def _end_stretch(self, index: int) -> None:
        if self.now == self.stretches[index].start:
            self.now += 1
        self.stretches[index] = self.stretches[index]._replace(end=self.now)

    def _statement_path(self, at: _Place, k: int) -> str:
        return f"{self.calls.found[at.activation].path}/{'.'.join(map(str, (*at.position, k)))}"


def _freed_names(body: tuple[Statement, ...]) -> set[str]:
    return {name for _, item in walk_statements(body, ()) if isinstance(item, Free) for name in item.free}


def _operand_actions(statement: Operation | Call) -> Iterator[tuple[str, Action]]:
    inputs, outputs = dict.fromkeys(statement.inputs), dict.fromkeys(statement.outputs)
    for name in inputs | outputs:
        yield name, "read" if name not in outputs else "update" if name in inputs else "write"
