"""Enumerates all executions of a program as sequences of events, without memplan's liveness analysis.

A program is the JSON object of the question `liveness`, with few statements. A loop runs at most `rounds` times, and at
least once if its number of trips is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class TooManyWaysError(Exception):
    """The error raised if a program has more possible executions than the interpreter may enumerate."""


@dataclass(frozen=True)
class Event:
    """An event of an execution, such as the use of a buffer, a step, an iteration, or the end of a loop."""

    kind: str
    path: str
    buffer: str = ""
    time: int = 0


Way = tuple[Event, ...]


@dataclass(frozen=True)
class Call:
    """A call in progress: `names` maps names of buffers to buffers, and `freed` are the buffers that the call frees."""

    path: str
    names: dict[str, str]
    freed: frozenset[str]
    ends: list[str] = field(default_factory=list)
    operation: str | None = None


@dataclass
class Interpreter:
    """An enumerator of a program's executions.

    Buffers are named by their call's path; `inside` maps aliases to buffers.
    """

    program: dict[str, Any]
    rounds: int = 2
    most: int = 600
    sizes: dict[str, int] = field(default_factory=dict)
    inside: dict[str, tuple[str, int]] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    persistent: list[str] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    path_of: dict[str, str] = field(default_factory=dict)
    operations_of: dict[str, set[str | None]] = field(default_factory=dict)
    loops: list[str] = field(default_factory=list)
    steps: int = 0

    def ways(self) -> list[Way]:
        """Return all executions: lists of events from step -1 (writes the inputs) to the step that reads outputs."""
        main = self.program["functions"]["main"]
        call = self._begin_call("main", "main", {})
        self.arguments = [call.names[name] for name in dict.fromkeys((*main["params"], *main["results"]))]
        body = self._function_ways(main["body"], call)
        inputs = [call.names[name] for name in main["params"]]
        outputs = [call.names[name] for name in main["results"]]
        first = self._step_way([("write", name) for name in (*inputs, *self.persistent)], "main", -1)
        last = self._step_way([("read", name) for name in (*outputs, *self.persistent)], "main", self.steps)
        return [(*first, *way, *last) for way in body]

    def root(self, buffer: str) -> str:
        """Return the buffer that contains the given alias, or the buffer itself if it is not an alias."""
        return self.inside.get(buffer, (buffer, 0))[0]

    def _begin_call(self, function: str, path: str, bound: dict[str, str]) -> Call:
        """Register the buffers and aliases of a function that is called at `path`, and return the call.

        `bound` maps the function's parameters and results to buffers of the caller.
        """
        found = self.program["functions"][function]
        names = dict(bound)
        for row in found["buffers"]:
            if row["id"] not in bound:
                name = names[row["id"]] = f"{path}/{row['id']}"
                self.sizes[name] = row["size"]
                self.path_of[name] = path
                if row.get("persistent"):
                    self.persistent.append(name)
        for row in found["buffers"]:
            if "alias_of" in row:
                around, distance = self.inside.get(names[row["alias_of"]], (names[row["alias_of"]], 0))
                self.inside[names[row["id"]]] = around, distance + row["alias_offset"]
        return Call(path, names, frozenset(_freed_names(found["body"])))

    def _function_ways(self, body: list[dict[str, Any]], call: Call) -> list[Way]:
        ways = self._body_ways(body, call, ())
        ends = tuple(Event("end", call.path, name) for name in call.ends)
        return [(*way, *ends) for way in ways]

    def _body_ways(self, body: list[dict[str, Any]], call: Call, position: tuple[int, ...]) -> list[Way]:
        """Return all executions of a list of statements; a scope that no statement frees ends after the last one."""
        ways: list[Way] = [()]
        ends: list[Event] = []
        for k, statement in enumerate(body):
            for name in statement.get("alloc", ()):
                if name in call.freed:
                    call.ends.append(call.names[name])
                else:
                    ends.append(Event("end", call.path, call.names[name]))
            ways = self._concatenated_ways(ways, self._statement_ways(statement, call, (*position, k)))
        return [(*way, *ends) for way in ways]

    def _concatenated_ways(self, first: Sequence[Way], second: Sequence[Way]) -> list[Way]:
        """Return each execution of `first` followed by each of `second`. Raises TooManyWaysError."""
        if len(first) * len(second) > self.most:
            raise TooManyWaysError
        return [(*a, *b) for a in first for b in second]

    def _statement_ways(self, statement: dict[str, Any], call: Call, position: tuple[int, ...]) -> list[Way]:
        """Return all executions of one statement, as sequences of events."""
        path = f"{call.path}/{'.'.join(map(str, position))}"
        if "op" in statement:
            return self._operation_ways(statement, call, position, path)
        if "call" in statement:
            return self._call_ways(statement, call, path)
        if "branches" in statement:
            return self._branch_ways(statement, call, position, path)
        if "loop" in statement:
            return self._loop_ways(statement, call, position, path)
        kind = "alloc" if "alloc" in statement else "free"
        events = [Event(kind, path, call.names[name]) for name in statement[kind]]
        return [(*events, self._new_step_event(path))]

    def _operation_ways(self, statement: dict[str, Any], call: Call, position: tuple[int, ...], path: str) -> list[Way]:
        """Return all executions of an operation, followed by those of any body of the operation."""
        uses = [(kind, call.names[name]) for kind, name in _buffer_uses(statement)]
        for _, name in uses:
            self.operations_of.setdefault(self.root(name), set()).add(call.operation)
        if not statement.get("body"):
            return [self._step_way(uses, path, self._next_step())]
        is_outermost = call.path == "main" and call.operation is None
        inner = Call(call.path, call.names, call.freed, call.ends, path if is_outermost else call.operation)
        start = self.steps
        ways = self._body_ways(statement["body"], inner, position)
        if self.steps == start:
            ways = self._concatenated_ways(ways, [(self._new_step_event(path),)])
        if is_outermost:
            self.spans[path] = start, self.steps
        before = tuple(Event(kind, path, name) for kind, name in uses)
        after = tuple(Event("hold", path, name) for _, name in uses)
        return [(*before, *after, *way, *after) for way in ways]

    def _call_ways(self, statement: dict[str, Any], call: Call, path: str) -> list[Way]:
        """Return all executions of a call: the buffers are passed, and then the function's body runs."""
        function = self.program["functions"][statement["call"]]
        formals, actuals = (*function["params"], *function["results"]), (*statement["inputs"], *statement["outputs"])
        bound = {formal: call.names[actual] for formal, actual in zip(formals, actuals, strict=True)}
        inner = self._begin_call(statement["call"], f"{path}:{statement['call']}", bound)
        inner = Call(inner.path, inner.names, inner.freed, inner.ends, call.operation)
        start = self.steps
        ways = self._function_ways(function["body"], inner)
        if self.steps == start:
            ways = self._concatenated_ways(ways, [(self._new_step_event(path),)])
        self.spans[inner.path] = start, self.steps
        passed = [(kind, call.names[name]) for kind, name in _buffer_uses(statement)]
        new = [name for name in inner.names.values() if self.path_of[name] == inner.path]
        before = (
            *(Event(f"pass-{kind}", path, name) for kind, name in passed),
            *(Event("new", path, name) for name in new if name not in (*self.persistent, *self.inside)),
        )
        after = tuple(Event("pass-hold", path, name) for _, name in passed)
        return [(*before, *way, *after) for way in ways]

    def _branch_ways(self, statement: dict[str, Any], call: Call, position: tuple[int, ...], path: str) -> list[Way]:
        """Return all executions of a statement with branches; each execution runs one branch."""
        choosing: Way = ()
        if statement["inputs"]:
            uses = [("read", call.names[name]) for name in statement["inputs"]]
            for _, name in uses:
                self.operations_of.setdefault(self.root(name), set()).add(call.operation)
            choosing = self._step_way(uses, path, self._next_step())
        branches = [self._body_ways(branch, call, (*position, k)) for k, branch in enumerate(statement["branches"])]
        return [(*choosing, *way) for ways in branches for way in ways]

    def _loop_ways(self, statement: dict[str, Any], call: Call, position: tuple[int, ...], path: str) -> list[Way]:
        """Return all executions of a loop, with each possible number of iterations up to `rounds`."""
        trips = statement.get("trips")
        if trips == 1:
            return self._body_ways(statement["loop"], call, position)
        self.loops.append(path)
        body = [(Event("iteration", path), *way) for way in self._body_ways(statement["loop"], call, position)]
        gone: list[Way] = [()]
        found: list[Way] = [] if trips else [()]
        for _ in range(self.rounds):
            gone = self._concatenated_ways(gone, body)
            found += gone
        return [(Event("loop", path), *way, Event("loop-end", path)) for way in found]

    def _step_way(self, uses: list[tuple[str, str]], path: str, time: int) -> Way:
        """Return the execution of one step: the uses of buffers, the step itself, and the buffers that it holds."""
        before = (Event(kind, path, name) for kind, name in uses)
        after = (Event("hold", path, name) for _, name in uses)
        return (*before, Event("step", path, time=time), *after)

    def _next_step(self) -> int:
        self.steps += 1
        return self.steps - 1

    def _new_step_event(self, path: str) -> Event:
        return Event("step", path, time=self._next_step())


def _buffer_uses(statement: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (kind of use, buffer name) for each buffer that an operation or call reads, writes or uses as scratch."""
    inputs, outputs = dict.fromkeys(statement["inputs"]), dict.fromkeys(statement["outputs"])
    found = [("read", name) for name in inputs]  # All inputs are read before any output is written.
    found += [("update" if name in inputs else "write", name) for name in outputs]
    return found + [("scratch", name) for name in statement.get("temporaries", ())]


def _freed_names(body: list[dict[str, Any]]) -> set[str]:
    found = set()
    for statement in body:
        found.update(statement.get("free", ()))
        for block in (*statement.get("branches", ()), statement.get("loop", ()), statement.get("body", ())):
            found |= _freed_names(block)
    return found
