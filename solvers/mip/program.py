"""The integer program that plans memory, defined once for all engines.

Its core is: (1) minimize the largest end offset, where (2) an end is an offset plus a size, (3) offsets are not
negative, and (4) of two conflicting buffers, one is below the other, which a binary variable decides. Further rows
express pools, alignments, reserved ranges and constraints. The remaining rows are valid cuts, which no plan violates:
consequences for sets of conflicting buffers, and symmetry breaking. Each constraint has its own function, exact in
whole units. Only the finished program is scaled to numbers that floating-point engines can handle.
"""

from dataclasses import dataclass

from memplan.solvers.formulation.costs import Costs
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.constraints import CONSTRAINTS, priced_pairs_pay_if_they_meet
from memplan.solvers.mip.draft import ONE, Draft, Key, Term

MAX_CROWD_ENTRIES = 100_000
"""The limit of entries in the rows of all crowds (sets of conflicting buffers); the heaviest crowds come first."""


@dataclass(frozen=True)
class MipQuestion:
    """A question to an engine: find a plan in which each pool `q` ends at or below limit[q], with the least objective.

    `minimise` is the key of the column to minimize; None means that any such plan is sufficient. The key ("over", q)
    means the excess over the floor of pool `q`; such a plan may be turned upside down. floor[q] is a proved lower bound
    on the end of pool `q`. `cost` is the least and the largest allowed cost of the plan in steps, or None if costs do
    not count.
    """

    limit: tuple[int, ...]
    floor: tuple[int, ...]
    minimise: Key | None
    cost: tuple[int, int] | None = None


def draft(boxes: Boxes, question: MipQuestion, program: Draft | None = None) -> Draft:
    """Return the program of a question in whole units, written into `program` if it is given."""
    program = program or Draft()
    _add_offsets_and_ends(program, boxes)
    _add_peaks(program, question)
    _choose_one_pool(program, boxes)
    _define_ends(program, boxes)
    _bound_ends_by_peaks(program, boxes, question)
    _decide_orders(program, boxes)
    _separate_conflicts(program, boxes)
    _limit_offsets_by_pool(program, boxes)
    _align_offsets(program, boxes)
    for constraint in CONSTRAINTS:
        constraint(program, boxes)
    _add_stacking_cuts(program, boxes, question)
    _add_capacity_cuts(program, boxes, question)
    _order_twins(program, boxes)
    if question.minimise is not None and question.minimise[0] == "over":
        _sum_excess(program, boxes, question, int(question.minimise[1]))
    else:
        _exclude_mirror_image(program, boxes)
    if question.cost is not None:
        priced_pairs_pay_if_they_meet(program, boxes)
        _define_cost(program, boxes, *question.cost)
    program.objective = None if question.minimise is None else program.at[question.minimise]
    return program


def _add_offsets_and_ends(program: Draft, boxes: Boxes) -> None:
    for b, box in enumerate(boxes.all):
        program.column(("offset", b), box.min_offset, box.max_offset, unit="units")
        program.column(("end", b), box.min_offset + box.size, box.max_offset + box.size, unit="units")


def _add_peaks(program: Draft, question: MipQuestion) -> None:
    for q, (floor, limit) in enumerate(zip(question.floor, question.limit, strict=True)):
        program.column(("peak", q), floor, limit, unit="units")


def _choose_one_pool(program: Draft, boxes: Boxes) -> None:
    for b, box in enumerate(boxes.all):
        if len(box.span) != 1:
            chosen = [(program.column(("in", q, b), 0, 1, is_whole=True), 1) for q in box.span]
            program.row(("home", b), chosen, at_least=1, at_most=1)


def _define_ends(program: Draft, boxes: Boxes) -> None:
    for b, box in enumerate(boxes.all):
        sides = [(program.at["end", b], 1), (program.at["offset", b], -1)]
        program.row(("end", b), sides, at_least=box.size, at_most=box.size)


def _bound_ends_by_peaks(program: Draft, boxes: Boxes, question: MipQuestion) -> None:
    for b, box in enumerate(boxes.all[: boxes.n]):
        for q in box.span:
            sides = [(Term(program.at["peak", q]), 1), (Term(program.at["end", b]), -1)]
            big_m = _highest_elsewhere(boxes, q, b) - question.floor[q]
            program.row_if(program.lies_in(q, b), big_m, ("peak", q, b), sides, 0)


def _highest_elsewhere(boxes: Boxes, q: int, b: int) -> int:
    return max((boxes.limit[r] for r in boxes.all[b].span if r != q), default=0)


