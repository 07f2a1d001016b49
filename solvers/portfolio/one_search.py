"""One search for a problem's objective: it has one deadline and one result, which the caller must verify."""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memplan.planner.errors import InvalidPlanError, SolverFailedError
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import FEW, Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.plan import Plan, StopReason
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner
from memplan.solvers.heuristics import greedy
from memplan.solvers.portfolio import registry, stages
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.watchdog import watched
from memplan.solvers.reference import table
from memplan.solvers.search import to_plan
from memplan.solvers.search.control import Control, ignore_report
from memplan.solvers.search.incumbent import Accept, Search
from memplan.solvers.search.result import SolveResult

if TYPE_CHECKING:
    from logging import Logger

_WORK_PER_S = 50_000
"""The units of work that stand for one second of a deterministic search's limit; see Search.work_limit."""
HARD_STOP, SOONEST_S = 10, 30.0
"""The clock limit of a deterministic search without a caller's deadline: a multiple of its limit, at least 30 s."""
_VERIFY_S = 3e-6
"""The seconds reserved for verifying and writing one placement."""
_VERIFY_CONFLICT_S = 1e-6
"""The seconds reserved for verifying one explicit conflict."""
MOST_OF_FIRST = 20_000
"""The limit of buffers for which a quick plan, which takes about 0.1 s, is made even after the deadline.

For more buffers, a sweep is tried before the search, and the quick plan may take half of the time that is left for
verifying and writing it.
"""
_JUDGE, _JUDGED_NODES = "few", 500
"""The solver that checks proofs of other solvers about few buffers, and the limit of its nodes."""
_TRUSTED = frozenset(row.name for row in registry.SOLVERS if row.is_trusted)


def answer_time_s(problem: Problem) -> float:
    """Return the seconds that a search leaves for verifying and writing its plan."""
    return _VERIFY_S * len(problem.buffers) + _VERIFY_CONFLICT_S * len(problem.conflicts)


