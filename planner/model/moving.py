"""Buffers that move between pools, with all defaults filled in, and the plain problem of their pieces."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from memplan.planner.errors import OptionError
from memplan.planner.model.buffer_table import ABSENT, column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import BufferCopy, Plan
from memplan.planner.model.problem import Problem, replace_fields
from memplan.planner.model.problem_fields import Moves
from memplan.planner.model.rows import read_accesses


class Piece(NamedTuple):
    """The room of a buffer (its position in the problem) in one pool, at the times from `start` up to `end`."""

    buffer: int
    pool: int
    start: int
    end: int


class Use(NamedTuple):
    """The bytes that operations read and then write at a time; None without a read or a write."""

    time: int
    read: int | None
    write: int | None


class MovingBuffer(NamedTuple):
    """A buffer that contains its aliases: it is alive and used whenever one of them is.

    `pools` are the positions of the pools that it may use, and `given` and `kept_in` those of its first and last pool,
    or None. If it is fixed, a pin or a list of `together` holds it in one pool for its whole life.
    """

    position: int
    size: int
    start: int
    end: int
    uses: tuple[Use, ...]
    pools: tuple[int, ...]
    given: int | None
    kept_in: int | None
    is_fixed: bool


def refuse_moves(problem: Problem, what: str) -> None:
    """Raise OptionError if buffers of the problem may move; `what` says where they must not."""
    if problem.moves:
        way = "leave it out; `plan`, `verify`, `check`, `certify`, `explain`, `compare`, `sweep` and `convert` take it"
        raise OptionError.from_rule("moves", f"must be left out {what}", way=way)


def moves_of(problem: Problem) -> Moves:
    """Return the rules for copies of a problem whose `moves` is set."""
    return problem.moves if isinstance(problem.moves, Moves) else Moves()


def moving_buffers(problem: Problem) -> list[MovingBuffer]:
    """Return the buffers that are not aliases, in the problem's order."""
    table, rules = problem.buffers, problem.buffers.rules
    families: dict[int, list[int]] = {i: [i] for i in range(len(table)) if i not in problem.roots}
    for i, (root, _) in problem.roots.items():
        families[root].append(i)
    tied = {problem.root_of(name) for group in problem.together for name in group}
    rows = []
    for root, members in families.items():
        used: dict[int, list[int | None]] = {}
        for time, is_write, count in chain.from_iterable(_accesses(problem, i, i == root) for i in members):
            entry = used.setdefault(time, [None, None])
            entry[is_write] = (entry[is_write] or 0) + count
        spans = [span for i in members for span in table.intervals(i)]
        given, kept_in = (rules[field].get(root) for field in ("given", "kept_in"))
        allowed = [set(problem.allowed_pools(i)) for i in members]
        rows.append(
            MovingBuffer(
                root,
                int(table.size[root]),
                min(start for start, _ in spans),
                max(end for _, end in spans),
                tuple(Use(time, *used[time]) for time in sorted(used)),
                tuple(q for q in problem.allowed_pools(root) if all(q in pools for pools in allowed)),
                None if given is None else problem.pool_index[given],
                None if kept_in is None else problem.pool_index[kept_in],
                root in tied or any(table.offset[i] != ABSENT for i in members),
            )
        )
    return rows


