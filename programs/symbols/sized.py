"""Symbolic problems compiled to polynomials and to live sets (sets of buffers that are alive together)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from memplan.planner.errors import ONE_OF_THEM, ProblemError, Sentence, add_way, excerpt
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.symbols.comparing import Comparer, samples
from memplan.programs.symbols.polynomials import Key, Polynomial, hashable_form, minus, plus
from memplan.programs.symbols.problem import SymbolicProblem, point_text
from memplan.programs.symbols.reading import parse_expression
from memplan.programs.symbols.space import Space, Values

Rows = NDArray[np.int64]
"""The type of sizes or offsets in bytes, with a row for each buffer and a column for each value of the symbols."""


@dataclass(frozen=True, eq=False)
class CompiledSizes:
    """A compiled symbolic problem: distinct sizes as polynomials, padded to the alignment, and live sets.

    `form_of` has the index of each buffer's size in `forms`. No two buffers of a live set may share bytes. Buffer b is
    in the live sets `sets[first[b]:first[b + 1]]`, in ascending order. The last live sets, `apart`, come from
    conflicts. `pins` are pairs of a buffer and the index in `forms` of its offset. `views` are triples of an alias, the
    buffer that contains it, and the index in `forms` of its offset there; aliases are in no live set.
    """

    problem: SymbolicProblem
    space: Space
    compare: Comparer
    forms: tuple[Polynomial, ...]
    form_of: NDArray[np.int64]
    first: NDArray[np.int64]
    sets: NDArray[np.int64]
    live_sets: int
    apart: tuple[tuple[int, ...], ...]
    pins: tuple[tuple[int, int], ...]
    views: tuple[tuple[int, int, int], ...]

    @property
    def count(self) -> int:
        """The number of buffers."""
        return len(self.problem.buffers)

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """The buffer to which each entry of `sets` belongs."""
        return np.repeat(np.arange(self.count), np.diff(self.first))

    @cached_property
    def meets(self) -> NDArray[np.bool_]:
        """A matrix that is True for each pair of different buffers that must not share bytes."""
        alive = np.zeros((self.count, self.live_sets), np.float32)
        alive[self.members, self.sets] = 1
        meets: NDArray[np.bool_] = alive @ alive.T > 0
        np.fill_diagonal(meets, False)
        return meets

    def sets_of(self, buffer: int) -> NDArray[np.int64]:
        """Return the numbers of the live sets that contain a buffer."""
        return self.sets[self.first[buffer] : self.first[buffer + 1]]

    def sizes(self, points: Sequence[Values]) -> Rows:
        """Return the padded sizes of all buffers, in bytes, at the given symbol values."""
        return self._values_at(points)[self.form_of]

    def min_offsets(self, points: Sequence[Values]) -> Rows:
        """Return the minimum offset in bytes of each buffer (row) at each symbol value (column): its pin, else 0."""
        least = np.zeros((self.count, len(points)), np.int64)
        for (buffer, _), row in zip(self.pins, self._values_at(points)[[form for _, form in self.pins]], strict=True):
            least[buffer] = row
        return least

    def _values_at(self, points: Sequence[Values]) -> Rows:
        columns = self.space.columns(points)
        rows = [self.space.values_at(form, columns) for form in self.forms]
        return np.array(rows, np.int64).reshape(len(rows), len(points))

    def demand(self, sizes: Rows, least: Rows) -> NDArray[np.int64]:
        """Return a lower bound in bytes on every peak at each symbol value: the largest live set or end of a pin."""
        total = np.zeros((self.live_sets, sizes.shape[1]), np.int64)
        np.add.at(total, self.sets, sizes[self.members])
        ends = np.where(sizes > 0, least + sizes, 0)[[buffer for buffer, _ in self.pins]]
        peak: NDArray[np.int64] = np.maximum(total.max(axis=0, initial=0), ends.max(axis=0, initial=0))
        return peak


def compile_sizes(problem: SymbolicProblem) -> CompiledSizes:
    """Compile a problem's sizes to polynomials, lifetimes to live sets. Raises ProblemError for invalid sizes."""
    reader = _Reader(problem)
    form_of = np.array([reader.form(i, row.size) for i, row in enumerate(problem.buffers)], np.int64)
    pins = tuple((i, reader.place(i, "offset", row.offset)) for i, row in reader.rows if row.offset is not None)
    views = tuple(reader.views())
    if reader.wrong:
        raise ProblemError(*reader.wrong)
    forms = tuple(reader.forms)
    _refuse_large_total(reader.space, forms, [*form_of.tolist(), *(row[-1] for row in (*pins, *views))])
    live, apart = _live_sets(problem)
    of: list[list[int]] = [[] for _ in form_of]
    for i, alive in enumerate((*live, *apart)):
        for buffer in alive:
            of[buffer].append(i)
    first = np.cumsum([0, *map(len, of)], dtype=np.int64)
    sets, count = np.array([each for row in of for each in row], np.int64), len(live) + len(apart)
    sized = CompiledSizes(
        problem, reader.space, Comparer(reader.space), forms, form_of, first, sets, count, apart, pins, views
    )
    if wrong := [*_overlapping_pins(sized)]:
        raise ProblemError(*wrong)
    return sized


