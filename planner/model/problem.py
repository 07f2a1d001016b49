"""The problem, which is also its wire format: buffers, pools, constraints and an objective."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError, model_validator

from memplan.planner.errors import MAX_SHOWN, Break, ProblemError, excerpt, raise_rules, unique_rule
from memplan.planner.errors.did_you_mean import register_fields
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.constraints.kinds import kinds_of
from memplan.planner.model.intervals import Interval, half_open, merge_spans
from memplan.planner.model.problem_fields import (
    ADDRESS_SPACE,
    BankUse,
    Objective,
    Pool,
    ProblemFields,
    Profile,
    ReuseCost,
)
from memplan.planner.model.rows import MAX_BYTES, Buffer

register_fields("", ProblemFields)


class Problem(ProblemFields):
    """Buffers to place in pools. A problem is valid once it exists."""

    if TYPE_CHECKING:  # show type checkers that callers pass rows, because pydantic's signature requires a table

        def __init__(self, *, buffers: Sequence[Buffer | Mapping[str, Any]], **fields: Any) -> None: ...

    @classmethod
    def of_table(cls, buffers: BufferTable, interval: Interval | None = None) -> "Problem":
        """Return the problem of a table of buffers in one pool; raises ProblemError.

        The rows of a table are already valid, so only rules between buffers are checked. This avoids pydantic's
        validator of problems, which takes longer to build than a small plan.
        """
        header: dict[str, Any] = {} if interval is None else {"interval": interval}
        try:
            return cls.model_construct(buffers=buffers, **header)._check_parts()
        except ValidationError:
            return cls(buffers=buffers, **header)  # The constructor raises these errors as ProblemError.

    def with_capacity(self, capacity: int | Mapping[str, int]) -> "Problem":
        """Return the problem with a new size for its only pool, or for the named pools; raises ProblemError.

        If the problem names no pools, these names define its pools in order of preference.
        """
        sizes = capacity if isinstance(capacity, Mapping) else {self.pools[0].name: capacity}
        if self.pools == (Pool(),) and sizes and self.pools[0].name not in sizes:
            return replace_fields(self, pools=[{"name": name, "size": size} for name, size in sizes.items()])
        if unknown := [name for name in sizes if name not in self.pool_index]:
            names = ", ".join(self.pool_index)
            raise ProblemError(f"capacity: must name a pool of the problem ({names}), got {excerpt(unknown[0])}")
        if sizes is not capacity and len(self.pools) > 1:
            raise ProblemError("capacity: must name the pools, such as {'sram': 65536}, if there are several")
        return replace_fields(
            self,
            pools=[
                pool.model_dump(exclude_unset=True) | ({"size": sizes[pool.name]} if pool.name in sizes else {})
                for pool in self.pools
            ],
        )

    @model_validator(mode="before")
    @classmethod
    def _set_implied_fields(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        if "pools" in data and data["pools"] in ([], (), None):
            data = {key: value for key, value in data.items() if key != "pools"}
        if data.get("moves") not in (None, False) and "objective" not in data:
            data = {**data, "objective": "cost"}
        return half_open(data) if data.get("interval") == "closed" else data

    def _check_parts(self) -> "Problem":
        """Raise ValidationError if the fields of the problem contradict each other; return the problem."""
        named = (("buffers", "id", self.buffers.ids), ("pools", "name", [pool.name for pool in self.pools]))
        repeated: Iterator[Break] = (
            ((kind, i, key), unique_rule(excerpt(names[i]), f"at {kind}[{first}]"))
            for kind, key, names in named
            for first, i in repeated_positions(names)
        )
        all_breaks = [repeated]
        if not self.moves:
            rule = "must not be false without moves; use the buffers' pools instead"
            all_breaks.append(((("pools", k, "direct"), rule) for k, pool in enumerate(self.pools) if not pool.direct))
        if len(self.buffers.pool_choices) > 1:
            all_breaks.append(self._unknown_pools())
        if len(self.pools) > 1:
            all_breaks += [self._ambiguous_pins(), self._pools_at_one_address()]
        breaks = list(islice(chain.from_iterable(all_breaks), MAX_SHOWN + 1))
        kinds = kinds_of(self)
        for stage in sorted({stage for kind in kinds for stage in kind.checks}):
            if stage == 0 or not breaks:
                checks = (kind.checks[stage](self) for kind in kinds if stage in kind.checks)
                breaks += islice(chain.from_iterable(checks), MAX_SHOWN + 1)
        if breaks:
            raise_rules(*breaks[: MAX_SHOWN + 1])
        return self

    _has_consistent_parts = model_validator(mode="after")(_check_parts)

    def _unknown_pools(self) -> Iterator[Break]:
        """Yield a broken rule for each unknown pool that a buffer names."""
        choices = self.buffers.pool_choices
        wrong = {k for k, names in enumerate(choices) if not set(names) <= self.pool_index.keys()}
        if not wrong:
            return
        first_names = ", ".join([pool.name for pool in self.pools[:5]] + ["..."] * (len(self.pools) > 5))
        for i, choice in enumerate(self.buffers.pool_choice.tolist()):
            for j, name in enumerate(choices[choice] if choice in wrong else ()):
                if name not in self.pool_index:
                    yield (
                        ("buffers", i, "pools", j),
                        f"must name a pool of the problem ({first_names}), got {excerpt(name)}",
                    )

    def _ambiguous_pins(self) -> Iterator[Break]:
        choices = self.buffers.pool_choices
        for i in (self.buffers.offset >= 0).nonzero()[0].tolist():
            names = set(choices[int(self.buffers.pool_choice[i])] or self.pool_index)
            count = len(names.difference(self.buffers.rules["forbid_pools"].get(i, ())))
            if count > 1:
                rule = f"applies only if the buffer allows a single pool, got {count} pools"
                yield ("buffers", i, "offset"), rule

    def _pools_at_one_address(self) -> Iterator[Break]:
        """Yield a broken rule for each two pools of one device whose unreserved addresses overlap."""
        spans = sorted(
            (pool.base_address, pool.base_address + (ADDRESS_SPACE if pool.size is None else pool.size), q)
            for q, pool in enumerate(self.pools)
            if pool.size != 0 and (pool.base_address or _has_address_0(pool))
        )
        for k, (_, end, low) in enumerate(spans):
            for start, last, high in spans[k + 1 :]:
                pair = self.pools[low], self.pools[high]
                if start >= end:
                    break
                kept_free = [
                    (pool.base_address + offset, pool.base_address + offset + size)
                    for pool in pair
                    for offset, size in pool.reserved
                ]
                is_parted = any(free <= start and min(end, last) <= until for free, until in merge_spans(kept_free))
                if pair[0].device != pair[1].device or is_parted:
                    continue
                if pair[0].size is None and start > spans[k][0]:
                    rule = f"must be at most {start - spans[k][0]}, where pool {excerpt(pair[1].name)} begins"
                    yield ("pools", low, "size"), f"{rule}, unless their devices differ, got none"
                else:
                    rule = f"must be at least 0x{end:x}, where pool {excerpt(pair[0].name)} ends"
                    yield ("pools", high, "base_address"), f"{rule}, unless their devices differ, got 0x{start:x}"


_WITH_DEFAULTS = {name for name, field in Pool.model_fields.items() if type(field.default) in (str, int)}
"""The fields of pools whose default is a text or a number, which generated clients write even if nobody set them."""


def _has_address_0(pool: Pool) -> bool:
    return "base_address" in pool.model_fields_set and not pool.model_fields_set >= _WITH_DEFAULTS


def profile_of(problem: Problem, profile: Profile | None) -> Profile | None:
    """Return the profile that applies to a problem.

    It is None for a single pool, for which profiles do not differ. For several pools, the default is `balanced` with
    the objective `peak`, and None with other objectives.
    """
    if len(problem.pools) < 2:
        return None
    return "balanced" if profile is None and problem.objective == "peak" else profile


def replace_fields(problem: Problem, **fields: Any) -> Problem:
    """Return the problem with some fields replaced, validated again; raises ProblemError."""
    return Problem.model_validate({name: getattr(problem, name) for name in problem.model_fields_set} | fields)


def replace_profile(problem: Problem, profile: Profile | None) -> Problem:
    """Return the problem with a profile's objective: `peak` for `size`, `cost` for the others, unchanged for None.

    If the objective becomes `cost` and all pools have the same cost, the cost of moving one byte becomes 0 in the first
    pool, 1 in the second, and so on.
    """
    if profile is None or (profile == "size" and problem.objective == "peak"):
        return problem
    if profile == "size":
        return problem.model_copy(update={"objective": "peak"})
    pools = problem.pools
    if len({pool.cost for pool in pools}) == 1:
        pools = tuple(pool.model_copy(update={"cost": float(k)}) for k, pool in enumerate(pools))
    return problem.model_copy(update={"objective": "cost", "pools": pools})


__all__ = [
    "ADDRESS_SPACE",
    "MAX_BYTES",
    "BankUse",
    "Buffer",
    "Objective",
    "Pool",
    "Problem",
    "Profile",
    "ReuseCost",
    "replace_fields",
    "replace_profile",
    "profile_of",
]
