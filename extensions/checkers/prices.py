"""The price of sharing bytes in check.py: cliques larger than their pool, times multipliers."""
# docs/certificates.md proves that cliques bound the price.

from importlib import import_module
from math import gcd

costs = import_module(f"{__package__ or ''}.costs".lstrip("."))


def prices_of(problem):
    """Return the price of each pair of buffers with bytes that may share."""
    prices = {}
    for row in problem.reuse:
        for pair in row["pairs"]:
            i, j = (problem.root[problem.index[name]] for name in pair)
            if i != j and {i, j} <= problem.solid and not problem.meets(i, j):
                pair = frozenset((i, j))
                prices[pair] = prices.get(pair, 0) + row["cost"]
    return prices


def proved_bound(problem, scale, parts):
    """Return a proved lower bound on the price; ValueError for a wrong clique, or a pair in two parts.

    Each part is a list of cliques: the multiplier, what both sides of the row are divided by, and the buffers.
    """
    prices, seen, total = prices_of(problem), set(), 0
    for part in parts:
        amount, used = added_up(problem, prices, scale, part)
        if not seen.isdisjoint(used):
            raise ValueError("a pair in two parts")
        seen.update(used)
        step = gcd(*(prices[pair] for pair in used))  # the price of its pairs is a multiple of this
        total += step * max(0, -(-amount // (scale * step))) if step else 0
    return total


def added_up(problem, prices, scale, cliques):
    """Return the sum proved by a part's cliques, times scale, and their pairs."""
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
    # A pair pays its price once, however often it is counted.
    return total - sum(max(0, amount - scale * prices[pair]) for pair, amount in used.items()), used.keys()
