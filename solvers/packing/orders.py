"""Orders of buffers by size, lifetime, area, conflicts or products of these, compared exactly or in bands.

A band is a range of values between two successive powers of a base. Inside a band, another trait determines the order.
Sorting is stable, so equal buffers keep the instance's order. Neither logarithms nor powers are computed, because
machines may round them differently.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.model.buffer_table import I64, column

F64 = npt.NDArray[np.float64]

_FEW = 12
"""The limit of buffers up to which purely random orders are tried."""
_VARIATION = 0.4
"""The standard deviation of the logarithm of parameters when a rule near another one is drawn."""


class Traits:
    """The numeric traits of buffers (size, load, conflicts and others) by which orders compare them.

    They are arrays (n,), with floats where sums or products may exceed 2^63.
    """

    def __init__(self, instance: Instance) -> None:
        """Start with no trait computed except sizes and traffic; the others are computed at first use."""
        self.instance = instance
        self.traffic, self.size = instance.traffic, instance.size.astype(np.float64)
        self._sorted: dict[str, I64] = {}

    @cached_property
    def start(self) -> I64:
        """The number of the first live set of each buffer; 0 if the buffer has no lifetimes."""
        if self.instance.has_one_lifetime_each:
            return self.instance.start
        first = self.instance.first
        padded = np.append(self.instance.start, 0)
        return column(np.where(first[:-1] < first[1:], padded[first[:-1]], 0))

    @cached_property
    def end(self) -> I64:
        """The number after the last live set of each buffer; 0 if the buffer has no lifetimes."""
        first = self.instance.first
        padded = np.append(0, self.instance.end)
        return column(np.where(first[:-1] < first[1:], padded[first[1:]], 0))

    @cached_property
    def life(self) -> F64:
        """The number of live sets that contain each buffer."""
        return self._lifetime_sums(self.instance.end - self.instance.start)

    @cached_property
    def area(self) -> F64:
        """The size of each buffer, in units, times the number of live sets that contain it."""
        return self.size * self.life

    @cached_property
    def conflicts(self) -> F64:
        """The number of conflicts of each buffer, summed over its lifetimes; takes O(m) time for m lifetimes."""
        instance = self.instance
        n_sets = instance.n_live_sets
        begun = np.concatenate(([0], np.cumsum(np.bincount(instance.start, minlength=n_sets))))
        over = np.cumsum(np.bincount(instance.end, minlength=n_sets + 1))
        alive = begun[instance.end] - over[instance.start] - 1
        return self._lifetime_sums(alive) + np.diff(instance.conflict_first)

    @cached_property
    def load(self) -> F64:
        """The load of each live set, which is the sum of its members' sizes in units."""
        return self.instance.loads().astype(np.float64)

    @cached_property
    def pressure(self) -> F64:
        """The largest load among each buffer's live sets, as a share of the largest load of all.

        A sparse table gives it in O(m log m) time for m lifetimes.
        """
        span = self.instance.end - self.instance.start
        level = np.frexp(span.astype(np.float64))[1] - 1
        largest = np.zeros(len(span))
        table = self.load
        for height in range(int(level.max(initial=-1)) + 1):
            mine = level == height
            last = self.instance.end[mine] - (1 << height)
            largest[mine] = np.maximum(table[self.instance.start[mine]], table[last])
            table = np.maximum(table[: -(1 << height)], table[1 << height :])
        pressure = np.zeros(len(self.instance))
        np.maximum.at(pressure, self.instance.lifetime_buffer, largest)
        return pressure / max(1.0, float(self.load.max(initial=0.0)))

    @cached_property
    def busyness(self) -> F64:
        """The traffic (bytes read and written) of each buffer, divided by its size."""
        return self.instance.traffic / self.size

    @cached_property
    def urgency(self) -> F64:
        """The factor by which a search moves each buffer forward in its orders; initially 1."""
        return np.ones(len(self.instance))

    @cached_property
    def is_at_peak(self) -> Bool:
        """For each buffer, True if it is alive in the live set with the largest load."""
        is_at_peak = np.zeros(len(self.instance), dtype=np.bool_)
        if len(self.load):
            is_at_peak[self.instance.live_set_members(int(self.load.argmax()))] = True
        return is_at_peak

    @cached_property
    def is_joined(self) -> Bool:
        """For each buffer, True if it has a fixed distance to another buffer."""
        anchor = self.instance.anchor
        return np.asarray(np.bincount(anchor, minlength=len(anchor))[anchor] > 1)

    @cached_property
    def choices(self) -> I64:
        """The number of pools that each buffer may use."""
        return column(self.instance.allowed.sum(axis=0))

    def product(self, names: tuple[str, ...]) -> F64:
        """Return, for each buffer, the product of the named traits, such as `size`, `sqrt life` or `pressure^8`."""
        value = np.ones(len(self.instance))
        for name in names:
            trait, _, power = name.removeprefix("sqrt ").partition("^")
            factor = np.asarray(getattr(self, trait), dtype=np.float64)
            for _ in range(int(power or 1)):
                value = value * (np.sqrt(factor) if name.startswith("sqrt ") else factor)
        return value

    def sorted_by(self, name: str) -> I64:
        """Return the buffers sorted by a trait in descending order, or by `start` in ascending order.

        Among equal starts or ends, shorter lifetimes come first, so that the order of the problem's rows has no effect.
        """
        if name not in self._sorted:
            key = self.start if name == "start" else -getattr(self, name)
            if name in ("start", "end"):
                by_life = np.argsort(self.life, kind="stable")
                self._sorted[name] = column(by_life[np.argsort(key[by_life], kind="stable")])
            else:
                self._sorted[name] = column(np.argsort(key, kind="stable"))
        return self._sorted[name]

    def _lifetime_sums(self, values: I64) -> F64:
        if self.instance.has_one_lifetime_each:
            return values.astype(np.float64)
        total = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
        return total[self.instance.first[1:]] - total[self.instance.first[:-1]]


