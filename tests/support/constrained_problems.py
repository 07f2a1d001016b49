"""Random problems with rigid groups, sharing, pages, banks and colocation; and a naive check of their rules."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem

CONSTRAINTS = ("relative", "sharing", "pages", "banks", "bank-weights", "reuse", "together")
OTHERS = ("holes", "conflicts", "pools", "alignment", "pins", "reserved")


def constrained_problem(seed: int, n: int, features: frozenset[str], capacity: int | None = None) -> Problem:
    """Return a random problem of `n` buffers; the last pool is unlimited unless a `capacity` is given.

    Weights of banks imply the objective `cost`. A relative buffer is a few bytes above its base.
    """
    rng = np.random.default_rng(seed)
    names = ["fast", "slow"] if "pools" in features else ["only"]
    pools: list[dict[str, Any]] = [{"name": name, "size": 24} for name in names]
    pools[-1]["size"] = capacity
    for k, pool in enumerate(pools):
        if "banks" in features or "bank-weights" in features:
            pool |= {"bank_size": int(rng.choice([8, 16])), "base_address": int(rng.integers(0, 9)), "device": k}
        if "reserved" in features:
            pool["reserved"] = [[int(rng.integers(3, 20)), int(rng.integers(1, 4))]]
        if "bank-weights" in features:
            pool["cost"] = 1 + 2 * k
    rows = [_buffer(rng, i, n, features, names) for i in range(n)]
    free = [row["id"] for row in rows if "offset" not in row]
    _add_relatives(rng, rows, free, n // 4 * ("relative" in features))
    joined = _groups(rows)
    apart = [pair for pair in _pairs(rng, free, 2 * n) if joined[pair[0]] != joined[pair[1]]]
    data: dict[str, Any] = {"buffers": rows, "pools": pools}
    if "conflicts" in features:
        data["conflicts"] = [pair for pair in _pairs(rng, free, n // 3) if joined[pair[0]] != joined[pair[1]]]
    if "sharing" in features:
        named = {frozenset(pair) for pair in data.get("conflicts", [])}
        data["may_share"] = [pair for pair in apart[: n // 2] if frozenset(pair) not in named]
    if "banks" in features:
        data["bank"] = [{"buffers": pair} for pair in apart[-max(1, n // 4) :]]
    if "bank-weights" in features:
        soft = [{"buffers": pair, "weight": float(rng.integers(1, 9))} for pair in apart[-max(1, n // 2) :]]
        data |= {"bank": [*data.get("bank", []), *soft], "objective": "cost"}
    if "reuse" in features:
        data |= {"reuse": [{"pairs": apart[: n // 2 + 1], "cost": 1 + seed % 3}], "objective": "cost"}
    if "together" in features:
        data["together"] = [rng.choice(free, min(3, len(free)), replace=False).tolist() for _ in range(max(1, n // 8))]
    return Problem.model_validate(data)


def constrained_instance(seed: int, n: int, features: frozenset[str], capacity: int | None = None) -> Instance:
    """Return a compiled random problem; "clearances" and "intervals" are added to the instance only."""
    instance = compile_problem(constrained_problem(seed, n, features, capacity))
    instance = add_intervals(instance, seed) if "intervals" in features else instance
    return add_clearances(instance, seed) if "clearances" in features else instance


def add_intervals(instance: Instance, seed: int) -> Instance:
    rng = np.random.default_rng(seed)
    ranges = [np.array([[a, a + 1 + b % 4], [a + 6, a + 7 + b]]) for a, b in rng.integers(0, 9, (3, 2)).tolist()]
    drawn = rng.integers(-1, 3, (len(instance.pools), len(instance)))
    return replace(instance, barred=np.where(instance.pin < 0, drawn, -1), barred_ranges=tuple(ranges))


def add_clearances(instance: Instance, seed: int) -> Instance:
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.integers(0, len(instance), (len(instance) // 2, 2)), axis=1)
    pairs = np.unique(drawn[instance.anchor[drawn[:, 0]] != instance.anchor[drawn[:, 1]]], axis=0)
    return replace(instance, clear_pairs=pairs, clearance=rng.integers(0, 6, len(pairs)))


def _buffer(rng: np.random.Generator, i: int, n: int, features: frozenset[str], names: list[str]) -> dict[str, Any]:
    start, life = int(rng.integers(0, n)), int(rng.integers(1, 2 + n // 3))
    row: dict[str, Any] = {"id": i, "size": int(rng.integers(1, 9))}
    if "holes" in features and rng.random() < 0.3:
        row["lifetimes"] = [[start, start + life], [start + life + 1, start + life + 2]]
    else:
        row |= {"start": start, "end": start + life}
    if "alignment" in features:
        row["alignment"] = int(rng.choice([1, 1, 2, 4]))
    if "pages" in features and rng.random() < 0.5:
        row["no_cross"] = int(rng.choice([8, 12, 16]))
    if "pins" in features and i % 9 == 0:
        row |= {"offset": 240 + 24 * i, "alignment": 1, "pools": [names[-1]]}
        row.pop("no_cross", None)
    return row


def _pairs(rng: np.random.Generator, ids: list[int], count: int) -> list[list[int]]:
    found = {tuple(sorted(pair)): None for pair in rng.choice(ids, (count, 2)).tolist() if pair[0] != pair[1]}
    return [[int(a), int(b)] for a, b in found]


def _add_relatives(rng: np.random.Generator, rows: list[dict[str, Any]], free: list[int], count: int) -> None:
    """Place some buffers relative to an earlier one, without alignment and page, so that some offset is legal."""
    for i in free[len(free) - count :]:
        to = int(rng.choice(free[: max(1, len(free) // 2)]))
        if to != i:
            rows[i]["relative"] = {"to": to, "offset": int(rng.integers(0, 12))}
        for k in (i, to):
            rows[k].pop("no_cross", None)
            rows[k].pop("alignment", None)


def _groups(rows: list[dict[str, Any]]) -> list[int]:
    """Return, for each buffer, the base buffer at the end of its chain of relative offsets."""
    found = []
    for row in rows:
        at = row
        while "relative" in at:
            at = rows[at["relative"]["to"]]
        found.append(at["id"])
    return found


def violated_rules(instance: Instance, q: int, offset: dict[int, int]) -> list[str]:
    """Return the rules that buffers of pool `q` violate at these offsets (in units), for single buffers and pairs."""
    wrong = [f"{i}: {rule}" for i, at in offset.items() for rule in _violated_buffer_rules(instance, q, i, at)]
    for (i, x), (j, y) in combinations(sorted(offset.items()), 2):
        if instance.anchor[i] == instance.anchor[j]:
            if x - instance.distance[i] != y - instance.distance[j]:
                wrong.append(f"{i}, {j}: relative")
        elif _overlap(instance, i, x, j, y) and conflict(instance, i, j) and not (x == y and may_share(instance, i, j)):
            wrong.append(f"{i}, {j}: overlap")
        if [i, j] in instance.clear_pairs.tolist():
            free = instance.clearance[instance.clear_pairs.tolist().index([i, j])]
            if x < y + instance.size[j] + free and y < x + instance.size[i] + free:
                wrong.append(f"{i}, {j}: clearance")
        if j in neighbours_of(instance.bank_first, instance.bank_with, i) and _touches_common_bank(
            instance, q, i, x, j, y
        ):
            wrong.append(f"{i}, {j}: bank")
    return wrong


def _violated_buffer_rules(instance: Instance, q: int, i: int, at: int) -> list[str]:
    memory, size = instance.pools[q], int(instance.size[i])
    page, shift = int(instance.page[q, i]), int(instance.page_shift[q, i])
    holds = {
        "allowed": bool(instance.allowed[q, i]),
        "bounds": 0 <= at <= memory.capacity - size,
        "alignment": at >= instance.lowest[q, i] and (at - instance.lowest[q, i]) % instance.alignment[q, i] == 0,
        "pin": instance.pin[i] in (-1, at),
        "intervals": not any(low <= at < high for low, high in instance.barred_to(i, q)),
        "page": page == 0 or (at + shift) % page + size <= page,
        "reserved": all(high <= at or at + size <= low for low, high in memory.reserved.tolist()),
    }
    return [rule for rule, is_kept in holds.items() if not is_kept]


def _overlap(instance: Instance, i: int, x: int, j: int, y: int) -> bool:
    return bool(x < y + instance.size[j] and y < x + instance.size[i])


def _touches_common_bank(instance: Instance, q: int, i: int, x: int, j: int, y: int) -> bool:
    bank, shift = instance.pools[q].bank, instance.pools[q].bank_shift
    if bank == 0:
        return False
    mine, others = (
        {(byte + shift) // bank for byte in range(at, at + int(instance.size[k]))} for k, at in ((i, x), (j, y))
    )
    return not mine.isdisjoint(others)


def conflict(instance: Instance, i: int, j: int) -> bool:
    lives = [range(int(instance.first[k]), int(instance.first[k + 1])) for k in (i, j)]
    start, end = instance.start, instance.end
    meets = any(start[a] < end[b] and start[b] < end[a] for a in lives[0] for b in lives[1])
    return meets or j in neighbours_of(instance.conflict_first, instance.conflict, i)


def may_share(instance: Instance, i: int, j: int) -> bool:
    """Return True if two buffers may have the same offset although they are alive together."""
    return j in neighbours_of(instance.share_first, instance.share, i)


def neighbours_of(first: np.ndarray, neighbour: np.ndarray, i: int) -> list[int]:
    return [int(j) for j in neighbour[first[i] : first[i + 1]]]