def _decide_orders(program: Draft, boxes: Boxes) -> None:
    """Add binary columns that decide the order of each pair of boxes.

    One column is enough if the boxes must be apart in one pool: its values are the two orders. Otherwise, there is a
    column for each order, because neither order may hold: the boxes may be in different pools or share bytes. If
    neither order is possible in one pool, an order is fixed all the same, and the order's row makes the program
    infeasible.
    """
    for a, b in boxes.pairs:
        first, second, shared = boxes.may_lie_below(a, b), boxes.may_lie_below(b, a), boxes.shared_in(a, b)
        if len(boxes.all[a].span) == len(boxes.all[b].span) == 1 and not shared:
            program.column(("below", a, b), int(not second), int(first or not second), is_whole=True)
            continue
        ways = [
            (Term(program.column(("below", a, b), 0, int(first), is_whole=True)), 1),
            (Term(program.column(("below", b, a), 0, int(second), is_whole=True)), 1),
        ]
        if shared:
            ways.append((Term(program.column(("shared", a, b), 0, 1, is_whole=True)), 1))
        program.row_of(("order", a, b), ways, at_most=1)
        for q in boxes.ordered_in(a, b):
            both = [(program.lies_in(q, a), -1), (program.lies_in(q, b), -1)]
            program.row_of(("together", q, a, b), [*ways, *both], at_least=-1)


def _separate_conflicts(program: Draft, boxes: Boxes) -> None:
    """Require, if one box is decided to be below another, that the upper box starts at or above the lower one's end.

    Otherwise the row must have no effect. So its big-M is the least possible one: the highest end of the lower box
    minus the lowest offset of the upper box.
    """
    for pair in boxes.pairs:
        for low, high in (pair, pair[::-1]):
            distance = boxes.distance(low, high)
            sides = [(Term(program.at["offset", high]), 1), (Term(program.at["end", low]), -1)]
            big_m = boxes.all[low].max_offset + distance - boxes.all[high].min_offset
            program.row_if(
                program.order_term(low, high), big_m, ("below", low, high), sides, distance - boxes.all[low].size
            )


def _limit_offsets_by_pool(program: Draft, boxes: Boxes) -> None:
    """Limit the offset of each box to its range in the pool that is chosen for it."""
    for b, box in enumerate(boxes.all):
        lowest, highest = ({span[k] for span in box.span.values()} for k in (0, 1))
        chosen = [(q, program.at.get(("in", q, b), 0)) for q in box.span]
        if len(lowest) > 1:
            floors = [(y, -box.span[q][0]) for q, y in chosen]
            program.row(("lowest", b), [(program.at["offset", b], 1), *floors], at_least=0)
        if len(highest) > 1:
            ceilings = [(y, -box.span[q][1]) for q, y in chosen]
            program.row(("highest", b), [(program.at["offset", b], 1), *ceilings], at_most=0)


def _align_offsets(program: Draft, boxes: Boxes) -> None:
    """Require each buffer's offset to be a whole number of alignment steps above its lowest one.

    A buffer with the grid's alignment needs no row. In a rigid group (fixed distances), only the anchor needs a row.
    """
    for b, box in enumerate(boxes.all[: boxes.n]):
        is_tied = boxes.instance.anchor[b] != b
        if is_tied or box.min_offset == box.max_offset or max(box.step.values(), default=1) <= boxes.grid.granule:
            continue
        sides: list[tuple[Term, int]] = [(Term(program.at["offset", b]), 1)]
        for q, (low, high) in box.span.items():
            chosen, most = program.lies_in(q, b), (high - low) // box.step[q]
            count = program.column(("multiple", q, b), 0, most, is_whole=True)
            sides += [(Term(count), -box.step[q]), (chosen, -low)]
            if chosen is not ONE:
                program.row(("counted", q, b), [(chosen.column, most), (count, -1)], at_least=0)
        program.row_of(("aligned", b), sides, at_least=0, at_most=0)


def _add_stacking_cuts(program: Draft, boxes: Boxes, question: MipQuestion) -> None:
    """Add cuts on stacks of boxes: boxes below a buffer raise its offset, and boxes above a buffer raise the peak.

    No two members of a crowd, usually a live set, share a byte. So the members below buffer `b` are stacked, and its
    offset is at least the sum of their extents (sizes rounded up to the grid). The same holds for the members above it.
    With these cuts, the relaxation is at least as tight as the live-set bound.
    """
    budget, seen = MAX_CROWD_ENTRIES, set[tuple[int, ...]]()
    reserved = range(boxes.n, len(boxes.all))
    weight = [sum(boxes.all[b].extent for b in members) for members in boxes.crowds]
    for t in sorted(range(len(weight)), key=lambda t: -weight[t]):
        members = [*boxes.crowds[t], *reserved]
        budget -= 2 * len(members) ** 2
        if budget < 0:
            return
        for b in members:
            others = [a for a in members if a != b and program.has_order(a, b)]
            if others and (b, *others) not in seen:
                seen.add((b, *others))
                _require_support(program, boxes, t, b, others)
                if b < boxes.n:
                    _raise_peak(program, boxes, question, t, b, [a for a in others if a < boxes.n])


