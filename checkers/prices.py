"""Lower bounds on the price of shared bytes, for check.py, from weighted cliques that are larger than their pool."""
# docs/certificates.md proves that a clique that exceeds its pool gives a lower bound on the price of shared bytes.

from importlib import import_module
from math import gcd

costs = import_module(f"{__package__ or ''}.costs".lstrip("."))


def prices_of(problem):
    """Map each pair of buffers that may share bytes, at a price, to this price; pairs alive together pay nothing."""
    prices = {}
    for row in problem.reuse:
        for pair in row["pairs"]:
            i, j = (problem.root[problem.index[name]] for name in pair)
            if i != j and {i, j} <= problem.solid and not (problem.meets(i, j) or problem.overlap(i, j)):
                pair = frozenset((i, j))
                prices[pair] = prices.get(pair, 0) + row["cost"]
    return prices


def proved_bound(problem, scale, parts):
    """Return the lower bound on the price that all parts together prove. Raises ValueError for an invalid part.

    Each part is a list of cliques (multiplier, divisor of the clique's inequality, buffers...).
    """
    prices, seen, total = prices_of(problem), set(), 0
    for part in parts:
        amount, used = clique_sum(problem, prices, scale, part)
        if not seen.isdisjoint(used):
            raise ValueError("each pair must be in one part only")
        seen.update(used)
        step = gcd(*(prices[pair] for pair in used))  # Every price is a multiple of `step`, so round the bound up.
        total += step * max(0, -(-amount // (scale * step))) if step else 0
    return total


def clique_sum(problem, prices, scale, cliques):
    """Return `scale` times the lower bound on the price that a part's cliques prove, and the priced pairs in them."""
    used, total = {}, 0
    for times, divisor, *members in cliques:
        buffers = {*members}
        if divisor < 1 or len(buffers) < len(members) or not buffers <= problem.solid:
            raise ValueError(f"a clique must have distinct buffers and a positive divisor, got {members}, {divisor}")
        homes = {q for i in buffers for q in problem.open[i]}
        pairs = [frozenset((i, j)) for i in members for j in members if i < j and not problem.meets(i, j)]
        if len(homes) != 1 or not all(pair in prices for pair in pairs):
            raise ValueError(f"a clique must have one pool, and a price or conflict for each pair, got {members}")
        (q,) = homes
        excess = sum(problem.size[i] for i in buffers) - costs.free_bytes(
            problem.fixed_ranges(set(), q), problem.ends[q]
        )
        if excess <= 0:
            raise ValueError(f"a clique must need more bytes than its pool has, got buffers {members}")
        total += times * -(-excess // divisor)
        for pair in pairs:
            saved = min(excess, *(problem.size[i] for i in pair))
            used[pair] = used.get(pair, 0) + times * -(-saved // divisor)
    # Several cliques may count a pair's price, but a plan pays it once, so subtract the amount above the price.
    return total - sum(max(0, amount - scale * prices[pair]) for pair, amount in used.items()), used.keys()