def _accesses(problem: Problem, i: int, is_root: bool) -> list[tuple[int, bool, int]]:
    """Return the accesses of buffer `i` as (time, whether it is a write, bytes); aliases are only read by default.

    Without `accesses`, a buffer is used at each end of its lifetime, and `traffic` is divided between the two. An alias
    has none if the accesses of the buffer that contains it are given.
    """
    table, size = problem.buffers, int(problem.buffers.size[i])
    is_given = not is_root or i in table.rules["given"]
    accesses: Sequence[Any] = table.rules["accesses"].get(i, ())
    if accesses:
        return read_accesses(accesses, size, is_given)
    if not is_root and problem.roots[i][0] in table.rules["accesses"]:
        return []
    ((start, end),) = table.intervals(i)
    moved = 2 * size if table.traffic[i] == ABSENT else int(table.traffic[i])
    return [(start, not is_given, moved - moved // 2), (end - 1, False, moved // 2)]


def whole_buffer_problem(problem: Problem) -> Problem:
    """Return the problem in which no buffer moves, and each lies in one pool that its operations can use.

    A buffer without `accesses` and `traffic` is used twice here too.
    """
    rows: list[dict[str, Any]] = []
    moved = {row.position: row for row in moving_buffers(problem)}
    for i in range(len(problem.buffers)):
        row = problem.buffers.fields(i)
        row.pop("accesses", None)
        row["traffic"] = sum(count for _, _, count in _accesses(problem, i, i in moved))
        if i in moved:
            homes = [q for q in moved[i].pools if is_whole_home(problem, moved[i], q)]
            row["pools"] = [problem.pools[q].name for q in homes] or [problem.pools[moved[i].pools[0]].name]
            row.pop("forbid_pools", None)
        rows.append({name: value for name, value in row.items() if name not in ("given", "kept_in")})
    pools = [{**pool.model_dump(exclude_unset=True), "direct": True} for pool in problem.pools]
    return replace_fields(problem, buffers=rows, pools=pools, moves=False, objective="cost")


def is_whole_home(problem: Problem, row: MovingBuffer, pool: int) -> bool:
    """Return True if a buffer may lie in a pool for its whole life, as far as its accesses are concerned."""
    is_usable = problem.pools[pool].direct or not row.uses
    return is_usable and row.given in (None, pool) and row.kept_in in (None, pool)


def pieces_of(problem: Problem, plan: Plan) -> list[Piece]:
    """Return the pieces of a plan, in the order of its placements."""
    return [
        Piece(problem.index[row.id], problem.pool_index[row.pool], row.start, row.end)
        for row in plan.placements
        if row.start is not None and row.end is not None
    ]


def as_pieces(problem: Problem, plan: Plan) -> tuple[Problem, Plan]:
    """Return the plain problem and plan of a plan's pieces; without `moves`, return both unchanged.

    A piece has the name of its buffer or, if the buffer has several, that name with the number of the piece, such as
    `skip#2`.
    """
    if not problem.moves or plan.placements.start is None:
        return problem, plan
    pieces, table = pieces_of(problem, plan), plan.placements
    taken, names, counts, numbers = {*map(str, table.ids)}, list[int | str](), Counter(table.ids), Counter[int | str]()
    for name in table.ids:
        numbers[name] += 1
        one = name if counts[name] == 1 else f"{name}#{numbers[name]}"
        while counts[name] > 1 and one in taken:
            one = f"{one}'"
        names.append(one)
        taken.add(str(one))
    plain = problem_of_pieces(problem, pieces)
    rows = [_renamed_row(plain.buffers.fields(k), names) for k in range(len(pieces))]
    changed: dict[str, Any] = {
        "name": problem.name,
        "buffers": rows,
        "conflicts": [[names[int(k)] for k in pair] for pair in plain.conflicts],
        "bank": [{"buffers": [names[int(k)] for k in use.buffers]} for use in plain.bank],
        "together": [[names[int(k)] for k in group] for group in plain.together],
    }
    pool = column([piece.pool for piece in pieces])
    placements = PlacementTable(tuple(names), tuple(problem.pool_index), pool, table.offset)
    return replace_fields(plain, **changed), plan.model_copy(
        update={"placements": placements, "copies": (), "moved_bytes": ()}
    )


def copies_between_pieces(plan: Plan) -> list[tuple[BufferCopy, int, int]]:
    """Return each copy with the positions of the placements that it reads and writes; others are left out."""
    rows: dict[tuple[int | str, str], list[tuple[int, int, int]]] = {}
    for k, row in enumerate(plan.placements if plan.copies else ()):
        rows.setdefault((row.id, row.pool), []).append((row.start or 0, row.end or 0, k))
    found = []
    for copy in plan.copies:
        ends = (
            (k for a, b, k in rows.get((copy.id, pool), ()) if a <= copy.time < b) for pool in (copy.source, copy.to)
        )
        read, written = (next(each, -1) for each in ends)
        found += [(copy, read, written)] * (min(read, written) >= 0)
    return found


def _renamed_row(row: dict[str, Any], names: Sequence[int | str]) -> dict[str, Any]:
    return {key: names[value] if key in ("id", "alias_of") else value for key, value in row.items()}


def problem_of_pieces(problem: Problem, pieces: Sequence[Piece], pool: int | None = None) -> Problem:
    """Return the problem whose buffers are pieces, with their numbers as names, each with the rules of its buffer.

    With `pool`, all pieces lie in this pool, and the problem has no other. A piece of an alias lies in the piece of its
    root that has the same pool and covers its times.
    """
    numbers: dict[int, list[int]] = {}
    for k, piece in enumerate(pieces):
        numbers.setdefault(piece.buffer, []).append(k)
    rows = [_piece_row(problem, pieces, numbers, k) for k in range(len(pieces))]

    def numbers_of(name: int | str) -> list[int]:
        return numbers.get(problem.index[name], [])

    apart = [(a, b) for one, other in problem.conflicts for a in numbers_of(one) for b in numbers_of(other)]
    banks = [
        {"buffers": (a, b)}
        for use in problem.bank
        for k, one in enumerate(use.buffers)
        for other in use.buffers[k + 1 :]
        for a in numbers_of(one)
        for b in numbers_of(other)
        if pieces[a].pool == pieces[b].pool
    ]
    groups = problem.together if pool is None else ()
    together = [list(chain.from_iterable(map(numbers_of, group))) for group in groups]
    kept = problem.pools if pool is None else problem.pools[pool : pool + 1]
    pools = [one.model_dump(exclude_unset=True, exclude={"direct", "cost"}) for one in kept]
    return Problem(
        buffers=rows,
        conflicts=apart,
        bank=banks,
        together=[group for group in together if group],
        pools=pools,
        objective="fit",
    )


_OF_WHOLE = ("accesses", "given", "kept_in", "traffic", "forbid_pools", "alias_of", "alias_offset", "start", "end")


def _piece_row(problem: Problem, pieces: Sequence[Piece], numbers: dict[int, list[int]], k: int) -> dict[str, Any]:
    piece = pieces[k]
    row = problem.buffers.fields(piece.buffer)
    for name in _OF_WHOLE:
        row.pop(name, None)
    row |= {"id": k, "start": piece.start, "end": piece.end, "pools": (problem.pools[piece.pool].name,)}
    if piece.buffer in problem.roots:
        root, distance = problem.roots[piece.buffer]
        for j in numbers.get(root, ()):
            whole = pieces[j]
            if whole.pool == piece.pool and whole.start <= piece.start and piece.end <= whole.end:
                row |= {"alias_of": j, "alias_offset": distance}
    return row


def pieces_of_aliases(problem: Problem, pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces of all aliases: the parts of the pieces of their roots within their own lifetimes."""
    parts: dict[int, list[Piece]] = {}
    for piece in pieces:
        parts.setdefault(piece.buffer, []).append(piece)
    rows = []
    for i, (root, _) in problem.roots.items():
        ((start, end),) = problem.buffers.intervals(i)
        for piece in parts.get(root, ()):
            if piece.start < end and start < piece.end:
                rows.append(Piece(i, piece.pool, max(start, piece.start), min(end, piece.end)))
    return rows
