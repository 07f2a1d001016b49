"""The verification of offset programs at given values of the symbols, independent of the code that computes them."""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from memplan.extensions.shapes.offset_programs import OffsetProgram, OffsetPrograms
from memplan.planner.model.rows import WireValue
from memplan.programs.symbols.problem import SymbolicProblem, point_text
from memplan.programs.symbols.space import Values

MOST_FOUND = 20
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.floordiv,
    ast.Pow: operator.pow,
}
_CALLS: Mapping[str, Callable[..., int]] = {
    "min": min,
    "Min": min,
    "max": max,
    "Max": max,
    "floor_div": operator.floordiv,
    "FloorDiv": operator.floordiv,
    "ceil_div": lambda a, b: -(-a // b),
    "CeilDiv": lambda a, b: -(-a // b),
    "align": lambda a, b: -(-a // b) * b,
}


class CheckResult(WireValue):
    """The result of a verification: the number of values checked, and at most 20 violations."""

    points: int
    violations: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        """True if there is no violation."""
        return not self.violations


def verify_programs(problem: SymbolicProblem, found: OffsetPrograms, points: Iterable[Values]) -> CheckResult:
    """Verify each program at several symbol values: conflicting buffers share no bytes, and offsets are aligned.

    The offsets must also be those of stacking buffers in the program's order, which keeps buffers disjoint for all
    sizes.
    """
    violations = list(_structure_violations(problem, found))
    if violations:
        return CheckResult(points=0, violations=tuple(violations[:MOST_FOUND]))
    rules = _Rules(problem)
    trees = [_syntax_tree(buffer.size) for buffer in problem.buffers]
    made = [_syntax_tree(text) for text in found.sizes]
    count = 0
    for point in points:
        count += 1
        sizes = [value_of(tree, point) for tree in made]
        plain = [value_of(tree, point) for tree in trees]
        padded = [-(-size // problem.alignment) * problem.alignment for size in plain]
        violations += (f"problem at {point_text(point)}: {rule}" for rule in rules.view_violations(point, plain))
        for buffer, size, at in zip(problem.buffers, padded, found.size_of, strict=True):
            if size != sizes[at]:
                violations.append(
                    f"sizes[{at}] at {point_text(point)}: must be the size of {buffer.id!r}, {size}, got {sizes[at]}"
                )
        for i, program in enumerate(found.programs):
            violations += (
                f"programs[{i}] at {point_text(point)}: {rule}"
                for rule in _program_violations(rules, program, padded, sizes, point)
            )
        if len(violations) >= MOST_FOUND:
            break
    return CheckResult(points=count, violations=tuple(violations[:MOST_FOUND]))


def _syntax_tree(text: int | str) -> ast.expr:
    return ast.parse(str(text).strip(), mode="eval").body


def value_of(tree: ast.expr, values: Values) -> int:
    """Return the value of a parsed expression; raises KeyError if its syntax is not supported."""
    match tree:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=sign, operand=operand):
            return -value_of(operand, values) if isinstance(sign, ast.USub) else value_of(operand, values)
        case ast.BinOp(left=left, op=sign, right=right):
            return _OPERATORS[type(sign)](value_of(left, values), value_of(right, values))
        case ast.Call(func=ast.Name(id=name), args=parts):
            return _CALLS[name](*(value_of(part, values) for part in parts))
    raise KeyError(ast.unparse(tree))


def _structure_violations(problem: SymbolicProblem, found: OffsetPrograms) -> Iterator[str]:
    """Yield a sentence for each error in the structure of offset programs, such as a missing buffer."""
    every = list(range(len(problem.buffers)))
    if len(found.size_of) != len(every) or max(found.size_of, default=-1) >= len(found.sizes):
        yield "size_of: must have a size for each buffer"
    for i, program in enumerate(found.programs):
        if sorted(program.order) != every or len(program.which) != len(every):
            yield f"programs[{i}]: must have each buffer once"
        for at, terms in enumerate((*program.values, program.last)):
            if any(value >= at or size >= len(found.sizes) for value, size in terms):
                yield f"programs[{i}].values[{at}]: must use only earlier values and existing sizes"
        if max(program.which, default=-1) >= len(program.values):
            yield f"programs[{i}].which: must use only existing values"


class _Rules:
    """The rules of a problem: pairs of buffers that must not share bytes, and the offsets of views and pins."""

    def __init__(self, problem: SymbolicProblem) -> None:
        """Derive the rules of a problem from its lifetimes, conflicts, views and pins."""
        self.problem, self.names = problem, [buffer.id for buffer in problem.buffers]
        plain = problem.sizeless_problem()
        self.roots = {i: root for i, (root, _) in plain.roots.items()}
        self.pins = {i: _syntax_tree(row.offset) for i, row in enumerate(problem.buffers) if row.offset is not None}
        self.far = {
            i: (plain.index[row.alias_of], _syntax_tree(row.alias_offset or 0))
            for i, row in enumerate(problem.buffers)
            if row.alias_of is not None
        }
        alive: list[tuple[int, int]] = []
        self.pairs = {(min(a, b), max(a, b)) for a, b in ([*map(plain.root_of, pair)] for pair in problem.conflicts)}
        self.pairs = {(a, b) for a, b in self.pairs if a < b}
        for b, row in sorted(enumerate(problem.buffers), key=lambda item: item[1].start):
            root = self.roots.get(b, b)
            alive = [each for each in alive if each[0] > row.start]
            self.pairs |= {(min(root, each), max(root, each)) for _, each in alive if each != root}
            alive.append((row.end, root))

    def view_violations(self, point: Values, sizes: Sequence[int]) -> Iterator[str]:
        """Yield a sentence for each view that would reach beyond its buffer at a symbol value."""
        for i, (upper, distance) in self.far.items():
            if not 0 <= value_of(distance, point) <= sizes[upper] - sizes[i]:
                yield f"{self.names[i]!r} must be inside {self.names[upper]!r}"


def _program_violations(
    rules: _Rules, program: OffsetProgram, padded: Sequence[int], sizes: Sequence[int], point: Values
) -> Iterator[str]:
    """Yield a sentence for each violation of the rules by a program at one value of the symbols."""
    values: list[int] = []
    for terms in program.values:
        values.append(max((values[value] + sizes[size] for value, size in terms), default=0))
    offsets, names = [values[each] for each in program.which], rules.names
    peak = max((values[value] + sizes[size] for value, size in program.last), default=0)
    ends = [offset + size for offset, size in zip(offsets, padded, strict=True)]
    if peak != (most := max((end for i, end in enumerate(ends) if i not in rules.roots), default=0)):
        yield f"must have the peak {most}, got {peak}"
    rank = {buffer: i for i, buffer in enumerate(program.order)}
    beneath = [0] * len(offsets)
    for a, b in rules.pairs:
        if padded[a] and padded[b] and offsets[a] < ends[b] and offsets[b] < ends[a]:
            yield f"{names[a]!r} and {names[b]!r} share bytes"
        lower, upper = (a, b) if rank[a] < rank[b] else (b, a)
        beneath[upper] = max(beneath[upper], ends[lower])
    for b, (upper, distance) in rules.far.items():
        beneath[b] = offsets[upper] + value_of(distance, point)
    for b, pin in rules.pins.items():
        beneath[b] = value_of(pin, point)
    for b, offset in enumerate(offsets):
        if offset != beneath[b]:
            yield f"{names[b]!r} must start at {beneath[b]} in the stacking order, got {offset}"
        if offset % rules.problem.alignment:
            yield f"{names[b]!r} must start at a multiple of {rules.problem.alignment}, got {offset}"
