"""Re-planning of a changed problem: it keeps as many old places as possible, at a peak near the best one."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from importlib import import_module

import numpy as np

from memplan.planner.bounds.lower_bound import Bound
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.extras import is_installed, missing_package_text
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import total_cost
from memplan.planner.lint.problems import lint
from memplan.planner.model.buffer_table import ABSENT, I64, Bool, column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import KeptPlaces, Plan, StopReason
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.plan.replanning.fewest_moves import MOST_BUFFERS, EngineLimit, minimise_moves
from memplan.questions.plan.replanning.old_places import Least, OldPlaces, old_places
from memplan.questions.plan.replanning.questions import ends_for, limit_pools, pin_buffers, read_eps
from memplan.solvers.formulation.equal_use import EqualPools
from memplan.solvers.heuristics.ejection import ENDLESS, FEATURES, Ejector, Places, conflict_lists
from memplan.solvers.portfolio.one_search import HARD_STOP, SOONEST_S, OneSearch
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.search import to_plan
from memplan.solvers.search.control import NEVER, Control, Deadline
from memplan.solvers.search.meanwhile import polling_flag
from memplan.solvers.search.result import SolveResult

DEFAULT_EPS = 0.02
_BASE_SHARE, _PINS_S, _EJECTION_S = 0.3, 0.6, 4.0
"""The share of the time for the best peak, and the maximum seconds for a search with pins and for ejection."""
_TURNS_PER_S = 100
"""The ejection turns allowed per second of the time limit, if work is counted."""
_NEIGHBOURHOODS, _AROUND = 6, 120
"""The number of neighbourhoods searched in a large instance, and the buffers in each in addition to moved ones."""


def replan(
    problem: Problem,
    old_plan: Plan | None,
    *,
    eps: str | float = DEFAULT_EPS,
    least: Least = "buffers",
    time_limit_s: float | None = None,
    options: SolveOptions | None = None,
    control: Control = Control(),
) -> Plan:
    """Plan a problem so that as many buffers as possible stay where an old plan places them; `kept` counts them.

    The peak of each pool is at most (1 + eps) times its peak in the best plan found; eps is a number or a percentage
    such as "2%". `least` chooses whether to minimise the number of moved buffers or their bytes. The old plan may be of
    another problem: buffers whose old places are no longer legal move. A buffer without an old place gets its `hint`,
    if no other buffer must move for that; without an old plan, the hints are the old places. The `options` (a solver,
    an accepted quality, a seed) apply to the search for the best peak; by default, their time limit is used. With the
    quality `fit`, pools may be filled to their ends. With deterministic options, the search for few moves also counts
    its work. Raises OptionError.
    """
    chosen = options or SolveOptions()
    if time_limit_s is not None:
        chosen = chosen.model_copy(update={"time_limit_s": time_limit_s})
    part = read_eps(eps)
    if least not in ("buffers", "bytes"):
        raise OptionError(f"least: must be buffers or bytes, got {excerpt(least)}")
    if chosen.profile not in (None, "size"):
        raise OptionError(f"profile: must be 'size' if an old plan is kept, got {excerpt(chosen.profile)}")
    findings = {"findings": lint(problem)}
    if problem.equal_use:
        pools = EqualPools(problem)
        one = replan(
            pools.single_pool_problem, pools.start(old_plan), eps=eps, least=least, options=chosen, control=control
        )
        one = one.model_copy(update={"kept": pools.restore_kept_places(one.kept, old_plan)})
        return pools.plan(one).model_copy(update=findings)
    is_free = chosen.deterministic and not control.has_deadline
    limit_s = max(SOONEST_S, HARD_STOP * chosen.time_limit_s) if is_free else chosen.time_limit_s
    deadline = control.deadline if control.has_deadline else Deadline.from_limit(limit_s)
    if control.note is not None and old_plan is not None and not verify(problem, Plan(placements=old_plan.placements)):
        control.note(_kept_plan(problem, old_plan, part, least, chosen).model_copy(update=findings))
    # Spend only three tenths of the time on the best peak: a worse peak raises the limit and keeps more places.
    part_s = _BASE_SHARE * chosen.time_limit_s if is_free else max(0.05, deadline.remaining_s * _BASE_SHARE)
    half = replace(control, deadline=NEVER if is_free else deadline.limit_to(part_s))
    base = OneSearch(problem, chosen.model_copy(update={"time_limit_s": part_s}), half, start=old_plan).finish()
    if not len(base.plan.placements) or base.bound is None:
        return base.answer(chosen.deterministic).model_copy(update=findings)
    ends = ends_for(problem, base.plan, part, any_end=chosen.accept == "fit")
    question = limit_pools(problem, ends, base.plan)
    old = old_places(question, old_plan)
    table = problem.buffers
    wished = old_places(question, old_plan, has_hints=True) if old_plan and table.has_any(table.hint) else old
    run = _Replan(problem, question, base, base.bound, old, wished, part, least, deadline, control, chosen).run
    return run().model_copy(update=findings)


def _kept_plan(problem: Problem, plan: Plan, eps: Fraction, least: Least, options: SolveOptions) -> Plan:
    control = Control(Deadline.from_limit(0.0))
    control.cancelled.set()
    base = OneSearch(problem, options, control, start=plan).finish()
    assert base.bound is not None
    old = old_places(problem, plan)
    return _Replan(problem, problem, base, base.bound, old, old, eps, least, control.deadline, control, options).run()


@dataclass(eq=False)
class _Replan:
    """A running re-plan: the best placements so far, the weight of their moves, and a lower bound on that weight.

    `wished` has the old places and, for new buffers, the hints. Of plans with equal weight, the plan that meets more
    wishes is better.
    """

    problem: Problem
    question: Problem
    base: SolveResult
    base_bound: Bound
    old: OldPlaces
    wished: OldPlaces
    eps: Fraction
    least: Least
    deadline: Deadline
    control: Control
    options: SolveOptions
    best: PlacementTable = field(init=False)
    weight: int = field(init=False)
    by: str = field(init=False)
    bound: int = 0
    has_pins: bool = False
    not_tried: str | None = None

    def __post_init__(self) -> None:
        """Compute the weights of moves, and start with the plan of the search for the best peak."""
        self.weights = self.old.weights(self.least)
        self.best, self.weight = self.base.plan.placements, self._move_weight(self.base.plan.placements)
        self.by = self.base.plan.solver or "base"
        self.is_free = self.options.deterministic and not self.control.has_deadline

    @property
    def is_over(self) -> bool:
        """True if the time is over or the re-plan was cancelled."""
        return self.deadline.remaining_s <= 0.02 or self.control.cancelled.is_set()

    @property
    def is_done(self) -> bool:
        """True if the weight of moves is proved to be minimal, or the re-plan is over."""
        return self.weight <= self.bound or self.is_over

    def _step_deadline(self, limit_s: float) -> Deadline:
        """Return the deadline of a stage: in `limit_s` seconds, or the re-plan's end if that is sooner.

        If work is counted, only the end of the re-plan counts.
        """
        return self.deadline if self.options.deterministic else self.deadline.limit_to(limit_s)

    def run(self) -> Plan:
        """Run the methods of the re-plan (keep all, ejection, CP-SAT) in order, and return the best plan found."""
        stays, cover = self.old.keepable_places(self.least)
        self.bound = self._forced_weight + cover.bound
        if self.wished is not self.old and self._missed_wishes(self.best) and not self.is_over:
            self._plan_with_pins(
                self.wished.keepable_places(self.least)[0] & (stays | (self.old.offset == ABSENT)), self.wished
            )
        if not self.is_done:
            self._plan_with_pins(stays, self.old)
        # Ejection ignores some constraint kinds, so if it fails, plan again with fewer pins.
        if not self.is_done and not self._improve_by_ejection(stays) and not self.has_pins:
            self._plan_with_pins(stays & ~self.old.concurrent_with_moved(stays), self.old)
        if not self.is_done:
            self._search_fewest_moves()
        return self._final_plan()

    def _move_weight(self, placements: PlacementTable) -> int:
        return int(self.weights[self.old.moved_mask(placements)].sum())

    def _offer(self, placements: PlacementTable, by: str) -> None:
        weight = self._move_weight(placements)
        is_better = (weight, self._missed_wishes(placements)) < (self.weight, self._missed_wishes(self.best))
        if is_better and not verify(self.question, Plan(placements=placements)):
            self.best, self.weight, self.by = placements, weight, by

    def _missed_wishes(self, placements: PlacementTable) -> int:
        return 0 if self.wished is self.old else int(self.wished.moved_mask(placements).sum())

    def _plan_with_pins(self, stays: Bool, places: OldPlaces) -> None:
        options = self.options.model_copy(update={"accept": "fit", "solver": "auto", "time_limit_s": _PINS_S})
        control = Control(NEVER if self.is_free else self._step_deadline(_PINS_S), self.control.cancelled)
        plan = OneSearch(pin_buffers(self.question, places, stays), options, control).finish().plan
        if len(plan.placements):
            self._offer(plan.placements, "pins")
            self.has_pins = True

    @cached_property
    def _forced_weight(self) -> int:
        return sum(int(self.weights[i]) for i in self.old.must_move)

    @cached_property
    def _legal_offsets(self) -> I64:
        legal = self.old.offset.copy()
        legal[list(self.old.must_move)] = ABSENT
        return column(legal)

    @cached_property
    def _instance(self) -> Instance:
        return compile_problem(
            self.question,
            column(np.concatenate((self._legal_offsets[self._legal_offsets != ABSENT], self.best.offset))),
        )

    @cached_property
    def _homes(self) -> Places:
        here = self._legal_offsets[self._instance.source]
        offset = np.where(here == ABSENT, ABSENT, here // self._instance.unit)
        return Places(np.maximum(self.old.pool[self._instance.source], 0), column(offset))

    def _instance_places(self, placements: PlacementTable) -> Places:
        source, unit = self._instance.source, self._instance.unit
        names = [pool.name for pool in self.question.pools]
        pools = np.array([names.index(name) for name in placements.pool_names], dtype=np.int64)
        return Places(pools[placements.pool[source]], placements.offset[source] // unit)

    def _offer_places(self, places: Places, by: str) -> None:
        self._offer(lift(self.question, self._instance, column(places.pool), column(places.offset)), by)

    def _improve_by_ejection(self, stays: Bool) -> bool:
        """Improve the placements by ejection; return False if ejection ignores a constraint kind of the problem."""
        instance = self._instance
        if not instance.features <= FEATURES or not instance.is_small_numbered or len(instance) == 0:
            return False
        near = conflict_lists(instance)
        if near is None:
            return False
        homes, weights = self._homes, column(self.weights[instance.source])
        end = self._step_deadline(min(_EJECTION_S, max(0.1, self.deadline.remaining_s * 0.6)))
        with polling_flag(lambda: self.is_done or end.remaining_s <= 0) as flag:
            ejector = Ejector(instance, homes.pool, homes.offset, weights, near, self.options.seed, flag)
            turns = int(_TURNS_PER_S * self.options.time_limit_s) if self.options.deterministic else ENDLESS
            # A search with pins already starts from the old plan, so another first placement is not needed.
            first = None if self.has_pins else ejector.first_placement(stays[instance.source], turns)
            first = first or self._instance_places(self.best)
            self._offer_places(first, "ejection")
            *_, last = (first, *ejector.improve(first, self.bound - self._forced_weight, turns))
            self._offer_places(last, "ejection")
        return True

    def _search_fewest_moves(self) -> None:
        """Search for the fewest moves with CP-SAT; in large instances, only in neighbourhoods of moved buffers."""
        if not is_installed("ortools"):
            self.not_tried = f"the search for the fewest {missing_package_text('ortools')}"
            return
        try:
            import_module("ortools.sat.python.cp_model")
        # highspy has already loaded another version of HiGHS, so ortools cannot be loaded.
        except ImportError as error:
            self.not_tried = f"the search for the fewest needs ortools, which cannot be loaded beside highspy: {error}"
            return
        limit_s = self.options.time_limit_s if self.options.deterministic else self.deadline.remaining_s
        if len(self._instance) <= MOST_BUFFERS:
            self._minimise_by_engine(None, limit_s)
            return
        for k in range(_NEIGHBOURHOODS):
            if self.is_done:
                return
            self._minimise_by_engine(self._neighbourhood(k), min(_PINS_S, limit_s))

    def _minimise_by_engine(self, free: I64 | None, limit_s: float) -> None:
        """Minimise moves of the buffers `free` (None: all) with CP-SAT; if all are free, also raise the bound."""
        instance = self._instance
        weights = column(self.weights[instance.source])
        with polling_flag(lambda: self.is_over) as flag:
            start = self._instance_places(self.best)
            limit = EngineLimit(limit_s, self.options.deterministic, self.options.seed)
            fewest = minimise_moves(instance, self._homes, weights, start, limit=limit, flag=flag, free=free)
        if fewest.places is not None:
            self._offer_places(fewest.places, "cp-sat")
        # The bound of a neighbourhood is valid only for its free buffers, so it cannot bound the whole instance.
        if free is None:
            self.bound = max(self.bound, min(self.weight, self._forced_weight + fewest.bound))

    def _neighbourhood(self, k: int) -> I64:
        instance = self._instance
        away = np.flatnonzero(self.old.moved_mask(self.best)[instance.source])
        middle = (instance.start[instance.first[:-1].clip(max=len(instance.start) - 1)]).astype(np.float64)
        centre = middle[away[k % len(away)]] if len(away) else 0.0
        # Moved buffers matter most, so sort all of them before the buffers that are nearest in time.
        near = np.argsort(np.abs(middle - centre) - 1e9 * np.isin(np.arange(len(instance)), away), kind="stable")
        return column(near[: len(away) + _AROUND])

    def _final_plan(self) -> Plan:
        """Return the plan with the best placements; its bound and proof come from the search for the best peak."""
        cost = None
        if self.problem.objective == "cost":
            exact = compile_problem(self.problem, self.best.offset)
            places = self.best.pool[exact.source], column(self.best.offset[exact.source] // exact.unit)
            cost = total_cost(exact, self._pool_numbers(places[0]), places[1])
        plan = to_plan.make_plan(self.problem, compile_problem(self.problem), self.base_bound, self.best, self.by, cost)
        moved = self.old.moved_mask(self.best)
        kept_places = KeptPlaces(
            eps=float(self.eps),
            least=self.least,
            stayed=int((self.old.is_counted & ~moved).sum()),
            moved=int(moved.sum()),
            moved_bytes=int(self.problem.buffers.size[moved].sum()),
            least_moves=min(self.bound, self.weight),
            proved=self.weight <= self.bound and self._has_best_ends,
            peak_without_keeping=self.base.plan.peak,
            not_tried=self.not_tried,
        )
        result = replace(
            self.base,
            plan=plan.model_copy(update={"kept": kept_places}),
            stop_reason=self._stop_reason(kept_places.proved),
            elapsed_s=self.deadline.passed_s,
        )
        return result.answer(self.options.deterministic)

    @property
    def _has_best_ends(self) -> bool:
        if self.options.accept == "fit" or self.problem.objective == "fit":
            return all(pool.size is not None for pool in self.problem.pools)
        return self.base.plan.status == "optimal"

    def _stop_reason(self, is_proved: bool) -> StopReason:
        early = self.base.stop_reason
        if self.options.deterministic and (early == "time_limit" or early == "cancelled"):
            return early
        if is_proved:
            return "proved"
        if self.control.cancelled.is_set():
            return "cancelled"
        return "time_limit" if self.is_over else "work_limit"

    def _pool_numbers(self, pool: I64) -> I64:
        names = [each.name for each in self.problem.pools]
        return column(np.array([names.index(name) for name in self.best.pool_names], dtype=np.int64)[pool])
