"""The part of the verifier that recomputes a bound from the buffers that its proof names.

Proofs by search or by engines are not repeated. For several pools, or for costs, a bound does not follow from one live
set; then the named buffers are checked, and the claimed numbers are compared with each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from math import gcd, lcm

import numpy as np

from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.plan import Plan, ProofKind
from memplan.planner.model.problem import ADDRESS_SPACE, Pool, Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.tie_rules import pairs_kept_clear
from memplan.planner.verify.violation import Violation, false_claim

_LIFETIMES_COMPARED = 4_000
"""The maximum number of lifetimes in a clique that are compared pairwise."""
_JOINED_AT_MOST = 1_000
"""The maximum size of a clique whose clearances are summed; the bounds have the same limit."""

Congruence = tuple[int, int]
"""A pair (m, r), which says that offsets are congruent to r modulo m."""


def claims_of_proof(problem: Problem, plan: Plan, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield a violation for each false statement in a plan's proof, and for a bound that the proof does not imply."""
    proof = plan.proof
    if proof is None or proof.kind in ("search", "engines"):
        return
    if unknown := [name for name in proof.buffers if name not in placed.row]:
        yield false_claim("proof.buffers", "buffers of the problem", unknown)
        return
    named = placed.roots_of(proof.buffers)
    wrong = list(_false_witnesses(problem, proof.kind, proof.time, placed, named, "proof"))
    yield from wrong
    if wrong or plan.lower_bound is None or len(problem.pools) > 1 or problem.objective == "cost":
        return
    least = _min_end(problem, proof.kind, placed, named)
    if least < plan.lower_bound:
        yield false_claim("lower_bound", f"at most {least}, which the proof gives", plan.lower_bound)


