"""Computes lifetimes and overwritten buffers by brute force, from all executions of a program."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from lab.support.interpreter import Event, Interpreter, Way

READS, WRITES, SCOPES = ("read", "update"), ("write", "scratch"), ("alloc", "free", "end")
USES = (*READS, *WRITES, "part", "hold")
BORDERS = ("step", "loop", "iteration", "loop-end")


class ScopeError(Exception):
    """The error raised if a program uses a buffer outside of the buffer's scope, or if a scope begins or ends twice."""


def is_used(program: Interpreter, ways: Iterable[Way], root: str) -> bool:
    """Return True if any execution uses the buffer `root` or one of its aliases."""
    return any(event.kind in USES and program.root(event.buffer) == root for way in ways for event in way)


def alive_by_usage(program: Interpreter, ways: Iterable[Way], root: str, *, passed: bool = False) -> set[int]:
    """Return the steps in which a buffer is alive: those between two uses of the same value in some execution.

    Each iteration of a loop is a separate life, unless an iteration reads the buffer before it writes it, or an
    execution uses the buffer in the same life outside of the loop. With `passed`, passing the buffer to a call also
    counts as a use.
    """
    mine = [list(_buffer_events(program, way, root, passed=passed)) for way in ways]
    exposed = {loop for way in mine for loop in _exposed_loops(way)}
    split: set[str] = set()
    for loop in program.loops:
        if loop not in exposed and not any(_is_used_around(way, loop, split) for way in mine):
            split.add(loop)
    used, needed = set(), set()
    for way in mine:
        lives = list(zip(way, _life_numbers(way, split), strict=True))
        used |= _steps_after_a_use(lives)
        needed |= _steps_after_a_use(lives[::-1])
    return used & needed


def _buffer_events(program: Interpreter, way: Way, root: str, *, passed: bool) -> Iterator[Event]:
    """Yield the events that use a buffer or its aliases (or pass it, with `passed`), or that mark steps and loops."""
    for event in way:
        if event.kind in BORDERS:
            yield event
        elif program.root(event.buffer) == root and (passed or not event.kind.startswith("pass-")):
            kind = event.kind.removeprefix("pass-")
            is_part = kind == "write" and program.sizes[event.buffer] < program.sizes[root]
            yield replace(event, kind="part" if is_part else kind)


def _exposed_loops(way: Sequence[Event]) -> Iterator[str]:
    """Yield the path of each loop in which an iteration reads the buffer before it writes it."""
    undecided: dict[str, bool] = {}
    for event in way:
        if event.kind == "iteration":
            undecided[event.path] = True
        elif event.kind == "loop-end":
            undecided.pop(event.path, None)
        elif event.kind in (*READS, *WRITES, "alloc", "new"):
            if event.kind in READS:
                yield from (loop for loop, is_so in undecided.items() if is_so)
            undecided = dict.fromkeys(undecided, False)


def _life_numbers(way: Sequence[Event], split: set[str]) -> Iterator[int]:
    """Yield the number of each event's life (time with one value); each iteration of a loop in `split` is a life."""
    stack, count = [0], 0
    for event in way:
        if event.kind == "loop":
            stack.append(stack[-1])
        elif event.kind == "iteration" and event.path in split:
            count += 1
            stack[-1] = count
        elif event.kind == "loop-end":
            stack.pop()
        yield stack[-1]


def _is_used_around(way: Sequence[Event], loop: str, split: set[str]) -> bool:
    """Return True if the life (value) at the start of an execution of the loop has a use outside of that execution."""
    lives = list(_life_numbers(way, split))
    begins = [k for k, event in enumerate(way) if event.kind == "loop" and event.path == loop]
    ends = [k for k, event in enumerate(way) if event.kind == "loop-end" and event.path == loop]
    return any(
        event.kind in USES and lives[k] == lives[low] and not low < k < high
        for low, high in zip(begins, ends, strict=True)
        for k, event in enumerate(way)
    )


