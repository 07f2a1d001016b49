"""A lower bound on the cost of plans of buffers that move, for check.py, from prices of room and of copied bytes."""
# docs/certificates.md proves that this lower bound is valid.

from collections import Counter
from importlib import import_module
from itertools import combinations
from math import gcd

names = ("read", "claims", "costs", "charges")
reading, claims, costs, charges_of = (import_module(f"{__package__ or ''}.{name}".lstrip(".")) for name in names)
FAR, Charges = charges_of.FAR, charges_of.Charges
DEAR = 2**128  # The price of a byte that is forbidden or forced.

MOST_LEVELS = 256  # Beyond this many values of the cost, surcharges are not followed; fewer bytes are then wasted.


def cost_step(rows, cost, direct):
    """Return (base, step): the cost of every plan is `base` plus a multiple of `step`."""
    base, step = 0, 0
    for row in rows:
        usable = [cost[q] for q in row.pools if direct[q]] or [0]
        for count in (part or 0 for use in row.uses.values() for part in use):
            base += count * usable[0]
            step = gcd(step, *(count * (price - usable[0]) for price in usable))
        step = gcd(step, *(row.size * (cost[p] + cost[q]) for p, q in combinations(row.pools, 2)))
    return base, step


def reachable(sizes, most):
    """Return the sums of some of the sizes up to `most`, as the bits of an integer."""
    reach, mask = 1, (1 << most + 1) - 1
    for size, count in sorted(Counter(sizes).items()):
        part = 1
        while count:
            part = min(part, count)
            reach |= reach << size * part
            reach = reach & mask if reach > mask else reach
            count, part = count - part, 2 * part
    return reach


def waste_cost(items, most, price, limit):
    """Return the least `price` of the bytes below `most` that are not used, plus surcharges, or at most `limit`.

    `items` has (size, surcharge of using it, surcharge of not using it) for each buffer.
    """
    step = gcd(*(size for size, *_ in items)) or 1
    items = [(size // step, *charges) for size, *charges in items]
    space = most // step - sum(size for size, _, out in items if out >= limit)
    if space < 0:
        return limit
    levels = {0: reachable([size for size, used, out in items if used == out == 0], space)}
    for size, used, out in items:
        if 0 < used + out and max(used, out) < limit:
            found = {}
            for surcharge, reach in levels.items():
                for more, moved in ((used, reach << size & (1 << space + 1) - 1), (out, reach)):
                    if moved and surcharge + more < limit:
                        found[surcharge + more] = found.get(surcharge + more, 0) | moved
            levels = found
    unused = [
        surcharge + price * (most % step + step * (space + 1 - reach.bit_length()))
        for surcharge, reach in levels.items()
    ]
    return min([limit, *unused])


def proved_bound(problem, parts, scale, lines, most):
    """Return the lower bound on the cost, in units of 1 / `parts` and at most `most`, that prices prove.

    `lines` has (pool, time, price, whether to fill it) for the bytes of a pool at a time, and (None, time, price,
    False) for bytes that are copied at a time; prices are in units of 1 / (`parts` x `scale`).
    """
    rows = charges_of.rows_of(problem)
    cost = [pool.get("cost", 0) * parts for pool in problem.pools]
    if scale < 1 or any(each != int(each) for each in cost):
        raise ValueError("costs must be multiples of 1 / parts, and the scale must be at least 1")
    cost, room, step, paid = [int(each) * scale for each in cost], [{} for _ in cost], {}, 0
    ends = [costs.free_bytes(problem.fixed_ranges(set(), q), end) for q, end in enumerate(problem.ends)]
    for q, time, price, _ in lines:
        prices, capacity = (step, problem.bytes_per_step) if q is None else (room[q], ends[q])
        if capacity is None or time in prices:
            raise ValueError("each price must be of a limited number of bytes, at one time once")
        prices[time], paid = price, paid + price * capacity
    charges = Charges(problem, cost, room, step)
    low = [charges.row_cost(row) for row in rows]
    base, unit = cost_step(rows, cost, charges.direct)
    unit = unit or 1
    total = sum(low) - paid
    # The cost is `base` plus multiples of `unit`, so that it is at least `most` if it is above the last value below it.
    goal = most * scale - unit + 1
    for k, (q, time, price, is_filled) in enumerate(lines):
        if is_filled and total < goal:
            here = [n for n, row in enumerate(rows) if row.start <= time < row.end and q in row.pools and row.size]
            items = [(rows[n].size, 0, 0) for n in here]
            if goal - total <= MOST_LEVELS * unit and not any(line[3] for line in lines[:k]):
                items = surcharges(problem, charges, rows, here, low, q, time)
            total += waste_cost(items, ends[q], price, goal - total)
    if sum(low) >= FAR:
        return most
    return min(most, -(-(total + (base - total) % unit) // scale))


def surcharges(problem, charges, rows, here, low, q, time):
    """Return (size, surcharge in the pool at a time, surcharge elsewhere) of the buffers that may be there."""
    items = []
    forbidden, forced = (
        Charges(
            problem,
            charges.cost,
            [{**prices, **({time: price} if p == q else {})} for p, prices in enumerate(charges.room)],
            charges.step,
        )
        for price in (DEAR, -DEAR)
    )
    for n in here:
        size, price = rows[n].size, charges.room[q][time]
        out = forbidden.row_cost(rows[n])
        # With a lead, a state does not say whether room is charged twice, so the least charge is taken.
        used = forced.row_cost(rows[n]) + size * (DEAR + price) if not charges.lead else low[n]
        items.append((size, max(0, used - low[n]), max(0, out - low[n])))
    return items


def check_moves(problem, lines, least, parts):
    """Return the proved sentence: a lower bound on the cost if buffers move. Raises Refused for a wrong proof."""
    (word, scale), *rows = lines
    if word != "scale" or not problem.moves:
        raise ValueError("a claim about moves must have a scale, and a problem in which buffers move")
    known, count = [], len(problem.ends)
    for word, *rest in rows:
        if word not in (("step",) if len(rest) == 2 else ("room", "fill")):
            raise ValueError(f"a line must begin with room, fill or step, got {' '.join([word, *rest])!r}")
        *pool, time, price = rest
        time = -claims.number(time[1:]) if time[0] == "-" else claims.number(time)
        known.append(
            (claims.number(*pool, count) if pool else None, time, claims.number(price, 2**127), word == "fill")
        )
    goal, parts = claims.number(least, 2**127), claims.number(parts, 2**127)
    if proved_bound(problem, parts, claims.number(scale, 2**127), known, goal) < goal:
        raise reading.Refused("the prices must prove the claimed cost")
    return f"no plan costs less than {least}/{parts} if buffers move"