class _Reader:
    """The reader of a problem's sizes and offsets: it collects distinct polynomials (`forms`), and errors (`wrong`)."""

    def __init__(self, problem: SymbolicProblem) -> None:
        """Start without sizes, in the space of the problem's symbols."""
        self.problem, self.space = problem, Space.from_symbols(problem.symbols)
        self.rows = list(enumerate(problem.buffers))
        self.forms: list[Polynomial] = []
        self.wrong: list[Sentence] = []
        self._by_text: dict[int | str, tuple[Polynomial, int]] = {}
        self._by_key: dict[Key, int] = {}

    def form(self, i: int, text: int | str) -> int:
        """Return the index in `forms` of buffer i's size, whose expression is `text`, padded to the alignment."""
        if text not in self._by_text:
            form = parse_expression(text, self.space, f"buffers[{i}].size")
            if (rule := _broken_size_rule(form, Comparer(self.space))) is not None:
                self.wrong.append(f"buffers[{i}].size: {rule}, got {excerpt(text)}")
            self._by_text[text] = form, self._form_index(self.space.align(form, self.problem.alignment))
        return self._by_text[text][1]

    def place(self, i: int, field: str, text: int | str) -> int:
        """Return the index in `forms` of the offset in `field` of buffer i: its pin, or its distance as an alias."""
        form, alignment = parse_expression(text, self.space, f"buffers[{i}].{field}"), self.problem.alignment
        rule = _broken_size_rule(form, Comparer(self.space))
        if any(value % alignment for value in form.values()):
            rule = f"must be proved to be a multiple of the alignment ({alignment})"
        if rule is not None:
            self.wrong.append(f"buffers[{i}].{field}: {rule}, got {excerpt(text)}")
        return self._form_index(form)

    def views(self) -> Iterator[tuple[int, int, int]]:
        """Yield (alias, outermost buffer that contains it, index in `forms` of its offset there) for each alias."""
        index, ways = {row.id: i for i, row in self.rows}, {}
        for i, row in self.rows:
            if row.alias_of is not None:
                ways[i] = index[row.alias_of], self.forms[self.place(i, "alias_offset", row.alias_offset or 0)]
                upper = self.problem.buffers[ways[i][0]]
                room = minus(self._by_text[upper.size][0], plus(ways[i][1], self._by_text[row.size][0]))
                if _broken_size_rule(room, Comparer(self.space)) is not None:
                    rule = f"must be proved to end inside {excerpt(row.alias_of)}, of {excerpt(upper.size)} bytes"
                    self.wrong.append(f"buffers[{i}].alias_offset: {rule}, got {excerpt(row.alias_offset or 0)}")
                if row.offset is not None:
                    rule = f"buffers[{i}].offset: must not be given together with alias_of, got {excerpt(row.offset)}"
                    self.wrong.append(add_way(rule, ONE_OF_THEM))
        for i, (at, distance) in ways.items():
            while at in ways:
                at, further = ways[at]
                distance = plus(distance, further)
            yield i, at, self._form_index(distance)

    def _form_index(self, form: Polynomial) -> int:
        at = self._by_key.setdefault(hashable_form(form), len(self.forms))
        if at == len(self.forms):
            self.forms.append(form)
        return at


