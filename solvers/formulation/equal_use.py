"""Pools that must have equal use (bytes used), converted to one pool in which their time ranges follow each other.

Buffers with the same offset in several pools become one buffer that is alive in the time range of each pool. So the
searches, bounds and proofs for one pool also apply to pools of equal use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import inf
from typing import TypeVar

import numpy as np

from memplan.planner.bounds.reason_sentence import sentence
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.constraints.kinds import kinds_of
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Explanation, KeptPlaces, Plan, PoolUse, Proof
from memplan.planner.model.problem import BankUse, Problem, ReuseCost, replace_fields

_CONVERTED_FIELDS = frozenset(
    {"aliases", "relative", "forbid_pools", "conflicts", "may_share", "bank", "reuse", "together"}
    | {"equal_use", "same_offset"}
)
"""The fields of constraint kinds that are converted for the single pool; kinds that limit offsets are unchanged."""
Named = TypeVar("Named", Proof, Explanation)


@dataclass(frozen=True, eq=False)
class EqualPools:
    """A problem with pools of equal use, and its conversion to a problem with a single pool and back.

    Raises OptionError for constraint kinds that cannot be converted.
    """

    problem: Problem

    def __post_init__(self) -> None:
        """Raise OptionError if a constraint kind of the problem cannot be converted to a single pool."""
        for kind in kinds_of(self.problem):
            if kind.offsets is None and not _CONVERTED_FIELDS.issuperset(kind.stated_by):
                raise OptionError(f"equal_use: must not be given with {kind.stated_by[0]}, got both")

    @cached_property
    def pool(self) -> I64:
        """The number of each buffer's pool, as an array (n,); an alias is in the pool of its root buffer."""
        roots = self.problem.roots
        rows = (roots.get(i, (i, 0))[0] for i in range(len(self.problem.buffers)))
        return column([self.problem.allowed_pools(i)[0] for i in rows])

    @cached_property
    def times(self) -> I64:
        """The distinct start and end times of all buffers, ascending: the steps of each pool's time range."""
        return np.unique(np.concatenate((self.problem.buffers.start, self.problem.buffers.end)))

    @cached_property
    def members(self) -> dict[int | str, dict[int, int | str]]:
        """The `same_offset` sets by the first buffer's id; each maps a pool's number to the id of the buffer there."""
        index = self.problem.index
        return {ids[0]: {int(self.pool[index[name]]): name for name in ids} for ids in self.problem.same_offset}

    @cached_property
    def single_pool_problem(self) -> Problem:
        """The equivalent problem with one pool, which has the same buffers in the same order."""
        problem, table = self.problem, self.problem.buffers
        turn = np.repeat(self.pool, np.diff(table.first)) * len(self.times)
        followers = {problem.index[name]: (ids[0], 0) for ids in problem.same_offset for name in ids[1:]}
        pages = {i: page for i, page in table.rules["no_cross"].items() if i not in followers}
        buffers = replace(
            table,
            start=column(np.searchsorted(self.times, table.start) + turn),
            end=column(np.searchsorted(self.times, table.end) + turn),
            pool_choice=column(np.zeros(len(table), dtype=np.int64)),
            pool_choices=((),),
            aliases={**table.aliases, **followers},
            rules={**table.rules, "forbid_pools": {}, "no_cross": pages},
        )
        # All pools are used equally, so the smallest pool limits each of them: the single pool gets its size.
        least = min(problem.pools, key=lambda pool: inf if pool.size is None else pool.size)
        return replace_fields(
            problem,
            buffers=buffers,
            pools=(least,),
            conflicts=tuple(filter(self._is_in_one_pool, problem.conflicts)),
            may_share=tuple(filter(self._may_share_in_every_pool, problem.may_share)),
            bank=tuple(part for use in problem.bank for part in self._uses_within_pools(use)),
            reuse=tuple(row for use in problem.reuse for row in self._prices_within_pools(use)),
            equal_use=False,
            same_offset=(),
        )

    def _is_in_one_pool(self, pair: Sequence[int | str]) -> bool:
        return len({int(self.pool[self.problem.index[name]]) for name in pair}) == 1

    def _may_share_in_every_pool(self, pair: Sequence[int | str]) -> bool:
        """Return True if the two buffers of a pair may share bytes after the conversion to one pool.

        Buffers that `same_offset` ties to the pair are tied in the single pool too. So in each pool, each tied pair
        must be allowed to share bytes, or have disjoint lifetimes.
        """
        first, second = map(self.problem.root_of, pair)
        if not self._is_in_one_pool(pair):
            return False
        return all(
            frozenset((one, other)) in self._sharing_pairs or not self._are_alive_together(one, other)
            for one, other in (
                (one, other)
                for one in self._offset_sets.get(first, (first,))
                for other in self._offset_sets.get(second, (second,))
                if self.pool[one] == self.pool[other]
            )
        )

    @cached_property
    def _offset_sets(self) -> dict[int, tuple[int, ...]]:
        sets = [tuple(self.problem.index[name] for name in ids) for ids in self.problem.same_offset]
        return {i: members for members in sets for i in members}

    @cached_property
    def _sharing_pairs(self) -> set[frozenset[int]]:
        return {frozenset(map(self.problem.root_of, pair)) for pair in self.problem.may_share}

    @cached_property
    def _lifetimes_by_buffer(self) -> dict[int, list[tuple[int, int]]]:
        lives: dict[int, list[tuple[int, int]]] = {}
        for i, row in enumerate(self.problem.buffers):
            lives.setdefault(self.problem.roots.get(i, (i, 0))[0], []).extend(row.intervals)
        return lives

    def _are_alive_together(self, one: int, other: int) -> bool:
        spans = product(self._lifetimes_by_buffer[one], self._lifetimes_by_buffer[other])
        return any(low < end and start < high for (low, high), (start, end) in spans)

    def _uses_within_pools(self, use: BankUse) -> list[BankUse]:
        pools: dict[int, list[int | str]] = {}
        for name in use.buffers:
            pools.setdefault(int(self.pool[self.problem.index[name]]), []).append(name)
        return [use.model_copy(update={"buffers": tuple(ids)}) for ids in pools.values() if len(ids) > 1]

    def _prices_within_pools(self, use: ReuseCost) -> list[ReuseCost]:
        pairs = tuple(filter(self._is_in_one_pool, use.pairs))
        return [use.model_copy(update={"pairs": pairs})] if pairs else []

    def start(self, plan: Plan | None) -> Plan | None:
        """Return a known plan as a plan of the single pool, or None if it has no placements."""
        if plan is None or len(plan.placements) == 0:
            return None
        kept = {name: offset for name, offset in self._old_offsets(plan).items() if offset is not None}
        ids, zeros = tuple(kept), column(np.zeros(len(kept), dtype=np.int64))
        placements = PlacementTable(ids, (self.single_pool_problem.pools[0].name,), zeros, column(list(kept.values())))
        return Plan(placements=placements, solver=plan.solver)

    def _old_offsets(self, plan: Plan) -> dict[int | str, int | None]:
        """Return the offsets in a known plan by buffer id; a `same_offset` set has one entry, under the set's first id.

        The offset is None if it cannot be kept, because a buffer was in another pool or the buffers of a set had
        different offsets.
        """
        rows, index, number = plan.placements, self.problem.index, self.problem.pool_index
        pools = [number.get(name) for name in rows.pool_names]
        first = {name: ids[0] for ids in self.problem.same_offset for name in ids}
        offsets: dict[int | str, int | None] = {}
        for name, pool, offset in zip(rows.ids, rows.pool.tolist(), rows.offset.tolist(), strict=True):
            if name in index and pools[pool] is not None:
                of, place = first.get(name, name), offset if pools[pool] == self.pool[index[name]] else None
                offsets[of] = place if offsets.get(of, place) == place else None
        return offsets

    def restore_kept_places(self, kept: KeptPlaces | None, old: Plan | None) -> KeptPlaces | None:
        """Return the facts on kept placements; buffers whose old offset has no equivalent are also counted as moved."""
        if kept is None or old is None:
            return kept
        one = self.single_pool_problem.buffers
        away = [self.problem.index[name] for name, offset in self._old_offsets(old).items() if offset is None]
        sizes = [int(one.size[i]) for i in away if i not in one.aliases and one.size[i] > 0]
        least = kept.least_moves + (sum(sizes) if kept.least == "bytes" else len(sizes))
        moved = {"moved": kept.moved + len(sizes), "moved_bytes": kept.moved_bytes + sum(sizes)}
        return kept.model_copy(update={**moved, "least_moves": least})

    def plan(self, one: Plan) -> Plan:
        """Convert a plan of the single pool to a plan of all pools, which get equal use and equal bounds."""
        problem, k = self.problem, len(self.problem.pools)
        names = tuple(pool.name for pool in problem.pools)
        bound = None if one.lower_bound is None else k * one.lower_bound
        # If costs come first, the pool's bound holds only for plans of least cost, so the plan's bound may be lower.
        least = next((use.lower_bound for use in one.pools if use.lower_bound is not None), one.lower_bound)
        facts: dict[str, object] = {
            "pools": tuple(
                PoolUse(name=pool.name, used=one.peak, lower_bound=least, size=pool.size) for pool in problem.pools
            ),
            "peak": None if one.peak is None else k * one.peak,
            "lower_bound": bound,
            "proof": self._witness_for_pools(one.proof),
            "explanation": self._witness_for_pools(one.explanation),
            "problem_hash": problem_hash(problem),
        }
        if one.shared:
            # Buffers that share bytes in the single pool may never be alive together in their pools, so filter pairs.
            facts["shared"] = tuple(
                pair for pair in one.shared if self._are_alive_together(*map(self.problem.root_of, pair))
            )
        if one.kept is not None and one.kept.peak_without_keeping is not None:
            least = k * one.kept.peak_without_keeping
            facts["kept"] = one.kept.model_copy(update={"peak_without_keeping": least})
        if len(one.placements):
            facts["placements"] = PlacementTable(problem.buffers.ids, names, self.pool, one.placements.offset)
        return one.model_copy(update=facts)

    def witness(self, named: Explanation) -> Explanation:
        """Convert a witness (time and buffers that prove a bound) from one of the pools to the single pool."""
        if named.time is None or not named.buffers:
            return named
        turn = int(self.pool[self.problem.index[named.buffers[0]]]) * len(self.times)
        return named.model_copy(update={"time": turn + int(np.searchsorted(self.times, named.time))})

    def explanation_for_pools(self, witness: Explanation) -> Explanation:
        """Convert an explanation about the single pool to an explanation about all pools.

        The size that would suffice is kept only if all other pools have at least that size.
        """
        reason = self._witness_for_pools(witness)
        assert reason is not None
        if witness.time is None:
            ids = (name for each in witness.buffers for name in self.members.get(each, {0: each}).values())
            reason = reason.model_copy(update={"buffers": tuple(ids)})
        sizes = [pool.size for pool in self.problem.pools if pool.name != self.single_pool_problem.pools[0].name]
        size = 0 if reason.would_do is None else reason.would_do.size
        is_enough = all(other is None or other >= size for other in sizes)
        return reason.model_copy(update={"stretch": None, **({} if is_enough else {"would_do": None})})

    def _witness_for_pools(self, witness: Named | None) -> Named | None:
        """Convert a witness (time and buffers that prove a bound) from the single pool to one of the pools.

        If two of the buffers may share bytes, the witness alone proves nothing, so the fields that state a proof are
        removed.
        """
        if witness is None:
            return None
        named = (
            self._timeless_witness(witness) if witness.time is None else self._witness_in_turn(witness, witness.time)
        )
        inside = set(map(self.problem.root_of, named.buffers))
        if not any(pair <= inside for pair in self._sharing_pairs):
            return named
        if isinstance(named, Explanation):
            return named.model_copy(update={"missing_bytes": None})
        return named.model_copy(update={"kind": "search", "time": None, "buffers": ()})

    def _witness_in_turn(self, witness: Named, time: int) -> Named:
        """Convert a witness of the single pool to a witness of the pool whose time range contains `time`."""
        q, at = divmod(time, len(self.times))
        ids = tuple(self.members.get(name, {}).get(q, name) for name in witness.buffers)
        named = witness.model_copy(update={"time": int(self.times[at]), "buffers": ids})
        if not isinstance(named, Explanation):
            return named
        turn = f"in {excerpt(self.problem.pools[q].name)}"
        if named.missing_bytes is None:
            message = named.message.replace(f"at time {time}", f"at time {self.times[at]} {turn}")
        else:
            message = f"{sentence(self.problem, named)}, {turn}"
        return named.model_copy(update={"message": message})

    def _timeless_witness(self, witness: Named) -> Named:
        """Return a witness without a time, with a weaker claim if its buffers represent `same_offset` sets.

        The buffers of such a set are in different pools, so the set proves nothing about a single pool.
        """
        if not self.members.keys() & set(witness.buffers):
            return witness
        if isinstance(witness, Explanation):
            return witness.model_copy(update={"missing_bytes": None})
        if witness.kind == "clique":
            return witness.model_copy(update={"kind": "search", "buffers": ()})
        index, roots = self.problem.index, self.problem.roots
        are_pinned = {roots.get(i, (i, 0))[0] for i in np.flatnonzero(self.problem.buffers.offset >= 0).tolist()}
        named = [name for ids in witness.buffers for name in self.members.get(ids, {}).values()]
        pinned = tuple(name for name in named if index[name] in are_pinned)[:1]
        return witness.model_copy(update={"buffers": pinned or witness.buffers})
