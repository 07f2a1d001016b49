"""Small random problems in which two to four constraint kinds meet; each field of the schema belongs to a kind.

Two of the kinds of a problem are the pair that was drawn least often so far, so that all pairs meet.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from memplan.planner.errors import ProblemError
from memplan.planner.model.problem import Problem

Fields = dict[str, Any]
Pair = tuple[str, str]


@dataclass
class Draft:
    """A problem that is being drawn: the rows of its buffers and pools, and its other fields."""

    rng: random.Random
    buffers: list[Fields]
    pools: list[Fields]
    rest: Fields = field(default_factory=dict)

    @property
    def data(self) -> Fields:
        return {"buffers": self.buffers, "pools": self.pools, **self.rest}

    def is_sound(self) -> bool:
        try:
            Problem.model_validate(self.data)
        except ProblemError:
            return False
        return True

    def try_buffer(self, k: int, fields: Fields) -> bool:
        """Give a buffer some fields, unless they contradict its present fields; return True on success."""
        before = self.buffers[k]
        self.buffers[k] = before | fields
        if self.is_sound():
            return True
        self.buffers[k] = before
        return False

    def try_entry(self, name: str, entry: Any) -> bool:
        """Add an entry to a list of the problem, unless it contradicts the present entries; return True on success."""
        before = self.rest.get(name, [])
        self.rest[name] = [*before, entry]
        if self.is_sound():
            return True
        self.rest[name] = before
        return False

    def sample_names(self, count: int) -> list[Any]:
        return [row["id"] for row in self.rng.sample(self.buffers, min(count, len(self.buffers)))]


def _buffer_kind(make: Callable[[Draft, int], Fields], chance: float = 0.5) -> Callable[[Draft], bool]:
    def draw(draft: Draft) -> bool:
        done = 0
        for k in draft.rng.sample(range(len(draft.buffers)), len(draft.buffers)):
            if not done or draft.rng.random() < chance:  # at least one buffer
                done += draft.try_buffer(k, make(draft, k))
        return done > 0

    return draw


def _entry_kind(name: str, make: Callable[[Draft], Any], most: int = 3) -> Callable[[Draft], bool]:
    def draw(draft: Draft) -> bool:
        return sum(draft.try_entry(name, make(draft)) for _ in range(draft.rng.randint(1, most))) > 0

    return draw


def _pool_kind(make: Callable[[Draft, int], Fields], chance: float = 0.7) -> Callable[[Draft], bool]:
    def draw(draft: Draft) -> bool:
        before, done = [dict(pool) for pool in draft.pools], False
        of_all = make(draft, 0) if "equal_use" in draft.rest else None  # its pools must be equal
        for k, pool in enumerate(draft.pools):
            if not done or of_all or draft.rng.random() < chance:
                pool.update(of_all or make(draft, k))
                done = True
        if not done or not draft.is_sound():
            draft.pools[:] = before
            return False
        return True

    return draw


def _names(draft: Draft) -> list[str]:
    return [pool["name"] for pool in draft.pools]


def _limit_pools(draft: Draft) -> bool:
    draft.pools += [{"name": name} for name in ("mid", "slow")[: draft.rng.randint(1, 2)]]
    for pool in draft.pools[:-1]:
        pool["size"] = draft.rng.randint(4, 14)
    return True


def _earlier_buffer(draft: Draft, k: int) -> Any:
    return draft.buffers[draft.rng.randrange(max(1, k))]["id"]


def _remainder(draft: Draft, k: int) -> Fields:
    modulus = draft.rng.choice((2, 3, 4))
    rule = {"offset_mod": {"modulus": modulus, "remainder": draft.rng.randrange(modulus)}}
    # without a draw of its own, so that the drawn problems with other kinds stay as they are
    rule |= {"end_at_most": draft.buffers[k]["size"] + 2 * modulus} if k % 3 == 1 else {}
    return rule | ({"start_at_least": modulus - 1} if k % 4 == 2 else {})


def _alias(draft: Draft, k: int) -> Fields:
    return {
        "alias_of": _earlier_buffer(draft, k),
        "alias_offset": draft.rng.randint(0, 2),
        "size": draft.rng.randint(0, 2),
    }


def _bank(draft: Draft, **cost: float) -> bool:
    size = draft.rng.choice((2, 3, 4))
    for pool in draft.pools:
        pool.setdefault("bank_size", size)
    made = [draft.try_entry("bank", {"buffers": draft.sample_names(draft.rng.randint(2, 3)), **cost}) for _ in range(2)]
    return any(made)


def _weights(draft: Draft) -> bool:
    return _bank(draft, weight=draft.rng.choice((0, 1, 2.5, 7)))


def _reuse(draft: Draft) -> bool:
    def entry(draft: Draft) -> Fields:
        return {
            "pairs": [draft.sample_names(2) for _ in range(draft.rng.randint(1, 3))],
            "cost": draft.rng.choice((1, 2, 5)),
        }

    return _entry_kind("reuse", entry)(draft)


def _close_intervals(draft: Draft) -> bool:
    draft.rest["interval"] = "closed"
    if draft.is_sound():
        return True
    del draft.rest["interval"]
    return False


def _equal_use(draft: Draft) -> bool:
    """Give each buffer a pool, and put some buffers of several pools at one offset."""
    if len(draft.pools) < 2 or any("pools" in row or "offset" in row for row in draft.buffers):
        return False
    homes, before = [draft.rng.choice(_names(draft)) for _ in draft.buffers], draft.buffers
    draft.buffers = [row | {"pools": [home]} for row, home in zip(before, homes, strict=True)]
    draft.rest["equal_use"] = True
    if not draft.is_sound():
        draft.buffers = before
        del draft.rest["equal_use"]
        return False
    for _ in range(2):
        a, b = draft.rng.sample(range(len(homes)), 2)
        if homes[a] != homes[b] and draft.try_buffer(b, {"size": draft.buffers[a]["size"]}):
            draft.try_entry("same_offset", [draft.buffers[a]["id"], draft.buffers[b]["id"]])
    return True


KINDS: Mapping[str, tuple[tuple[str, ...], Callable[[Draft], bool]]] = {
    "pools": (("pools", "name"), _limit_pools),
    "choice": (
        ("pools",),
        _buffer_kind(lambda d, _: {"pools": d.rng.sample(_names(d), d.rng.randint(1, len(d.pools)))}),
    ),
    "forbidden": (("forbid_pools",), _buffer_kind(lambda d, _: {"forbid_pools": [d.rng.choice(_names(d))]}, 0.3)),
    "limited": (("size",), _pool_kind(lambda d, _: {"size": d.rng.randint(4, 16)})),
    "no bytes": (("size",), _buffer_kind(lambda _d, _k: {"size": 0}, 0.3)),
    "holes": (
        ("lifetimes", "start", "end"),
        _buffer_kind(lambda d, _: {"start": None, "end": None, "lifetimes": [[0, 1], [d.rng.randint(2, 3), 4]]}),
    ),
    "timeless": (("lifetimes",), _buffer_kind(lambda _d, _k: {"start": None, "end": None}, 0.3)),
    "alignment": (("alignment",), _buffer_kind(lambda d, _: {"alignment": d.rng.choice((2, 3, 4))})),
    "aligned pool": (
        ("alignment", "base_address", "device"),
        _pool_kind(
            lambda d, k: {"alignment": d.rng.choice((1, 2)), "base_address": d.rng.choice((0, 1, 3, 6)), "device": k}
        ),
    ),
    "reserved": (("reserved",), _pool_kind(lambda d, _: {"reserved": [[d.rng.randint(0, 8), d.rng.randint(1, 2)]]})),
    "pin": (
        ("offset",),
        _buffer_kind(lambda d, _: {"offset": d.rng.randint(0, 8), "pools": [d.rng.choice(_names(d))]}, 0.3),
    ),
    "hint": (("hint",), _buffer_kind(lambda d, _: {"hint": d.rng.randint(0, 9)})),
    "traffic": (
        ("traffic", "cost"),
        lambda d: all(
            (
                _buffer_kind(lambda d, _: {"traffic": d.rng.randint(0, 9)})(d),
                _pool_kind(lambda d, _: {"cost": d.rng.choice((0, 1, 2.5))})(d),
            )
        ),
    ),
    "alias": (("alias_of", "alias_offset"), _buffer_kind(_alias, 0.4)),
    "relative": (
        ("relative",),
        _buffer_kind(lambda d, k: {"relative": {"to": _earlier_buffer(d, k), "offset": d.rng.randint(-4, 6)}}, 0.4),
    ),
    "page": (("no_cross",), _buffer_kind(lambda d, _: {"no_cross": d.rng.choice((4, 5, 6, 8))})),
    "remainder": (("offset_mod", "end_at_most", "start_at_least"), _buffer_kind(_remainder)),
    "conflicts": (("conflicts",), _entry_kind("conflicts", lambda d: d.sample_names(2))),
    "sharing": (("may_share",), _entry_kind("may_share", lambda d: d.sample_names(2))),
    "bank": (("bank", "bank_size"), _bank),
    "weights": (("bank", "bank_size"), _weights),
    "reuse": (("reuse",), _reuse),
    "together": (("together",), _entry_kind("together", lambda d: d.sample_names(d.rng.randint(1, 3)))),
    "closed": (("interval",), _close_intervals),
    "equal use": (("equal_use", "same_offset"), _equal_use),
}
"""For each kind, the fields that state it, and the function that draws it; the function returns False if it fails."""
LAST = ("closed",)
"""Constraint kinds that are drawn last."""
OF_SEVERAL = ("forbidden", "choice", "equal use")
"""Constraint kinds that take effect only with several pools."""
PAIRS: tuple[Pair, ...] = tuple(combinations(KINDS, 2))


def problems(seed: int, count: int) -> Iterator[tuple[str, Problem, tuple[str, ...]]]:
    """Yield `count` problems with their names and kinds; the rarest combinations come first."""
    met = Counter[Pair]()
    for k in range(count):
        rng = random.Random(f"{seed}/{k}")
        least = min(met[pair] for pair in PAIRS)
        wanted = set(rng.choice([pair for pair in PAIRS if met[pair] == least]))
        for _ in range(rng.choice((1, 2, 2))):
            rest = rng.sample([kind for kind in KINDS if kind not in wanted], 8)
            wanted.add(min(rest, key=lambda kind: sum(met[pair] for pair in PAIRS if {*pair} <= {kind, *wanted})))
        problem, kinds = draw(rng, [kind for kind in KINDS if kind in wanted])
        met.update(pair for pair in PAIRS if set(pair) <= set(kinds))
        yield f"{seed}/{k}", problem, kinds


def draw(rng: random.Random, wanted: list[str]) -> tuple[Problem, tuple[str, ...]]:
    """Return a problem of two to five buffers with the wanted kinds, as far as they are compatible, and its kinds."""
    for _ in range(20):
        rows = []
        for k in range(rng.randint(2, 5)):
            start = rng.randint(0, 4)
            name: Any = rng.choice((k, f"b{k}", -k - 1))
            rows.append({"id": name, "size": rng.randint(1, 6), "start": start, "end": start + rng.randint(1, 3)})
        draft = Draft(rng, rows, [{"name": "fast"}])
        first = ["pools"] if {"pools", *OF_SEVERAL} & {*wanted} else []
        others = [kind for kind in wanted if kind not in ("pools", *LAST)]
        rng.shuffle(others)
        done = [kind for kind in (*first, *others, *(k for k in wanted if k in LAST)) if KINDS[kind][1](draft)]
        if {*wanted} <= {*done}:
            break
    objectives: list[Any] = ["peak", "peak", "cost", "fit", ["peak", "cost"]]
    draft.rest["objective"] = rng.choice(objectives[:3] if {"weights", "reuse", "traffic"} & {*done} else objectives)
    return Problem.model_validate(draft.data), tuple(done)
