"""The search for a plan of buffers that move: choose pieces without offsets, then pack each pool at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from memplan.planner import __version__
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.model.buffer_table import column
from memplan.planner.model.moving import (
    MovingBuffer,
    Piece,
    is_whole_home,
    moves_of,
    moving_buffers,
    pieces_of,
    pieces_of_aliases,
    problem_of_pieces,
    whole_buffer_problem,
)
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import BufferCopy, Explanation, MovedBytes, Plan, PoolUse, Proof, Status, StopReason
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.moves.bounds import has_program, stepped_bound
from memplan.solvers.moves.capacities import Capacity, capacities
from memplan.solvers.moves.engine import PiecesEngine, Relaxation
from memplan.solvers.moves.greedy import greedy_pieces
from memplan.solvers.moves.prices import MovesChecker, ProvedBound
from memplan.solvers.moves.program import PiecesProgram
from memplan.solvers.portfolio.one_search import OneSearch
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.search.control import Control, ignore_report

_MARGINS = (0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2)
"""The parts of each limited pool that the program leaves free, one after another, until its pieces can be packed."""
_EXACT_COLUMNS = 4_000
"""The limit of columns up to which a set of pieces that cannot be packed is forbidden, instead of leaving room."""


class _Choice(NamedTuple):
    """The offsets of a plan's pieces, its copies and its cost."""

    offsets: dict[Piece, int]
    copies: list[BufferCopy]
    cost: float
    by: str


def solve_moves(problem: Problem, options: SolveOptions, control: Control, start: Plan | None = None) -> Plan:
    """Return the plan of a problem whose buffers may move; raises OptionError for an option that cannot be honoured.

    The plan costs at most what `start` costs, if that is a valid plan of the problem.
    """
    _refuse_options(options)
    rows = moving_buffers(problem)
    search = _Search(problem, rows, capacities(problem, rows), options, control)
    is_known = start is not None and start.cost is not None and not verify(problem, start)
    return search.run(_choice_of(problem, start) if is_known and start is not None else None)


def _choice_of(problem: Problem, plan: Plan) -> _Choice:
    offsets = dict(zip(pieces_of(problem, plan), plan.placements.offset.tolist(), strict=True))
    return _Choice(offsets, [*plan.copies], plan.cost or 0.0, plan.solver or "greedy")


def _refuse_options(options: SolveOptions) -> None:
    usual = SolveOptions.model_construct()
    if options.solver not in ("auto", "greedy"):
        rule = f"must be auto or greedy, the baseline, for a problem with moves, got {excerpt(options.solver)}"
        raise OptionError.from_rule("solver", rule)
    for name in ("profile", "deterministic", "accept"):
        if getattr(options, name) != getattr(usual, name):
            raise OptionError.from_rule(name, "must be left out for a problem with moves")


