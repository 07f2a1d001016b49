"""Lower bounds on the cost of plans for check.py: integer costs, and relaxations by Lagrange multipliers."""
# docs/certificates.md proves that these lower bounds on the cost of plans are valid.

from fractions import Fraction
from math import gcd


def cost_by_buffer_and_pool(problem, kind, parts):
    """Map each buffer to a list of its costs by pool; a cost is an integer number of units of 1 / `parts`.

    In a profile (`speed` or `balanced`), if all pools cost the same, pool number q counts as cost q.
    """
    each = [Fraction(pool.get("cost", 0)) for pool in problem.pools]
    if kind != "cost" and len({*each}) == 1:
        each = range(len(each))
    traffic = [0] * len(problem.rows)
    for i, row in enumerate(problem.rows):
        moved = row["size"] if row.get("traffic") is None else row["traffic"]
        traffic[problem.root[i]] += moved if row["size"] else 0
    costs = [Fraction(cost) * parts for cost in each]
    if any(cost.denominator > 1 for cost in costs):
        raise ValueError("costs must be multiples of 1 / parts")
    return {i: [traffic[i] * int(cost) for cost in costs] for i in problem.solid}


def free_bytes(blocks, end):
    """Return the number of free bytes of a pool below `end`: those outside of `blocks` (disjoint ascending ranges)."""
    edges = [0, *(at for block in blocks for at in block), end]
    return sum(max(0, min(high, end) - low) for low, high in zip(edges[::2], edges[1::2]))


def cost_test(claim, words):
    """Return a function that tests a state (least offsets of buffers): True if every plan in it costs the claimed cost.

    `words` are a scale and triples (conflict set, pool, weight), where the weight is the set's multiplier per byte.
    """
    ((scale,), *rows), least, parts = words, claim.least, int(claim.said[2])
    if scale < 1 or parts < 1:
        raise ValueError("scale and parts must be at least 1")
    price = cost_by_buffer_and_pool(claim.problem, claim.said[0], parts)
    charged, capacity = {i: [scale * cost for cost in costs] for i, costs in price.items()}, 0
    for number, q, weight in rows:
        members, blocks = claim.sets[number]
        capacity += weight * free_bytes(blocks[q], claim.ends[q])
        for i in members:
            charged[i][q] += weight * claim.problem.size[i]
    may = {i: [q for q, low in enumerate(claim.least_offsets(i)) if low < 2**80] for i in price}
    base = sum(price[i][may[i][0]] for i in price if may[i])
    step = gcd(*(price[i][q] - price[i][may[i][0]] for i in price for q in may[i]))

    def is_too_dear(low):
        total = -capacity
        for i, charges in charged.items():
            homes = [q for q, at in enumerate(low(i) or claim.least_offsets(i)) if at < 2**80]
            if not homes:
                return True
            total += min(charges[q] for q in homes)
        bound = -(-total // scale)
        return bound + (base - bound) % (step or 1) >= least if step else base >= least

    return is_too_dear