class OneSearch:
    """One search for a plan, in two steps: `begin` runs the quick (greedy) orders, and `finish` the other solvers.

    Between the steps, the search's time runs on. The profile in the options is ignored. `start` and `is_quick` are as
    in `solve`. `instance` is the compiled problem or the core's result for it, if available. `planner` replaces the
    solver of the options. Raises OptionError for a wrong option or for a solver that cannot solve the problem.
    """

    def __init__(
        self,
        problem: Problem,
        options: SolveOptions,
        control: Control = Control(),
        *,
        start: Plan | None = None,
        is_quick: bool = False,
        instance: Instance | greedy.PlainStart | None = None,
        planner: ReferencePlanner | None = None,
    ) -> None:
        """Set the deadline; run the core on a plain problem, or compile the problem; and prepare the search."""
        self._problem, self._options, self._control, self._start = problem, options, control, start
        is_free = options.deterministic and not control.has_deadline
        limit_s = max(SOONEST_S, HARD_STOP * options.time_limit_s) if is_free else options.time_limit_s
        self._deadline = control.deadline if control.has_deadline else Control.from_limit(limit_s).deadline
        target = options.target()
        self._planner = planner or (None if options.solver == "auto" else table.find(options.solver))
        ends = self._deadline.bring_forward(answer_time_s(problem)).at
        # A deterministic search counts only the work of its stages, so skip the exact search that precedes them.
        is_short = is_quick or start is not None or target is not None or options.deterministic
        self._plain = None
        begun, instance = (instance, instance.instance) if isinstance(instance, greedy.PlainStart) else (None, instance)
        if is_quick and begun is not None and self._planner is None and options.solver == "auto":
            self._plain = begun
        elif self._planner is None and options.solver in ("auto", "greedy"):
            seed = None if is_short or problem.objective == "fit" else options.seed
            self._plain = greedy.plain_start(problem, instance, ends, is_all=options.solver == "greedy", seed=seed)
        if instance is None:
            instance = compile_problem(problem) if self._plain is None else self._plain.instance
        self._instance, self._is_quick = instance, is_quick
        self._end: StopReason = "work_limit"
        # The first call of the core solves most plain problems, so compute their stages only when needed.
        self._stages = [] if self._planner or self._plain else self._solver_stages()
        self._failures: list[stages.Failure] = []
        self._search = Search(
            self._instance,
            deadline=ends,
            seed=options.seed,
            deterministic=options.deterministic,
            work_limit=max(1, int(options.time_limit_s * _WORK_PER_S)) if options.deterministic else 2**62,
            accept=Accept() if problem.objective == "fit" and target is None else target,
            on_progress=None if control.report is ignore_report else control.report,
            trusted=_TRUSTED,
            started=self._deadline.began,
            begun=self._plain.exact if self._plain else None,
            known=self._plain.proof if self._plain else None,
            verdict=self._verdict,
        )
        self._has_begun = False

    def _solver_stages(self) -> list[list[registry.SolverRow]]:
        wanted = stages.stages_of_solver(self._instance, self._options.solver)
        if self._control.is_alone:
            wanted = [[], wanted[-1]]
        if not self._is_quick:
            return wanted
        # A quick solve has no time for several solvers and their threads, so keep the first solver of each stage.
        rows = [[row for row in stage if not row.is_isolated][:1] for stage in wanted]
        self._end = "work_limit" if rows == wanted else "time_limit"
        return rows

    def begin(self) -> SolveResult | None:
        """Run the quick orders, and return the result if the search is over, or else None."""
        self._has_begun = True
        if self._planner is not None:
            with watched(self._search, self._control.cancelled):
                from memplan.solvers.reference import checked

                placements = checked.reference_plan(self._problem, self._instance, self._planner, self._search)
                return replace(placements, elapsed_s=self._deadline.passed_s)
        with suppress(InvalidPlanError):  # The search records each refused plan.
            if self._start is not None:
                self._offer(self._start)
            if len(self._instance) == 0 and not self._instance.unplaceable:
                self._search.offer(self._instance.pin, self._instance.pin, "empty")
            self._offer_swept()
        if self._plain is None:
            self._run_stages(self._stages[:1])
        elif not self._control.cancelled.is_set():
            self._offer_plain(self._plain)
        self._offer_first()
        return self._result() if self._search.is_over else None

    def _verdict(self, pool: I64, offset: I64) -> str | None:
        """Return why the verifier refuses an assignment of the instance; None for a valid plan."""
        from memplan.planner.verify.verifier import verify

        wrong = verify(
            self._problem, Plan.model_construct(placements=lift(self._problem, self._instance, pool, offset))
        )
        return wrong[0].message if wrong else None

    def _offer_plain(self, start: greedy.PlainStart) -> None:
        with suppress(InvalidPlanError):
            greedy.offer_order(self._search, start)
        with suppress(InvalidPlanError):
            if start.exact is not None and not self._search.is_over:
                from memplan.solvers.exact.branch_and_bound import offer_begun

                offer_begun(self._search, start.exact)

    def _offer_swept(self) -> None:
        search, instance = self._search, self._instance
        if search.best is None and len(instance) > MOST_OF_FIRST and self._is_open():
            with suppress(InvalidPlanError):
                greedy.offer_swept(instance, search)

    def _offer_first(self) -> None:
        search, instance = self._search, self._instance
        if search.best is None and search.is_over and self._is_open():
            most_s = float("inf") if len(instance) <= MOST_OF_FIRST else answer_time_s(self._problem) / 2
            with suppress(InvalidPlanError):
                greedy.offer_first(instance, search, most_s)

    def _is_open(self) -> bool:
        search, instance = self._search, self._instance
        is_quick = instance.features <= registry.BY_NAME["greedy"].can and not self._control.cancelled.is_set()
        return is_quick and search.infeasibility_witness is None and not instance.unplaceable

    def finish(self) -> SolveResult:
        """Run the remaining stages, in any thread, and return the result.

        Raises SolverFailedError if the solver that the options name failed without a result.
        """
        if not self._has_begun and (result := self.begin()) is not None:
            return result
        before = self._search.best
        self._run_stages((self._solver_stages() if self._plain else self._stages)[1:])
        if self._search.best is before and self._search.stop_reason != "proved":
            self._raise_solver_failure()
        # A failed engine left its work undone, so report the failure, not a completed search.
        end: StopReason = "engine-failure" if self._failures or self._search.refusals else self._end
        self._search.stop("time_limit" if self._search.is_out_of_time else end)
        if self._search.refusals:
            self._offer_first()
        return self._result()

    def _run_stages(self, wanted: list[list[registry.SolverRow]]) -> None:
        with watched(self._search, self._control.cancelled):
            self._failures += stages.run(self._instance, self._search, wanted, self._options.solver)

    def _raise_solver_failure(self) -> None:
        """Raise SolverFailedError if the chosen solver failed, instead of returning another solver's plan."""
        for failure in self._failures:
            if failure.solver == self._options.solver:
                _logger().warning("%s", failure)
                way = "name another solver, or none, so that memplan chooses one"
                raise SolverFailedError.from_rule("solver", f"{failure.solver} failed: {failure.line}", way=way)

    def _offer(self, plan: Plan) -> None:
        """Offer the placements of a known plan, repaired first if they are not valid for this problem."""
        if self._search.proof.nothing_fits is not None:
            return
        from memplan.planner.verify.verifier import verify
        from memplan.solvers.portfolio.warm_start import assignment_of, mended_assignment

        is_right = not verify(self._problem, Plan(placements=plan.placements))
        make = assignment_of if is_right else mended_assignment
        assignment = make(self._problem, self._instance, plan.placements, self._search.flag)
        if assignment is not None:
            self._search.offer(*assignment, (plan.solver if is_right else None) or "start")

    def _drop_false_proof(self) -> None:
        """Drop a proof about few buffers if an independent search finds a plan that refutes it.

        The refutation is recorded as a failure of the solver that made the proof.
        """
        search, instance = self._search, self._instance
        proof = search.proof.nothing_fits or search.proof.witness
        if len(instance) > FEW or proof.kind not in ("search", "engines") or proof.by == _JUDGE:
            return
        if not instance.features <= registry.BY_NAME[_JUDGE].can:
            return
        from memplan.solvers.exact import few_buffers

        judge = Search(instance, deadline=self._deadline.at, deterministic=True, trusted=frozenset({_JUDGE}))
        of_live_sets = judge.proof
        few_buffers.solve(instance, judge, _JUDGED_NODES)
        best = judge.best
        if best is None or not (search.proof.nothing_fits or best.score < search.proof.score):
            return
        untrue = f"its proof about {len(instance)} buffers is wrong: {_JUDGE} found a better plan"
        self._failures.append(stages.Failure(str(proof.by), untrue))
        search.proof, search.stop_reason = of_live_sets, None
        search.offer(best.pool, best.offset, _JUDGE)

    def _result(self) -> SolveResult:
        """Return the search's result: the best plan, or else a plan that explains why no plan was found."""
        self._drop_false_proof()
        for failure in self._failures:
            _logger().warning("%s", failure)
        assignment, proof, refusals = self._search.best, self._search.proof, self._search.refusals
        if assignment is None:
            plan = to_plan.plan_without_placements(self._problem, self._instance, proof)
        else:
            order = None if self._plain is None else self._plain.order
            plan = to_plan.plan_of_assignment(self._problem, self._instance, assignment, proof, order)
        for solver, why in refusals:
            _logger().warning("%s: %s; %s", solver, why, plan.problem_hash, extra={"refused_solver": solver})
        reason, has_failures = self._search.stop_reason, bool(self._failures or refusals)
        if reason == "time_limit" and plan.status == "optimal":  # The first plan of a search may be made after that.
            reason = "proved"
        return SolveResult(plan, assignment, proof, reason, self._deadline.passed_s, has_failures)

    def interim_result(self) -> SolveResult | None:
        """Return the running search's best result so far, or None without a plan; any thread may call this method."""
        assignment, bound = self._search.best, self._search.proof
        if assignment is None:
            return None
        plan = to_plan.plan_of_assignment(self._problem, self._instance, assignment, bound)
        return SolveResult(plan, assignment, bound, elapsed_s=self._deadline.passed_s)


def _logger() -> "Logger":
    from logging import getLogger

    return getLogger("memplan")
