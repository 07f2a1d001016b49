"""Lower bounds on the price of sharing bytes, for check.py: cliques that exceed their pool, times multipliers."""
# docs/certificates.md proves that cliques bound the price.

from importlib import import_module
from math import gcd

costs = import_module(f"{__package__ or ''}.costs".lstrip("."))


def prices_of(problem):
    """Return the price of each pair of buffers that may share bytes, for those pairs that have one."""
    prices = {}
    for row in problem.reuse:
        for pair in row["pairs"]:
            i, j = (problem.root[problem.index[name]] for name in pair)
            if i != j and {i, j} <= problem.solid and not problem.meets(i, j):
                pair = frozenset((i, j))
                prices[pair] = prices.get(pair, 0) + row["cost"]
    return prices


def proved_bound(problem, scale, parts):
    """Return the proved lower bound on the price; ValueError for a wrong clique, or for a pair in two parts.

    Each part is a list of cliques, each with its multiplier, the divisor of both sides of its row, and its buffers.
    """
    prices, seen, total = prices_of(problem), set(), 0
    for part in parts:
        amount, used = added_up(problem, prices, scale, part)
        if not seen.isdisjoint(used):
            raise ValueError("a pair in two parts")
        seen.update(used)
        step = gcd(*(prices[pair] for pair in used))  # the total price of these pairs is a multiple of this step
        total += step * max(0, -(-amount // (scale * step))) if step else 0
    return total


def added_up(problem, prices, scale, cliques):
    """Return the sum that the cliques of a part prove, times scale, and the pairs that they use."""
    used, total = {}, 0
    for times, divisor, *members in cliques:
        buffers = {*members}
        if divisor < 1 or len(buffers) < len(members) or not buffers <= problem.solid:
            raise ValueError("a wrong clique", times, divisor, *members)
        homes = {q for i in buffers for q in problem.open[i]}
        pairs = [frozenset((i, j)) for i in members for j in members if i < j and not problem.meets(i, j)]
        if len(homes) != 1 or not all(pair in prices for pair in pairs):
            raise ValueError("a clique of several pools, or with a pair that is free", *members)
        (q,) = homes
        excess = sum(problem.size[i] for i in buffers) - costs.free_bytes(
            problem.fixed_ranges(set(), q), problem.ends[q]
        )
        if excess <= 0:
            raise ValueError("a clique that fits", *members)
        total += times * -(-excess // divisor)
        for pair in pairs:
            saved = min(excess, *(problem.size[i] for i in pair))
            used[pair] = used.get(pair, 0) + times * -(-saved // divisor)
    # A pair that several cliques count pays its price only once, so the rest is subtracted.
    return total - sum(max(0, amount - scale * prices[pair]) for pair, amount in used.items()), used.keys()
