"""Tiny problems of at most six buffers: one for each feature, and random ones that mix features and are often tight."""

from typing import Any

import numpy as np

from memplan.planner.model.problem import Problem


def _problem(buffers: list[dict[str, Any]], **rest: Any) -> Problem:
    return Problem.model_validate({"buffers": [{"id": f"b{k}"} | row for k, row in enumerate(buffers)], **rest})


def _lives(*rows: tuple[int, int, int]) -> list[dict[str, Any]]:
    return [{"size": size, "start": start, "end": end} for size, start, end in rows]


STAIRS = _lives((3, 0, 2), (2, 1, 4), (4, 3, 6), (2, 0, 1), (3, 5, 7), (1, 2, 6))
ABOVE_MAX_LIVE = _lives((3, 0, 2), (2, 0, 3), (2, 1, 4), (3, 3, 5), (1, 2, 5), (1, 4, 6))
RING: list[dict[str, Any]] = [{"size": 2} for _ in range(5)]
RING_PAIRS = [["b0", "b1"], ["b1", "b2"], ["b2", "b3"], ["b3", "b4"], ["b4", "b0"]]
TWO_POOLS = [{"name": "fast", "size": 5}, {"name": "slow"}]

FEATURES: dict[str, Problem] = {
    "plain": _problem(STAIRS),
    "plain, with an uneven profile": _problem(ABOVE_MAX_LIVE),
    "large sizes": _problem([row | {"size": row["size"] * 2**58} for row in STAIRS[:3]]),
    "holes": _problem([{"size": 4, "lifetimes": [[0, 1], [4, 5]]}, *_lives((4, 1, 4), (2, 0, 5), (3, 2, 3))]),
    "explicit conflicts": _problem(
        [{"size": 3}, {"size": 4}, {"size": 2}, *_lives((2, 0, 2), (2, 2, 4))],
        conflicts=[["b0", "b1"], ["b1", "b2"], ["b0", "b3"], ["b2", "b4"]],
    ),
    "alignment": _problem(
        [row | {"alignment": step} for row, step in zip(STAIRS, (3, 1, 6, 5, 1, 2), strict=True)],
        pools=[{"name": "odd", "base_address": 7, "alignment": 3}],
    ),
    "pins": _problem([*STAIRS[:3], {"size": 2, "start": 0, "end": 6, "offset": 3}]),
    "reserved": _problem(STAIRS, pools=[{"name": "shared", "reserved": [[2, 3], [9, 1]]}]),
    "pools": _problem(STAIRS, pools=TWO_POOLS),
    "pools to choose from": _problem(
        [*STAIRS[:4], {"size": 3, "start": 1, "end": 3, "pools": ["slow"]}], pools=TWO_POOLS
    ),
    "a capacity that is exactly enough": _problem(STAIRS, pools=[{"name": "full", "size": 8}]),
    "infeasible by one byte": _problem(STAIRS, pools=[{"name": "full", "size": 7}]),
    "a ring of conflicts": _problem(RING, conflicts=RING_PAIRS),
    "infeasible, which no live set and no clique shows": _problem(
        RING, conflicts=RING_PAIRS, pools=[{"name": "full", "size": 5}]
    ),
    "a buffer that fits nowhere": _problem([{"size": 9, "start": 0, "end": 1}], pools=[{"name": "small", "size": 8}]),
    "zero sizes": _problem([*STAIRS[:2], {"size": 0, "start": 0, "end": 9}, {"size": 0}]),
    "no buffers": _problem([]),
    "aliases": _problem(
        [*STAIRS[:3], {"size": 1, "start": 5, "end": 8, "alias_of": "b0", "alias_offset": 2}, *_lives((3, 6, 8))]
    ),
    "cost": _problem(
        [row | {"traffic": 10 * k} for k, row in enumerate(STAIRS)],
        pools=[{"name": "fast", "size": 5, "cost": 0.1}, {"name": "slow", "cost": 2.5}],
        objective="cost",
    ),
    "fit": _problem(STAIRS, pools=[{"name": "full", "size": 8}], objective="fit"),
    "identical buffers": _problem(_lives(*[(2, 0, 3)] * 3, *[(3, 2, 5)] * 3), pools=TWO_POOLS),
}

BANKED = {"name": "banked", "bank_size": 4, "base_address": 2}