class Rule(NamedTuple):
    """A rule that sorts buffers by the product of the traits `by`, largest first, and then by the trait `within`.

    With a `base`, products are compared in bands, whose borders are moved by `shift`, a factor from 1 to the base. With
    `peak_first`, buffers in the largest live set come first. With `groups_first`, members of rigid groups come first.
    With `confined_first`, buffers that may use the fewest pools come first.
    """

    by: tuple[str, ...]
    within: str
    base: float | None = None
    shift: float = 1.0
    peak_first: bool = False
    groups_first: bool = False
    confined_first: bool = False
    best_fit: bool = False

    @property
    def name(self) -> str:
        """The rule's name as plans record it, such as `size`, `size-band2-end` or `peak-life-best`."""
        words = ["confined"] * self.confined_first + ["groups"] * self.groups_first + ["peak"] * self.peak_first
        words += ["*".join(self.by).replace(" ", "-")] * bool(self.by)
        words += [] if self.base is None else [f"band{self.base:g}"]
        words += [self.within] * (self.base is not None or not self.by or self.within != "start")
        return "-".join(words + ["best"] * self.best_fit)

    def order(self, traits: Traits) -> I64:
        """Return the buffers sorted by the rule, in O(n log n) time for n buffers."""
        order = traits.sorted_by(self.within)
        if self.by:
            value = traits.product(self.by)
            key = -value if self.base is None else _band(value, self.base, self.shift)
            order = order[np.argsort(key[order], kind="stable")]
        if self.peak_first:
            order = order[np.argsort(~traits.is_at_peak[order], kind="stable")]
        if self.groups_first:
            order = order[np.argsort(~traits.is_joined[order], kind="stable")]
        if self.confined_first:
            order = order[np.argsort(traits.choices[order], kind="stable")]
        return column(order)


def _band(values: F64, base: float, shift: float) -> npt.NDArray[np.int16]:
    """Return the number of the band of each value; 0 is the highest band.

    The result has 16 bits, so that numpy sorts it by radix sort.
    """
    lowest = float(values.min(initial=np.inf, where=values > 0))
    edges = [float(values.max(initial=0.0)) / shift]
    while edges[-1] > lowest:
        edges.append(edges[-1] / base)
    return (len(edges) - np.searchsorted(np.array(edges[::-1]), values)).astype(np.int16)