@dataclass
class _Search:
    """One search; `bound` is a lower bound on the cost, which is infinite if nothing fits."""

    problem: Problem
    rows: Sequence[MovingBuffer]
    limits: list[Capacity]
    options: SolveOptions
    control: Control
    bound: float = 0.0
    proved: float = 0.0
    """The part of the bound that needs no belief in the engine."""

    def run(self, known: _Choice | None = None) -> Plan:
        """Return the best plan, or a plan without placements; `known` is one that need not be found."""
        longest = max((row.end - row.start for row in self.rows), default=0)
        if not self.rows or moves_of(self.problem).lead > longest or len(self.problem.pools) == 1:
            return self._whole_plan()
        baseline = self._packed_baseline()
        self.bound = self.proved = sum(self._access_cost_bound(row) for row in self.rows)
        if baseline is not None and baseline.cost <= self.bound:
            return self._plan(baseline)
        has_engine = self.options.solver == "auto" and has_program(self.rows, self.limits)
        found = self._best_of_program(baseline) if has_engine else None
        if baseline is not None and (self.proved == 0 or not has_engine):
            self._keep_proved(stepped_bound(self.problem, self.rows, self.limits, baseline.cost, self.control))
        if self.bound == inf:
            return self._empty_plan("infeasible")
        choices = [each for each in (found, baseline, known) if each is not None]
        if not choices:
            return self._whole_plan(is_fallback=True)
        return self._plan(min(choices, key=lambda choice: choice.cost))

    def _access_cost_bound(self, row: MovingBuffer) -> float:
        """Return a lower bound on the cost of a buffer: that of its accesses in its cheapest pool."""
        pools = [self.problem.pools[q] for q in row.pools]
        price = min((pool.cost for pool in pools if pool.direct), default=0.0)
        return price * sum((use.read or 0) + (use.write or 0) for use in row.uses)

    def _best_of_program(self, baseline: _Choice | None) -> _Choice | None:
        """Return the cheapest pieces that can be packed."""
        forbidden: list[list[int]] = []
        margins = iter(_MARGINS)
        margin = next(margins)
        with PiecesEngine(self.control, self.options.seed) as engine:
            while not self.control.is_over:
                program = PiecesProgram(self.problem, self.rows, _lowered_limits(self.limits, margin))
                for terms in forbidden:
                    program.forbid(terms)
                relaxed = engine.relax(program)
                if margin == 0 and not forbidden and relaxed.worth:
                    most = program.largest_cost if baseline is None else baseline.cost
                    self._keep_proved(MovesChecker(self.problem).best(program, relaxed.worth, relaxed.cost, most))
                    if baseline is not None and baseline.cost <= self.bound:
                        return baseline
                found, failed = self._packed_solution(engine, program, relaxed, baseline, margin == 0)
                if found is not None or failed is None:
                    return found
                limit, size = self.limits[failed.pool], self.problem.pools[failed.pool].size
                if limit.most is None and size is not None:
                    # Its rules, such as banks, leave too little room for all, so pieces must be able to leave it.
                    self.limits[failed.pool] = limit._replace(most=limit.load(size))
                    forbidden.clear()
                    continue
                if margin == 0 and failed.is_proved and len(program.columns.cost) <= _EXACT_COLUMNS:
                    forbidden.append([*failed.terms])
                    continue
                if (following := next(margins, None)) is None:
                    return None
                margin = following
        return None

    def _keep_proved(self, proved: ProvedBound) -> None:
        if proved.cost > self.proved:
            self.proved = proved.cost
            self.bound = max(self.bound, self.proved)

    def _packed_solution(
        self, engine: PiecesEngine, program: PiecesProgram, relaxed: Relaxation, baseline: _Choice | None, is_full: bool
    ) -> "tuple[_Choice | None, _FailedPool | None]":
        """Return the cheapest solution of the program that is packed, and the failure of the last that is not."""
        best, failed = None, None
        start = np.zeros(0) if baseline is None else program.values_of([*baseline.offsets], baseline.copies)
        for values, bound in engine.solutions(program, relaxed, start, self.bound):
            if is_full and program.is_complete:
                self.bound = max(self.bound, bound)
            least = min((each.cost for each in (best, baseline) if each is not None), default=inf)
            if len(values) == 0 or (cost := program.cost_of(values)) >= least:
                continue
            pieces, copies = program.solution(values)
            offsets, failure = self._pack(pieces, 0.3)
            if failure is None:
                best = _Choice(offsets, copies, cost, "highs")
                if cost <= self.bound:
                    break
            else:
                failed = failure._replace(terms=program.columns_in(failure.pool, column(values > 0.5)))
        return (best if best is not None else baseline if failed is None else None), failed

    def _pack(self, pieces: list[Piece], share: float) -> "tuple[dict[Piece, int], _FailedPool | None]":
        """Return the offset of each piece, and the first pool that cannot be packed in a part of the time left."""
        offsets: dict[Piece, int] = {}
        for q in range(len(self.problem.pools)):
            mine = [piece for piece in pieces if piece.pool == q]
            mine += pieces_of_aliases(self.problem, mine)
            packed = self._pack_pool(q, mine, share)
            if len(packed.placements) == 0 and mine:
                return offsets, _FailedPool(q, packed.status == "infeasible")
            offsets.update(zip(mine, packed.placements.offset.tolist(), strict=True))
        return offsets, None

    def _pack_pool(self, q: int, pieces: list[Piece], share: float) -> Plan:
        part = problem_of_pieces(self.problem, pieces, q)
        seconds = max(0.05, self.control.remaining_s * share)
        due = self.control.deadline.bring_forward(self.control.remaining_s - seconds)
        control = replace(self.control, deadline=due, note=None, report=ignore_report)
        options = SolveOptions.model_construct(time_limit_s=seconds, seed=self.options.seed)
        if self.problem.pools[q].size is None:
            part = part.model_copy(update={"objective": "peak"})
            control = Control(cancelled=self.control.cancelled)
            return OneSearch(part, options, control, is_quick=True).finish().answer(deterministic=False)
        return OneSearch(part, options, control).finish().answer(deterministic=False)

    def _packed_baseline(self) -> _Choice | None:
        for margin in _MARGINS:
            found = greedy_pieces(self.problem, self.rows, _lowered_limits(self.limits, margin))
            if found is None or self.control.is_over:
                return None
            offsets, failed = self._pack(found.pieces, 0.1)
            if failed is None:
                choice = _Choice(offsets, found.copies, found.cost, "greedy")
                return None if verify(self.problem, self._plan(choice)) else choice
        return None

    def _whole_plan(self, is_fallback: bool = False) -> Plan:
        """Return the plan in which no buffer moves, as that of the problem without `moves`."""
        homes = [[q for q in row.pools if is_whole_home(self.problem, row, q)] for row in self.rows]
        if not all(homes):
            return self._empty_plan("unknown" if is_fallback else "infeasible")
        whole = whole_buffer_problem(self.problem)
        plan = OneSearch(whole, self.options, self.control).finish().answer(deterministic=False)
        update: dict[str, Any] = {"problem_hash": None, "findings": ()}
        table = plan.placements
        if len(table) == 0:
            return plan.model_copy(update=update) if not is_fallback else self._empty_plan("unknown")
        spans = [self.problem.buffers.intervals(self.problem.index[name])[0] for name in table.ids]
        times = (column([start for start, _ in spans]), column([end for _, end in spans]))
        update["placements"] = PlacementTable(table.ids, table.pool_names, table.pool, table.offset, *times)
        if is_fallback:
            least = min(self.bound, plan.cost or 0.0)
            update |= {"cost_lower_bound": least, "lower_bound": None, "proof": None}
            update |= _verdict(plan.cost or 0.0, least, "time_limit")
        return plan.model_copy(update=update)

    def _empty_plan(self, status: Status) -> Plan:
        message = "nothing fits, wherever buffers move" if status == "infeasible" else "no plan was found in time"
        reason: StopReason = "proved" if status == "infeasible" else "time_limit"
        return Plan(
            status=status,
            stop_reason=reason,
            explanation=Explanation(message=message),
            pools=tuple(PoolUse(name=pool.name, size=pool.size) for pool in self.problem.pools),
            wall_time_s=self.control.wall_time_s,
            version=__version__,
        )

    def _proof(self, cost: float) -> Proof | None:
        if cost > self.bound:
            return None
        return Proof(kind="search", by="multipliers") if cost <= self.proved else Proof(kind="engines", by="highs")

    def _plan(self, choice: _Choice) -> Plan:
        problem, offsets = self.problem, choice.offsets
        pieces = sorted(offsets, key=lambda piece: (piece.buffer, piece.start, piece.end, piece.pool))
        table = PlacementTable(
            tuple(problem.buffers.ids[piece.buffer] for piece in pieces),
            tuple(pool.name for pool in problem.pools),
            column([piece.pool for piece in pieces]),
            column([offsets[piece] for piece in pieces]),
            column([piece.start for piece in pieces]),
            column([piece.end for piece in pieces]),
        )
        size = problem.buffers.size
        used = [0] * len(problem.pools)
        for piece, offset in offsets.items():
            count = int(size[piece.buffer])
            used[piece.pool] = max(used[piece.pool], offset + count if count else 0)
        least = min(self.bound, choice.cost)
        plan = Plan(
            peak=sum(used),
            cost=choice.cost,
            cost_lower_bound=least,
            pools=tuple(
                PoolUse(name=pool.name, used=use, size=pool.size) for pool, use in zip(problem.pools, used, strict=True)
            ),
            placements=table,
            copies=tuple(choice.copies),
            solver=choice.by,
            proof=self._proof(choice.cost),
            wall_time_s=self.control.wall_time_s,
            version=__version__,
        )
        stopped: StopReason = "time_limit" if self.control.is_over else "work_limit"
        update = {"moved_bytes": _moved_bytes(problem, choice.copies), **_verdict(choice.cost, least, stopped)}
        return plan.model_copy(update=update)