CONSTRAINED: dict[str, Problem] = {
    "relative": _problem([*STAIRS[:4], {"size": 2, "start": 0, "end": 6, "relative": {"to": "b1", "offset": 2}}]),
    "a rigid group around a buffer": _problem(
        [{"size": 3}, {"size": 2, "relative": {"to": "b0", "offset": 6}}, {"size": 2}, {"size": 5}],
        conflicts=[["b0", "b2"], ["b1", "b2"], ["b1", "b3"], ["b2", "b3"]],
    ),
    "a rigid group that nothing holds": _problem(
        [{"size": 3}, {"size": 2, "relative": {"to": "b0", "offset": 6}}], pools=[{"name": "full", "size": 7}]
    ),
    "sharing": _problem(STAIRS, may_share=[["b0", "b1"], ["b1", "b2"], ["b2", "b4"]]),
    "sharing that would bring others together": _problem(
        _lives(*[(2, 0, 3)] * 3), may_share=[["b0", "b1"], ["b1", "b2"]]
    ),
    "pages": _problem([row | {"no_cross": 4} for row in STAIRS], pools=[{"name": "paged", "base_address": 3}]),
    "infeasible for a page": _problem(
        [row | {"no_cross": 4} for row in _lives((3, 0, 2), (3, 1, 3))], pools=[{"name": "full", "size": 6}]
    ),
    "remainders": _problem(
        [row | {"offset_mod": {"modulus": 3, "remainder": k % 3}} for k, row in enumerate(STAIRS[:5])]
    ),
    "banks": _problem(STAIRS[:4], pools=[BANKED], bank=[{"buffers": ["b0", "b2"]}, {"buffers": ["b1", "b3"]}]),
    "infeasible for banks": _problem(
        _lives((4, 0, 1), (4, 2, 3)), pools=[BANKED | {"size": 9}], bank=[{"buffers": ["b0", "b1"]}]
    ),
    "bank weights": _problem(
        STAIRS[:4],
        pools=[BANKED | {"size": 7}],
        bank=[{"buffers": ["b0", "b1", "b2"], "weight": 2.5}, {"buffers": ["b1", "b3"], "weight": 0.1}],
        objective="cost",
    ),
    "together": _problem(STAIRS, pools=TWO_POOLS, together=[["b0", "b5"], ["b1", "b4"]]),
    "forbidden pools": _problem([row | {"forbid_pools": ["fast"]} for row in STAIRS[:3]] + STAIRS[3:], pools=TWO_POOLS),
}
"""One problem for each constraint kind that not every solver supports."""


def random_tiny(seed: int) -> Problem:
    """Return a problem of one to six buffers in a short time, with random features."""
    rng = np.random.default_rng(seed)
    unit = int(rng.choice([1, 1, 64]))
    names = ["fast", "slow"][: int(rng.choice([1, 1, 2]))]
    pools = [_random_pool(rng, name, unit) for name in names]
    buffers = [_random_buffer(rng, k, names, unit) for k in range(int(rng.integers(1, 7)))]
    pairs = rng.choice([row["id"] for row in buffers], (int(rng.choice([0, 0, 3])), 2)).tolist()
    objective = rng.choice(["peak", "peak", "fit", "cost"])
    data = {"buffers": buffers, "pools": pools, "conflicts": [p for p in pairs if p[0] != p[1]], "objective": objective}
    return Problem.model_validate(data)


def _random_pool(rng: np.random.Generator, name: str, unit: int) -> dict[str, Any]:
    pool: dict[str, Any] = {"name": name, "cost": float(rng.choice([0.0, 0.1, 1.0]))}
    if name == "fast" or rng.random() < 0.4:
        pool["size"] = int(unit * rng.integers(3, 16))
    if rng.random() < 0.2:
        pool |= {"alignment": int(rng.choice([2, 3])), "base_address": int(rng.integers(0, 9)), "device": pool["name"]}
    if rng.random() < 0.2:
        pool["reserved"] = [[int(unit * rng.integers(0, 6)), unit]]
    return pool


def _random_buffer(rng: np.random.Generator, k: int, names: list[str], unit: int) -> dict[str, Any]:
    row: dict[str, Any] = {"id": f"b{k}", "size": int(unit * rng.choice([0, 1, 2, 2, 3, 3, 4, 5]))}
    start, kind = int(rng.integers(0, 5)), rng.random()
    if kind < 0.7:
        row |= {"start": start, "end": start + int(rng.integers(1, 4))}
    elif kind < 0.9:
        row["lifetimes"] = [[start, start + 1], [start + 2, start + 3]]
    if rng.random() < 0.2:
        row["alignment"] = int(rng.choice([2, 3, 4, 6]))
    if rng.random() < 0.1:
        row |= {"offset": int(unit * rng.integers(0, 8)), "pools": [names[-1]], "alignment": 1}
    if rng.random() < 0.3:
        row["traffic"] = int(rng.integers(0, 20))
    return row