def _broken_size_rule(form: Polynomial, compare: Comparer) -> str | None:
    """Return the text of the violated rule if a size may be negative; None if it is proved never to be."""
    space, corner = compare.space, compare.negative_point(form)
    if corner is False:
        return None
    points = samples(space, 256) if corner is True else [corner]
    for point in points:
        if (value := space.value(form, point)) < 0:
            return f"must not be negative, and is {value} at {point_text(point)}"
    free = sorted(space.free_symbols(form))
    if endless := [name for name in free if space.symbols[name].max is None]:
        name = endless[0]
        return f"must be proved not to be negative, for which {name!r} needs a 'max', as {name}=1..1024"
    return f"must be proved not to be negative for all values of {', '.join(free)}: a larger 'min' may help"


def _refuse_large_total(space: Space, forms: Sequence[Polynomial], used: Sequence[int]) -> None:
    """Raise ProblemError if the sum of all sizes may exceed the maximum number of bytes."""
    total = sum((space.magnitude_bound(forms[form]) or 0) * count for form, count in Counter(used).items())
    if total > MAX_BYTES:
        top = ", ".join(f"{name}={each.max}" for name, each in space.symbols.items())
        raise ProblemError(f"buffers: must have sizes with a sum of at most {MAX_BYTES} bytes, got {total} at {top}")


def _live_sets(problem: SymbolicProblem) -> tuple[list[frozenset[int]], tuple[tuple[int, ...], ...]]:
    """Return the maximal sets of buffers that are alive together, and the sets that explicit conflicts add.

    A buffer is alive whenever one of its aliases is alive; aliases are in no live set.
    """
    plain = problem.sizeless_problem()
    begins, ends = defaultdict(list), defaultdict(list)
    for i, row in enumerate(problem.buffers):
        begins[row.start].append(plain.roots.get(i, (i, 0))[0])
        ends[row.end].append(plain.roots.get(i, (i, 0))[0])
    alive: Counter[int] = Counter()
    live_sets: list[frozenset[int]] = []
    for time in sorted({*begins, *ends}):
        alive.subtract(ends[time])
        alive.update(begins[time])
        alive = +alive
        now = frozenset(alive)
        if begins[time] and not (live_sets and now <= live_sets[-1]):
            live_sets[-1:] = [now] if live_sets and live_sets[-1] <= now else [*live_sets[-1:], now]
    pairs = [frozenset(map(plain.root_of, pair)) for pair in problem.conflicts]
    return live_sets, _disjoint_sets(live_sets, [pair for pair in pairs if not any(pair <= live for live in live_sets)])


def _disjoint_sets(live: Sequence[frozenset[int]], pairs: Sequence[frozenset[int]]) -> tuple[tuple[int, ...], ...]:
    """Return sets of buffers that pairwise must not share bytes; each one extends a conflict in `pairs`."""
    near: dict[int, set[int]] = defaultdict(set)
    for each in [*live, *pairs] if pairs else ():
        for buffer in each:
            near[buffer] |= each
    apart_pairs = set()
    for pair in pairs:
        for alive in [each for each in live if each & pair]:
            apart = set(pair)
            for buffer in (*sorted(alive), *sorted(set.intersection(*(near[each] for each in sorted(pair))))):
                if near[buffer] >= apart:
                    apart.add(buffer)
            apart_pairs.add(tuple(sorted(apart)))
    return tuple(sorted(apart_pairs))


def _overlapping_pins(sized: CompiledSizes) -> Iterator[str]:
    rows, compare = sized.problem.buffers, sized.compare
    for (a, low), (b, high) in combinations(sized.pins, 2):
        spans = [
            (sized.forms[at], plus(sized.forms[at], sized.forms[sized.form_of[i]])) for i, at in ((a, low), (b, high))
        ]
        if sized.meets[a, b] and not any(compare.is_never_above(spans[i][1], spans[1 - i][0]) for i in (0, 1)):
            rule = f"must be proved not to overlap {excerpt(rows[a].id)}, at {excerpt(rows[a].offset)}, for all values"
            yield f"buffers[{b}].offset: {rule}, got {excerpt(rows[b].offset)}"