class _FailedPool(NamedTuple):
    """A pool whose pieces cannot be packed, or could not be in time, and the columns that put them there."""

    pool: int
    is_proved: bool
    terms: Sequence[int] = ()


def _moved_bytes(problem: Problem, copies: Sequence[BufferCopy]) -> tuple[MovedBytes, ...]:
    """Return the bytes of copies by pair of pools; the verifier sums them separately."""
    pairs = [(copy.source, copy.to) for copy in copies]
    sizes = [int(problem.buffers.size[problem.index[copy.id]]) for copy in copies]
    return tuple(
        MovedBytes(
            source=pair[0], to=pair[1], bytes=sum(size for size, each in zip(sizes, pairs, strict=True) if each == pair)
        )
        for pair in dict.fromkeys(pairs)
    )


def _verdict(cost: float, least: float, stopped: StopReason) -> dict[str, Any]:
    if least >= cost:
        return {"status": "optimal", "stop_reason": "proved", "gap": 0.0}
    return {"status": "feasible", "stop_reason": stopped, "gap": cost / least - 1 if least else None}


def _lowered_limits(limits: Sequence[Capacity], margin: float) -> list[Capacity]:
    return [limit if limit.most is None else limit._replace(most=int(limit.most * (1 - margin))) for limit in limits]