def claims_of_explanation(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Yield a violation for each false statement in the explanation of a plan without placements.

    If it states the number of missing bytes in the only pool, the named buffers must exceed that pool.
    """
    why, placed = plan.explanation, PlacedBuffers.from_placements(problem, plan.placements)
    if why is None:
        return
    if why.pool is not None and why.pool not in (pool.name for pool in problem.pools):
        yield false_claim("explanation.pool", "a pool of the problem", why.pool)
    if unknown := [name for name in why.buffers if name not in placed.row]:
        yield false_claim("explanation.buffers", "buffers of the problem", unknown)
    if unknown or plan.status != "infeasible" or why.missing_bytes is None:
        return
    kind: ProofKind = "clique" if why.time is None else "alignment"
    named = placed.roots_of(why.buffers)
    wrong = list(_false_witnesses(problem, kind, why.time, placed, named, "explanation"))
    yield from wrong
    if wrong or len(problem.pools) > 1:
        return
    size = problem.pools[0].size
    if _min_end(problem, kind, placed, named) <= (ADDRESS_SPACE - 1 if size is None else size):
        yield false_claim("explanation.buffers", "buffers that do not fit the pool", why.buffers)


def _false_witnesses(
    problem: Problem, kind: ProofKind, time: int | None, placed: PlacedBuffers, named: I64, claim: str
) -> Iterator[Violation]:
    """Yield a violation for each fault of the `named` buffers as the witness of a bound, such as shared bytes."""
    ids, names = problem.buffers.ids, [problem.buffers.ids[i] for i in named.tolist()]
    if kind == "capacity":
        yield false_claim(f"{claim}.kind", "the kind of a lower bound", kind)
    if kind == "empty" and names:
        yield false_claim(f"{claim}.buffers", "none", names)
    if kind in ("pinned", "largest-buffer") and len(named) != 1:
        yield false_claim(f"{claim}.buffers", "one buffer", names)
    elif kind == "pinned" and not _pinned_offsets(problem, placed, int(named[0])):
        yield false_claim(f"{claim}.buffers", "a pinned buffer", names)
    if kind in ("live-set", "alignment"):
        if time is None:
            yield false_claim(f"{claim}.time", "the time step of the live set", None)
            return
        is_now = (problem.buffers.start <= time) & (time < problem.buffers.end)
        if dead := [ids[i] for i in named[~np.isin(named, placed.lifetime_root[is_now])].tolist()]:
            yield false_claim(f"{claim}.buffers", f"buffers that are alive at {time}", dead)
    if kind == "clique" and (apart := _unseparated_pair(problem, placed, named)):
        yield false_claim(f"{claim}.buffers", "buffers that conflict pairwise", [ids[i] for i in apart])
    both = set(named.tolist()) if problem.may_share else ()
    for pair in problem.may_share:
        if all(placed.root_of(name) in both for name in pair):
            yield false_claim(f"{claim}.buffers", "buffers that may not share bytes", pair)
            return


def _unseparated_pair(problem: Problem, placed: PlacedBuffers, named: I64) -> tuple[int, ...]:
    """Return two named buffers that no rule forces apart; empty if there are none.

    Overlapping lifetimes, `conflicts` and clearances force buffers apart. Very many buffers are not compared.
    """
    table = problem.buffers
    rows = np.flatnonzero(np.isin(placed.lifetime_root, named))
    # For a forged plan, the table of all pairs could exhaust memory, so accept larger witnesses unchecked.
    if len(rows) > _LIFETIMES_COMPARED or len(named) > _LIFETIMES_COMPARED:
        return ()
    apart = np.eye(len(named), dtype=np.bool_)
    buffer, start, end = np.searchsorted(named, placed.lifetime_root[rows]), table.start[rows], table.end[rows]
    a, b = np.nonzero((start[:, None] < end[None, :]) & (start[None, :] < end[:, None]))
    apart[buffer[a], buffer[b]] = True
    position = {i: k for k, i in enumerate(named.tolist())}
    clear = ((a, b) for a, b, *_ in pairs_kept_clear(problem, placed))
    for pair in chain(problem.conflicts, clear):
        i, j = (position.get(placed.root_of(name)) for name in pair)
        if i is not None and j is not None:
            apart[i, j] = apart[j, i] = True
    pairs = np.argwhere(~apart)
    return tuple(named[pairs[0]].tolist()) if len(pairs) else ()


def _min_end(problem: Problem, kind: ProofKind, placed: PlacedBuffers, named: I64) -> int:
    """Return a lower bound, in bytes, on the only pool's end, from the disjoint buffers that a proof names."""
    size = problem.buffers.size
    if kind == "pinned":
        return _pinned_offsets(problem, placed, int(named[0]))[0] + int(size[named[0]])
    if kind == "largest-buffer":
        return _lowest_offset(problem, placed, int(named[0])) + int(size[named[0]])
    sizes = _covered_bytes(problem, placed, named) if problem.buffers.rules["relative"] else size[named].tolist()
    grids = [(1, 0)]
    if kind in ("alignment", "clique") and not problem.buffers.rules["relative"] and len(named):
        grids += _common_grids(problem, placed, named)
    ends = [_least_end(sizes, step, shift, problem.pools[0]) for step, shift in grids]
    if kind == "clique" and len(named):
        # Clearance gaps may overlap reserved ranges, so adding both would count bytes twice.
        bare = Pool(name="bare")
        ends += [_least_end(sizes, *grid, bare) + _clearance_bytes(problem, placed, named, grid[0]) for grid in grids]
    return max(ends)


def _clearance_bytes(problem: Problem, placed: PlacedBuffers, named: I64, step: int) -> int:
    """Return a lower bound on the free bytes that clearances force between disjoint buffers.

    Each clearance is rounded down to a multiple of `step`. The bound is the weight of a minimum spanning tree (Kruskal,
    1956).
    """
    inside = set(named.tolist())
    free: dict[frozenset[int], int] = {}
    for _, _, i, j, clearance in pairs_kept_clear(problem, placed):
        pair = frozenset((i, j))
        if pair <= inside:
            free[pair] = max(free.get(pair, 0), clearance // step * step)
    if not free or len(inside) > _JOINED_AT_MOST:
        return 0
    group = {i: i for i in inside}
    total = 0
    edges = ((free.get(frozenset(pair), 0), pair) for pair in combinations(sorted(inside), 2))
    for clearance, (i, j) in sorted(edges):
        mine, other = group[i], group[j]
        if mine != other:
            total += clearance
            group = {k: mine if name == other else name for k, name in group.items()}
    return total


def _covered_bytes(problem: Problem, placed: PlacedBuffers, named: I64) -> list[int]:
    """Return, for each rigid group (fixed distances), the number of bytes that the named members cover."""
    group, above = (values[named].tolist() for values in placed.group)
    rows = sorted(zip(group, above, problem.buffers.size[named].tolist(), strict=True))
    covered: dict[int, int] = {}
    reached: dict[int, int] = {}
    for name, low, size in rows:
        high = max(low + size, reached.get(name, low))
        covered[name] = covered.get(name, 0) + high - max(low, reached.get(name, low))
        reached[name] = high
    return list(covered.values())


def _least_end(sizes: Sequence[int], step: int, shift: int, pool: Pool) -> int:
    """Return the smallest end of disjoint buffers at offsets `shift` + k * `step`, outside a pool's reserved ranges."""
    rounded = [-(-size // step) * step for size in sizes]
    amount = sum(rounded)
    if amount == 0:
        return 0
    at = 0
    for low, high in sorted((low, low + size) for low, size in pool.reserved if size > 0):
        low, high = (max(0, -(-(offset - shift) // step) * step) for offset in (low, high))
        if amount <= low - at:
            break
        amount -= max(0, low - at)
        at = max(at, high)
    # The topmost buffer need not use its rounding waste, so subtract the largest rounding waste.
    return shift + at + amount - max(size - own for size, own in zip(rounded, sizes, strict=True))


def _common_grids(problem: Problem, placed: PlacedBuffers, named: I64) -> Iterator[Congruence]:
    """Yield each (step, shift) such that all named buffers' offsets are shift modulo step; larger steps first."""
    rules = _congruences(problem, placed, named)
    common, rest = next(iter(rules))
    for step, start in rules:
        common = gcd(common, step, start - rest)
    steps = {
        common,
        *(gcd(common, lcm(step, problem.pools[0].alignment)) for step in set(problem.buffers.alignment.tolist())),
    }
    for step in sorted(steps - {1}, reverse=True):
        yield step, rest % step


def _congruences(problem: Problem, placed: PlacedBuffers, named: I64) -> set[Congruence]:
    table, pool = problem.buffers, problem.pools[0]
    if table.rules["relative"] or table.aliases or table.rules["offset_mod"]:
        return {congruence(rules) for rules in rules_of(problem, placed, named).values()}
    steps = {lcm(step, pool.alignment) for step in table.alignment[named].tolist()}
    return {(step, -pool.base_address % step) for step in steps}


def rules_of(problem: Problem, placed: PlacedBuffers, named: I64) -> dict[int, list[Congruence]]:
    """Return all congruences (modulus, remainder) that the offset of each named buffer must obey.

    The congruences of buffers at a fixed distance are included, shifted by this distance.
    """
    table, (group, above) = problem.buffers, placed.group
    of_group = {int(group[i]): int(i) for i in named}
    rules: dict[int, list[Congruence]] = {int(i): [] for i in named}
    for j in np.flatnonzero(np.isin(group, group[named])).tolist():
        i = of_group[int(group[j])]
        distance, pool = int(above[j]) - int(above[i]), problem.pools[int(placed.pool[j])]
        rules[i].append((lcm(int(table.alignment[j]), pool.alignment), -pool.base_address - distance))
        if j in table.rules["offset_mod"]:
            modulus, remainder = table.rules["offset_mod"][j]
            rules[i].append((modulus, remainder - distance))
    return rules


def congruence(rules: Iterable[Congruence]) -> Congruence:
    """Return the single congruence (modulus, remainder) equivalent to several ones, which must be consistent."""
    step, rest = 1, 0
    for modulus, remainder in rules:
        shared = gcd(step, modulus)
        turns = (remainder - rest) // shared * pow(step // shared, -1, modulus // shared)
        rest += step * (turns % (modulus // shared))
        step = lcm(step, modulus)
    return step, rest % step


def _pinned_offsets(problem: Problem, placed: PlacedBuffers, i: int) -> list[int]:
    group, above = placed.group
    tied = np.flatnonzero((group == group[i]) & (problem.buffers.offset != ABSENT)).tolist()
    return [int(problem.buffers.offset[j]) - int(above[j]) + int(above[i]) for j in tied]


def _lowest_offset(problem: Problem, placed: PlacedBuffers, i: int) -> int:
    group, above = placed.group
    lowest = int(above[i]) - int(above[group == group[i]].min())
    step, rest = congruence(rules_of(problem, placed, np.array([i]))[i])
    return lowest + (rest - lowest) % step
