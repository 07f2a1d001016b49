"""Parser of claims: the capacities to prove too small, in order, and the sentence that follows from this proof."""
# docs/certificates.md defines the kinds of claims that a certificate can make.

import re
from functools import lru_cache


@lru_cache(1 << 16)
def number(word, limit=2**63):
    """Return the number in a certificate's word. Raises ValueError for leading zeros and for `limit` or more."""
    if not re.fullmatch("0|[1-9][0-9]{0,38}", word) or int(word) >= limit:
        raise ValueError(f"a number must be below {limit}, in digits without leading zeros, got {word!r}")
    return int(word)


def parse_claim(ends, kind, words):
    """Return (list of (capacities to refute, bound on the cost or None), sentence that the certificate claims)."""
    if kind == "infeasible" and not words:
        return [(ends, None)], "nothing fits"
    cost, last, count = words[:2] * (kind != "used"), words[2 * (kind != "used") :], len(ends)
    unsaid, least = last.count("-"), number(cost[0], 2**127) if cost else None
    last = [None] * unsaid + [*map(number, last[unsaid:])] if last or kind in ("used", "balanced") else [None] * count
    is_known = kind in ("used", "cost", "speed", "balanced") and number(cost[-1] if cost else "1", 2**127) > 0
    if not is_known or len(last) != count or unsaid > {"used": 0, "balanced": count - 1}.get(kind, count):
        raise ValueError(f"a claim must have a known kind and a number for each pool, got {' '.join([kind, *words])!r}")
    claims, top = [], count - (kind == "balanced")
    if kind == "balanced":
        claims += [([*ends[:-1], last[-1] - 1], None)] * (last[-1] > 0) + [([*ends[:-1], last[-1]], least)]
    elif cost:
        claims.append((ends, least))
    for q in reversed(range(top)):
        if last[q]:
            claims.append(([*ends[:q], last[q] - 1, *last[q + 1 :]], None if least is None else least + 1))
    peaks = f"uses less than {', '.join(words[-count:])} bytes of its pools" + ", the last one first" * (count > 1)
    if not cost:
        return claims, f"no plan {peaks}"
    first = (
        "no plan"
        if kind != "balanced"
        else f"no plan uses less than {last[-1]} bytes of the last pool, and none that uses no more"
    )
    text = f"{first} costs less than {cost[0]}/{cost[1]}" + f" (profile {kind})" * (kind != "cost")
    return claims, text + f", nor is there one at that cost that {peaks}" * (unsaid < top and len(words) > 2)
