"""The rows of the integer program for each kind of constraint; each function is named after its rule."""

from memplan.solvers.mip.boxes import Boxes, round_up
from memplan.solvers.mip.draft import ONE, Draft, Term


def colocated_buffers_lie_in_one_pool(program: Draft, boxes: Boxes) -> None:
    """Require the members of a colocation group to be in the pool of its first buffer."""
    for b, colocation in enumerate(boxes.instance.colocation.tolist()):
        for q in boxes.all[b].span if colocation != b else ():
            if ("in", q, b) in program.at:
                sides = [(program.at["in", q, b], 1), (program.at["in", q, colocation], -1)]
                program.row(("colocation", q, b), sides, at_least=0, at_most=0)


def rigid_groups_keep_their_distances(program: Draft, boxes: Boxes) -> None:
    """Require each member of a rigid group to keep its distance from the group's anchor (lowest buffer)."""
    for b, anchor in enumerate(boxes.instance.anchor.tolist()):
        if anchor != b:
            distance = int(boxes.instance.distance[b])
            sides = [(program.at["offset", b], 1), (program.at["offset", anchor], -1)]
            program.row(("rigid", b), sides, at_least=distance, at_most=distance)


def sharing_partners_start_together(program: Draft, boxes: Boxes) -> None:
    """Require two sharing partners to have equal offsets in one pool if the program lets them share an offset."""
    for a, b in boxes.pairs:
        if ("shared", a, b) not in program.at:
            continue
        share = Term(program.at["shared", a, b])
        for low, high in ((a, b), (b, a)):
            sides = [(Term(program.at["offset", high]), 1), (Term(program.at["offset", low]), -1)]
            # A large big-M weakens the relaxation, so use the least big-M with which the row has no effect.
            big_m = boxes.all[low].max_offset - boxes.all[high].min_offset
            program.row_if(share, big_m, ("start", low, high), sides, 0)
        for q in boxes.all[a].span if len(boxes.all[a].span) + len(boxes.all[b].span) > 2 else ():
            others = [(program.lies_in(q, b), 1)] if q in boxes.shared_in(a, b) else []
            program.row_if(share, 1, ("beside", q, a, b), [(program.lies_in(q, a), -1), *others], 0)


def no_page_is_crossed(program: Draft, boxes: Boxes) -> None:
    """Require each buffer to be inside one page of its pool; an integer column counts the pages below it."""
    for b, box in enumerate(boxes.all[: boxes.n]):
        pages = {q: int(boxes.instance.page[q, b]) for q in box.span}
        if not any(pages.values()):
            continue
        start: list[tuple[Term, int]] = [(Term(program.at["offset", b]), 1)]
        past: list[tuple[Term, int]] = []
        for q, (_, high) in box.span.items():
            here, page, shift = program.lies_in(q, b), pages[q], int(boxes.instance.page_shift[q, b])
            if page == 0:
                past.append((here, -high))
                continue
            most = (high + shift) // page
            count = Term(program.column(("page", q, b), 0, most, is_whole=True))
            if here is not ONE:
                program.row_of(("paged", q, b), [(here, most), (count, -1)], at_least=0)
            start += [(here, shift), (count, -page)]
            past.append((here, box.size - page))
        program.row_of(("page_start", b), start, at_least=0)
        program.row_of(("page_end", b), [*start, *past], at_most=0)


def barred_offsets_are_left_out(program: Draft, boxes: Boxes) -> None:
    """Require each buffer's offset to be below or above each range of offsets that is barred to it in its pool."""
    for b, box in enumerate(boxes.all[: boxes.n]) if "intervals" in boxes.instance.features else ():
        offset = Term(program.at["offset", b])
        for q in box.span:
            here = program.lies_in(q, b)
            for k, (low, high) in enumerate(boxes.barred_ranges(q, b)):
                above = Term(program.column(("above", k, q, b), 0, 1, is_whole=True))
                program.row_if(above, high - box.min_offset, ("above", k, q, b), [(offset, 1)], high)
                slack = box.max_offset - low + 1
                sides = [(offset, 1), (above, -slack), (here, slack)]
                program.row_of(("beneath", k, q, b), sides, at_most=low - 1 + slack)