RULES = (
    Rule(("pressure^16", "size"), "start", 2),
    Rule(("pressure^16", "area"), "start", 1.5),
    Rule(("size",), "life", peak_first=True),
    Rule(("size", "sqrt conflicts"), "end", 2),
    Rule(("size",), "life", 4, peak_first=True, best_fit=True),
    Rule(("size", "sqrt conflicts"), "life", 2, peak_first=True),
    Rule(("size", "sqrt life"), "life", 1.5, peak_first=True),
    Rule(("size",), "start", 8),
    Rule((), "end"),
    Rule(("area",), "size", 2, peak_first=True),
    Rule(("size", "conflicts"), "start", 8, peak_first=True),
    Rule(("size", "conflicts"), "end", 8, peak_first=True),
    Rule((), "start"),
    Rule(("conflicts",), "end", 8, peak_first=True, best_fit=True),
    Rule(("conflicts",), "start", 8, peak_first=True),
    Rule(("pressure^16", "size"), "end", 2),
    Rule(("size",), "start", peak_first=True),
    Rule(("size",), "end"),
    Rule(("area",), "size"),
    Rule(("area",), "life", 8, peak_first=True, best_fit=True),
    Rule(("conflicts",), "size"),
    Rule(("size", "conflicts"), "end", 1.25),
    Rule(("life",), "size", best_fit=True),
    Rule(("size",), "start", 8, best_fit=True),
)
"""The rules of the greedy orders, found by trying all kinds on real problems and their mirror images.

Each rule reaches the bound on problems where the earlier rules do not. By the 16th power of the pressure, buffers of
crowded times come first, whatever their sizes.
"""

COST_RULES = (
    Rule(("busyness",), "size"),
    Rule(("busyness",), "life", 2),
    Rule(("busyness",), "start", 8),
    Rule(("traffic",), "size"),
)
"""The rules for objective `cost`: buffers that gain most per byte of a cheap pool come first."""


MIXES = (
    ("size",),
    ("size", "conflicts"),
    ("size", "sqrt conflicts"),
    ("pressure^2", "size"),
    ("pressure^8", "size"),
    ("pressure^16", "size"),
    ("pressure^16", "area"),
    ("size", "sqrt life"),
    ("conflicts",),
)
"""The products of traits that random rules use."""

COST_MIXES = (("busyness",), ("busyness", "size"), ("busyness", "sqrt life"), ("busyness", "conflicts"), *MIXES[:2])
"""The products of traits that random rules use for objective `cost`."""


def random_rule(
    rng: np.random.Generator, mixes: tuple[tuple[str, ...], ...] = MIXES, some_are_confined: bool = False
) -> Rule:
    """Return a random sorting rule, which compares buffers by one of `mixes` (products of traits) in bands."""
    base = 1.25 + 8 * rng.random() ** 2
    return Rule(
        by=mixes[rng.integers(len(mixes))],
        within=("start", "start", "end", "end", "life", "size")[rng.integers(6)],
        base=base,
        shift=1 + (base - 1) * rng.random(),
        peak_first=bool(rng.random() < 0.5),
        confined_first=some_are_confined and bool(rng.random() < 0.5),
        best_fit=bool(rng.random() < 0.15),
    )


def rule_near(rng: np.random.Generator, rule: Rule) -> Rule:
    """Return a random rule similar to `rule`, with other bands and other powers of its traits."""
    by = []
    for name in rule.by:
        trait, _, power = name.partition("^")
        by.append(f"{trait}^{max(1, round(int(power) * rng.lognormal(0, _VARIATION)))}" if power else name)
    base = 1.2 + ((rule.base or 2.0) - 1.2) * rng.lognormal(0, _VARIATION)
    return rule._replace(by=tuple(by), base=base, shift=1 + (base - 1) * rng.random())


def random_order(
    rng: np.random.Generator,
    traits: Traits,
    mixes: tuple[tuple[str, ...], ...] = MIXES,
    some_are_confined: bool = False,
) -> tuple[I64, bool]:
    """Return a random order of the buffers, and True if packing should use best fit.

    For a few buffers, any permutation may be drawn. Otherwise, the order follows a random rule.
    """
    n = len(traits.instance)
    if n <= _FEW and rng.random() < 0.5:
        return column(rng.permutation(n)), bool(rng.random() < 0.15)
    rule = random_rule(rng, mixes, some_are_confined)
    if traits.is_joined.any():
        rule = rule._replace(groups_first=bool(rng.random() < 0.5))
    return rule.order(traits), rule.best_fit
