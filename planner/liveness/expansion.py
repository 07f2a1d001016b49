"""Lay operations out in time, every call replaced by what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from memplan.planner.errors import OperationsError
from memplan.planner.liveness.activations import Activations, CallWorkspace
from memplan.planner.liveness.timeline import (
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
from memplan.planner.operations.operations import Operations
from memplan.planner.operations.statements import (
    Alloc,
    Branches,
    Call,
    Free,
    Operation,
    Repetition,
    Statement,
    every_statement,
)

MAX_EXPANDED = 1_000_000
"""The largest number of statements and buffers of a program, once its calls are replaced by what they do."""
TOO_MANY = "must be at most {most} statements and buffers, once every call is replaced by what it does"
MAX_NESTING = 100
"""The deepest nesting of branches and loops, calls included."""
_PATH_LENGTH = 16
"""The longest average path of calls in a program with the largest number of statements and buffers."""


def expand(
    operations: Operations,
    function: str | None = None,
    *,
    workspaces: Mapping[str, Sequence[CallWorkspace]] | None = None,
    most: int = MAX_EXPANDED,
) -> ProgramTimeline:
    """Lay a function (the program's entry, by default) out in time, with all that it calls.

    Where `workspaces` are given, by function, a call is one step that needs these beside its arguments. Raises
    OperationsError for more than `most` statements and buffers, and for arguments that cannot be what they stand for.
    """
    name = function or operations.entry
    if workspaces is None:
        count = expanded_count(operations, name)
        if count > most:
            raise OperationsError(f"functions: {TOO_MANY.format(most=most)}, got {count}")
    return _Expansion(operations, workspaces, most * _PATH_LENGTH).timeline(name)


def expanded_count(operations: Operations, function: str | None = None) -> int:
    """Return the statements and buffers of a function and of all that it calls, however often: few can come to many."""
    calls = {name: [callee for _, callee in operations.calls(name)] for name in operations.functions}
    count: dict[str, int] = {}
    for name in TopologicalSorter(calls).static_order():
        laid_out = operations.functions[name]
        own = len(laid_out.buffers) + sum(1 for _ in every_statement(laid_out.body, ()))
        count[name] = own + sum(count[callee] for callee in calls[name])
    return count[function or operations.entry]


@dataclass
class _Block:
    """A list of statements that is being laid out, in a run that has the `parts` so far.

    `function` is the block of the whole function, None for that itself; `scope` are the variables whose scope ends with
    this block; `close` is called behind its last statement.
    """

    statements: Iterator[tuple[int, Statement]]
    close: Callable[[_Block], None]
    position: tuple[int, ...]
    activation: int
    names: Mapping[str, int]
    depth: int
    operation: int
    parts: list[BlockPart]
    first: int
    start: int
    function: _Block | None = None
    scope: list[int] = field(default_factory=list)


class _Expansion:
    """A stack of blocks, the innermost last, and what has been laid out so far, up to the step `now`."""

    def __init__(
        self, operations: Operations, workspaces: Mapping[str, Sequence[CallWorkspace]] | None, characters: int
    ) -> None:
        self.operations, self.workspaces, self.characters = operations, workspaces, characters
        self.calls = Activations(operations)
        self.stretches: list[Stretch] = []
        self.blocks: list[_Block] = []
        self.now = 0
        self.freed = {name: _freed(function.body) for name, function in operations.functions.items()}

    def timeline(self, name: str) -> ProgramTimeline:
        """Lay out a function, between the step in which it gets its inputs and that in which it gives its outputs."""
        function = self.operations.functions[name]
        self.stretches.append(Stretch(0, (), "inputs", -1, 0, 0))
        names = self.calls.begin(name, name, 0, {})
        for param in function.params:
            self.calls.mark(names[param], 0, "write")
        parts: list[BlockPart] = []
        statements = iter(enumerate(function.body))
        self.blocks.append(_Block(statements, lambda _: None, (), 0, names, 0, NOWHERE, parts, 1, 0))
        while self.blocks:
            self._advance(self.blocks[-1])
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

    def _advance(self, block: _Block) -> None:
        """Lay out the next statement of the innermost block, or close the block."""
        k, statement = next(block.statements, (0, None))
        if statement is None:
            self._end_scopes(block)
            self.blocks.pop()
            block.close(block)
        elif isinstance(statement, Operation):
            self._operation(block, k, statement)
        elif isinstance(statement, Call):
            self._call(block, k, statement)
        elif isinstance(statement, Branches):
            self._branches(block, k, statement)
        elif isinstance(statement, Repetition):
            self._loop(block, k, statement)
        else:
            self._scopes(block, k, statement)

    def _operation(self, block: _Block, k: int, statement: Operation) -> None:
        index = self._begin(block, k, statement.op)
        for name, action in _arguments(statement):
            self.calls.mark(block.names[name], index, action)
        for name in statement.temporaries:
            self.calls.mark(block.names[name], index, "scratch")
        if not statement.body:
            self._end(index)
            return

        def close(_: _Block) -> None:
            self._end(index)
            # What the operation names must be there to its end, so that no scope may end before.
            held = self._begin(block, k, statement.op, end=self.now)
            for name in dict.fromkeys((*statement.inputs, *statement.outputs, *statement.temporaries)):
                self.calls.mark(block.names[name], held, "hold")

        is_outermost = block.activation == 0 and block.operation == NOWHERE
        self._open(block, statement.body, close, (k,), operation=index if is_outermost else block.operation)

    def _call(self, block: _Block, k: int, statement: Call) -> None:
        index = self._begin(block, k, statement.call)
        for name, action in _arguments(statement):
            self.calls.mark(block.names[name], index, action, is_passed=self.workspaces is None)
        path = f"{self._path(block, k)}:{statement.call}"
        if self.workspaces is not None:
            self.calls.add_workspaces(path, block.activation, index, self.workspaces[statement.call])
            self._end(index)
            return
        callee = self.operations.functions[statement.call]
        given = zip((*callee.params, *callee.results), (*statement.inputs, *statement.outputs), strict=True)
        activation = len(self.calls.found)
        names = self.calls.begin(statement.call, path, index, {formal: block.names[actual] for formal, actual in given})
        if self.calls.characters > self.characters:
            rule = f"must call each other less deeply: the paths of calls have more than {self.characters} characters"
            raise OperationsError(f"functions: {rule}")

        def close(_: _Block) -> None:
            self._end(index)
            self.calls.end(activation)

        statements = iter(enumerate(callee.body))
        depth, first = block.depth, len(self.stretches)
        self.blocks.append(
            _Block(statements, close, (), activation, names, depth, block.operation, block.parts, first, self.now)
        )

    def _branches(self, block: _Block, k: int, statement: Branches) -> None:
        if statement.inputs:
            index = self._begin(block, k, "branches")
            for name in statement.inputs:
                self.calls.mark(block.names[name], index, "read")
            self._end(index)
        done: list[StatementBlock] = []
        start, first = self.now, len(self.stretches)

        def next_branch() -> None:
            j = len(done)
            if j < len(statement.branches):
                self._open(block, statement.branches[j], close, (k, j), is_deeper=True)
            elif self.now > start:
                path = self._path(block, k)
                block.parts.append(BranchChoice(start, self.now, first, len(self.stretches), path, tuple(done)))

        def close(branch: _Block) -> None:
            done.append(self._run(branch))
            next_branch()

        next_branch()

    def _loop(self, block: _Block, k: int, statement: Repetition) -> None:
        if statement.trips == 1:
            self._open(block, statement.loop, lambda _: None, (k,))
            return

        def close(inner: _Block) -> None:
            body = self._run(inner)
            if body.end > body.start:
                path, surely_runs = self._path(block, k), statement.trips is not None
                block.parts.append(Loop(body.start, body.end, body.first, body.after, path, body, surely_runs))

        self._open(block, statement.loop, close, (k,), is_deeper=True)

    def _scopes(self, block: _Block, k: int, statement: Alloc | Free) -> None:
        action: Action = "alloc" if isinstance(statement, Alloc) else "free"
        index = self._begin(block, k, action)
        freed = self.freed[self.calls.found[block.activation].function]
        for name in statement.alloc if isinstance(statement, Alloc) else statement.free:
            self.calls.mark(block.names[name], index, action)
            if action == "alloc":
                scoped = block if name not in freed else block.function or block
                scoped.scope.append(block.names[name])
        self._end(index)

    def _open(
        self,
        block: _Block,
        body: tuple[Statement, ...],
        close: Callable[[_Block], None],
        steps: tuple[int, ...],
        *,
        operation: int | None = None,
        is_deeper: bool = False,
    ) -> None:
        """Open a block in another one: a statement block of its own where `is_deeper`, else the rest of this one."""
        depth = block.depth + is_deeper
        if depth > MAX_NESTING:
            rule = f"must not lie in more than {MAX_NESTING} branches and loops, calls included"
            raise OperationsError(f"{self._path(block, steps[0])}: {rule}")
        self.blocks.append(
            _Block(
                iter(enumerate(body)),
                close,
                (*block.position, *steps),
                block.activation,
                block.names,
                depth,
                block.operation if operation is None else operation,
                [] if is_deeper else block.parts,
                len(self.stretches),
                self.now,
                block.function or block,
            )
        )

    def _run(self, block: _Block) -> StatementBlock:
        return StatementBlock(block.start, self.now, block.first, len(self.stretches), block.depth, tuple(block.parts))

    def _begin(self, block: _Block, k: int, label: str, end: int = NOWHERE) -> int:
        """Begin the stretch of a statement, which ends at `end` or is ended later; return its index."""
        position = (*block.position, k)
        self.stretches.append(Stretch(block.activation, position, label, self.now, end, block.depth, block.operation))
        return len(self.stretches) - 1

    def _end(self, index: int) -> None:
        """End a stretch here; what took no step of its own takes one now."""
        if self.now == self.stretches[index].start:
            self.now += 1
        self.stretches[index] = self.stretches[index]._replace(end=self.now)

    def _end_scopes(self, block: _Block) -> None:
        if block.scope:
            index = len(self.stretches)
            end = Stretch(block.activation, block.position, "end", self.now, self.now, block.depth, block.operation)
            self.stretches.append(end)
            for variable in block.scope:
                self.calls.mark(variable, index, "end")

    def _path(self, block: _Block, k: int) -> str:
        return f"{self.calls.found[block.activation].path}/{'.'.join(map(str, (*block.position, k)))}"


def _freed(body: tuple[Statement, ...]) -> set[str]:
    return {name for _, found in every_statement(body, ()) if isinstance(found, Free) for name in found.free}


def _arguments(statement: Operation | Call) -> Iterator[tuple[str, Action]]:
    """Yield each buffer that a statement reads or writes, and what it does to it."""
    inputs, outputs = dict.fromkeys(statement.inputs), dict.fromkeys(statement.outputs)
    for name in inputs | outputs:
        yield name, "read" if name not in outputs else "update" if name in inputs else "write"