def bank_partners_touch_no_common_bank(program: Draft, boxes: Boxes) -> None:
    """Require a bank border between two bank partners in one pool; bank partners must not touch a common bank."""
    for a, b in sorted(boxes.bank_partners):
        for q in boxes.banked_pools(a, b):
            for low, high in ((a, b), (b, a)):
                _separate_by_bank(program, boxes, q, low, high, program.order_term(low, high))


def priced_pairs_pay_if_they_meet(program: Draft, boxes: Boxes) -> None:
    """Require the buffers of each priced pair to share no byte (or bank), or else add the pair's price to the cost."""
    priced = boxes.instance.priced_pairs
    for k, ((a, b), by_bank) in enumerate(zip(priced.rows.tolist(), priced.by_bank.tolist(), strict=True)):
        paid = Term(program.column(("paid", k, a, b), 0, 1, is_whole=True))
        apart = [] if by_bank else [_term_below(program, boxes, *pair) for pair in ((a, b), (b, a))]
        for q in boxes.banked_pools(a, b) if by_bank else boxes.common_pools(a, b):
            ways = [(paid, 1), *((way, 1) for way in apart)]
            for low, high in ((a, b), (b, a)) if by_bank else ():
                parted = Term(program.column(("parted", q, low, high), 0, 1, is_whole=True))
                _separate_by_bank(program, boxes, q, low, high, parted)
                ways.append((parted, 1))
            both = [(program.lies_in(q, a), -1), (program.lies_in(q, b), -1)]
            program.row_of(("banks" if by_bank else "priced", q, a, b), [*ways, *both], at_least=-1)


def _term_below(program: Draft, boxes: Boxes, low: int, high: int) -> Term:
    apart = Term(program.column(("apart", low, high), 0, 1, is_whole=True))
    sides = [(Term(program.at["offset", high]), 1), (Term(program.at["end", low]), -1)]
    big_m = boxes.all[low].max_offset + boxes.all[low].size - boxes.all[high].min_offset
    program.row_if(apart, big_m, ("apart", low, high), sides, 0)
    return apart


def _separate_by_bank(program: Draft, boxes: Boxes, q: int, low: int, high: int, is_so: Term) -> None:
    first, past = _first_bank_term(program, boxes, q, high), _bank_end_term(program, boxes, q, low)
    big_m = program.upper[past.column] - program.lower[first.column]
    sides, here = [(first, 1), (past, -1)], program.lies_in(q, low)
    if here is not ONE:
        sides.append((here, -big_m))
    program.row_if(is_so, big_m, ("parted", q, low, high), sides, 0 if here is ONE else -big_m)


def _first_bank_term(program: Draft, boxes: Boxes, q: int, b: int) -> Term:
    if ("bank", q, b) not in program.at:
        box, pool = boxes.all[b], boxes.instance.pools[q]
        first = program.column(("bank", q, b), 0, (box.span[q][1] + pool.bank_shift) // pool.bank, is_whole=True)
        sides = [(program.at["offset", b], 1), (first, -pool.bank)]
        program.row(("bank", q, b), sides, at_least=-pool.bank_shift)
    return Term(program.at["bank", q, b])


def _bank_end_term(program: Draft, boxes: Boxes, q: int, b: int) -> Term:
    if ("past", q, b) not in program.at:
        box, pool = boxes.all[b], boxes.instance.pools[q]
        most = round_up(box.max_offset + box.size + pool.bank_shift, pool.bank) // pool.bank
        past = program.column(("past", q, b), 0, most, is_whole=True)
        sides = [(past, pool.bank), (program.at["end", b], -1)]
        program.row(("past", q, b), sides, at_least=pool.bank_shift)
    return Term(program.at["past", q, b])


CONSTRAINTS = (
    colocated_buffers_lie_in_one_pool,
    rigid_groups_keep_their_distances,
    sharing_partners_start_together,
    no_page_is_crossed,
    barred_offsets_are_left_out,
    bank_partners_touch_no_common_bank,
)
"""The rules whose rows every program contains. Rows for priced pairs are added only with the cost."""