def _require_support(program: Draft, boxes: Boxes, t: int, b: int, others: list[int]) -> None:
    """Add a cut: box `b`'s offset is at least the sum of the extents of the boxes in `others` below it.

    A cut is a constraint that no plan violates. `others` are members of crowd `t`, a set of conflicting buffers. An
    extent is a size rounded up to the grid.
    """
    lowest = min(boxes.grid.shift[q] for q in boxes.all[b].span) - boxes.all[b].early
    below = [(program.order_term(a, b), -boxes.all[a].extent) for a in others]
    program.row_of(("held", t, b), [(Term(program.at["offset", b]), 1), *below], at_least=lowest)


def _raise_peak(program: Draft, boxes: Boxes, question: MipQuestion, t: int, b: int, others: list[int]) -> None:
    """Add a cut for each pool: its peak is at least the end of box `b` plus the extents of the `others` above it.

    `others` are members of crowd `t`, a set of conflicting buffers. An extent is a size rounded up to the grid.
    """
    box = boxes.all[b]
    waste = max(boxes.all[a].waste for a in (b, *others))
    above = [(program.order_term(b, a), -boxes.all[a].extent) for a in others]
    for q in box.span:
        sides = [(Term(program.at["peak", q]), 1), (Term(program.at["end", b]), -1), *above]
        big_m = _highest_elsewhere(boxes, q, b) - question.floor[q]
        program.row_if(program.lies_in(q, b), big_m, ("pushed", t, q, b), sides, box.waste - waste)


def _add_capacity_cuts(program: Draft, boxes: Boxes, question: MipQuestion) -> None:
    """Add cuts: the buffers of a crowd (conflict set) in a pool fit below its peak and outside its reserved ranges."""
    for t, members in enumerate(boxes.crowds):
        for q, limit in enumerate(question.limit):
            inside = [b for b in members if q in boxes.all[b].span]
            if all(len(boxes.all[b].span) == 1 for b in inside):
                continue
            waste = max(boxes.all[b].waste for b in inside)
            taken = [(program.lies_in(q, b), -boxes.all[b].extent) for b in inside]
            program.row_of(("share", t, q), [(Term(program.at["peak", q]), 1), *taken], at_least=-waste)
            reserved = [box for box in boxes.all[boxes.n :] if q in box.span]
            if reserved:
                free = (
                    limit + waste - sum(min(box.extent, max(0, limit - box.min_offset - box.early)) for box in reserved)
                )
                program.row_of(("free", t, q), taken, at_least=-free)


def _sum_excess(program: Draft, boxes: Boxes, question: MipQuestion, q: int) -> None:
    """Add a column with the excess over the floor of pool `q`, summed over all crowds.

    The floor is a lower bound on the pool's end. A crowd is a set of conflicting buffers. Its excess is that of the
    highest end of its members in the pool.
    """
    most = question.limit[q] - question.floor[q]
    heights = []
    for t, members in enumerate(boxes.crowds):
        height = Term(program.column(("height", q, t), 0, most, unit="units"))
        heights.append((height, -1))
        for b in (b for b in members if q in boxes.all[b].span):
            sides = [(height, 1), (Term(program.at["end", b]), -1)]
            big_m = _highest_elsewhere(boxes, q, b) - question.floor[q]
            program.row_if(program.lies_in(q, b), big_m, ("height", q, t, b), sides, -question.floor[q])
    total = program.column(("over", q), 0, most * len(heights), unit="units")
    program.row_of(("over", q), [(Term(total), 1), *heights], at_least=0, at_most=0)


def _order_twins(program: Draft, boxes: Boxes) -> None:
    """Fix the order of interchangeable buffers: the first is in an earlier pool, or below the second."""
    for a, b in boxes.twins():
        if len(boxes.all[a].span) == 1:
            program.fix(("below", a, b), 1)
        elif len(boxes.all[a].span) > 1:
            program.fix(("below", b, a), 0)
            ranks = [(program.at["in", q, a], -q) for q in boxes.all[a].span]
            program.row(
                ("twins", a, b), [*ranks, *((program.at["in", q, b], q) for q in boxes.all[b].span)], at_least=0
            )


def _exclude_mirror_image(program: Draft, boxes: Boxes) -> None:
    pair = boxes.mirror()
    if pair is not None:
        program.fix(("below", *pair), 1)


def _define_cost(program: Draft, boxes: Boxes, least: int, most: int) -> None:
    costs, rows = Costs.from_instance(boxes.instance), boxes.instance.priced_pairs.rows.tolist()
    extra = costs.extra
    cost = program.column(("cost",), least, most, unit="cost")
    added = [(program.lies_in(q, b), -extra[b][q]) for b, box in enumerate(boxes.all[: boxes.n]) for q in box.span]
    added += [(Term(program.at["paid", k, a, b]), -costs.clash[k]) for k, (a, b) in enumerate(rows)]
    program.row_of(("cost",), [(Term(cost), 1), *added], at_least=0, at_most=0)