def _steps_after_a_use(lives: Iterable[tuple[Event, int]]) -> set[int]:
    """Return the steps in which the life (the value) of the buffer has already been used."""
    begun: set[int] = set()
    found = set()
    for event, life in lives:
        if event.kind in USES:
            begun.add(life)
        elif event.kind == "step" and life in begun:
            found.add(event.time)
    return found


def alive_by_scope(program: Interpreter, ways: Iterable[Way], root: str) -> set[int]:
    """Return the steps in which a buffer is in scope in some execution. Raises ScopeError for invalid scopes."""
    mine = [list(_buffer_events(program, way, root, passed=False)) for way in ways]
    if not any(event.kind in ("alloc", "free") for way in mine for event in way):
        return _whole_span(program, root)
    found = set()
    for way in mine:
        is_held = False
        for event in way:
            if (event.kind == "alloc" and is_held) or (event.kind in (*USES, "free") and not is_held):
                raise ScopeError(f"a buffer must be in scope, got {event.kind} at {event.path}")
            if event.kind in SCOPES:
                is_held = event.kind == "alloc"
            elif event.kind == "step" and is_held:
                found.add(event.time)
    return found


def _whole_span(program: Interpreter, root: str) -> set[int]:
    """Return all steps of the call that owns a buffer; for arguments and persistent buffers, of the program."""
    if root in (*program.arguments, *program.persistent):
        return set(range(-1, program.steps + 1))
    return set(range(*program.spans.get(program.path_of[root], (0, program.steps))))


def alive_if_lifted(program: Interpreter, ways: Iterable[Way], root: str, *, by_scope: bool) -> set[int]:
    """Return the steps in which a buffer is alive if calls and outermost operations keep their buffers throughout.

    A buffer that only one call or operation uses is then alive during all of its steps.
    """
    scope = alive_by_scope(program, ways, root)
    operations = program.operations_of.get(root, {None})
    whole: set[int] | None = None
    if root in program.persistent:
        pass
    elif program.path_of[root] != "main":
        whole = set(range(*program.spans[program.path_of[root]]))
    elif root not in program.arguments and len(operations) == 1 and operations != {None}:
        whole = set(range(*program.spans[str(next(iter(operations)))]))
    if by_scope:
        return whole if whole is not None and scope <= whole else scope
    return alive_by_usage(program, ways, root, passed=True) if whole is None else whole


def clobbered_buffers(program: Interpreter, ways: Iterable[Way], places: Mapping[str, int]) -> set[tuple[str, str]]:
    """Return (buffer, statement that reads overwritten bytes), found by simulating memory with buffers at `places`."""
    found = set()
    for way in ways:
        memory: dict[int, int] = {}
        expected: dict[tuple[str, int], int] = {}
        together: dict[int, set[str]] = {}
        path = ""
        for pattern, event in enumerate(way):
            if event.path != path or event.kind == "step":
                path, together = event.path, {}
            if event.kind in BORDERS or event.kind.startswith("pass-"):
                continue
            root, distance = program.inside.get(event.buffer, (event.buffer, 0))
            if event.kind in (*SCOPES, "new"):
                expected = {cell: value for cell, value in expected.items() if cell[0] != root}
                continue
            cells = [(root, distance + k) for k in range(program.sizes[event.buffer])]
            at = {cell: places[root] + cell[1] for cell in cells}
            if event.kind not in WRITES and any(
                memory[at[cell]] != expected[cell] for cell in cells if cell in expected
            ):
                found.add((event.buffer, event.path))
            if event.kind in (*WRITES, "update"):
                for cell in cells:
                    # If a statement writes two overlapping buffers, their common bytes are undefined, so mark both.
                    together.setdefault(at[cell], set()).add(root)
                    is_alone = len(together[at[cell]]) == 1
                    memory[at[cell]], expected[cell] = pattern if is_alone else -1, pattern
    return found
