"""The state of a running search: best assignment, bound, deadline, stop reason and progress reports."""

import threading
import time
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from memplan.planner.bounds.lower_bound import Bound, Witness, lower_bound
from memplan.planner.errors import InvalidPlanError
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import Score, exceeds, reaches, score
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.plan import ProofKind, StopReason
from memplan.solvers.search.result import Assignment, Progress


class Accept(NamedTuple):
    """The target at which a search may end: any plan that fits, or a plan within a relative `gap` of the bound."""

    gap: float | None = None


@dataclass(eq=False, repr=False)
class Search:
    """The state of a search, from which solvers read the best results and to which they offer theirs; thread-safe.

    A solver returns when it has nothing more to offer, and soon after `is_over` becomes true. A bound or a claim of
    infeasibility is accepted if it has a witness, comes from a `trusted` solver, or is made by two engines. A solver
    loses its turn by an InvalidPlanError if it offers a plan that `verdict` refuses, or a bound above the best plan.

    - `flag`: kernels poll flag[0], which changes from 0 to 1 once the search is over.
    - `deadline`: the time of `clock` at which the search ends. If `deterministic`, `work_limit` replaces it, in units
      of about a microsecond of one core.
    - `claims`: the claims of solvers that are not trusted, by solver.
    - `children`: the searches that end with this search.
    - `verdict`: returns why the pools and offsets of all buffers are no valid plan, or None for a valid plan.
    - `refusals`: (solver, reason) of each refused plan or bound.
    - `known`: the live-set bound, if it was computed already.
    - `begun`: an exact search to continue, which an earlier call of the core began; see core/plain.py.
    """

    instance: Instance
    deadline: float
    seed: int = 0
    deterministic: bool = False
    work_limit: int = 2**62
    accept: Accept | None = None
    on_progress: Callable[[Progress], object] | None = None
    trusted: frozenset[str] = frozenset()
    started: float = field(default_factory=time.monotonic)
    best: Assignment | None = None
    stop_reason: StopReason | None = None
    claims: dict[str, Score | None] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    is_out_of_time: bool = False
    begun: Any = None
    verdict: Callable[[I64, I64], str | None] = lambda _pool, _offset: None
    refusals: list[tuple[str, str]] = field(default_factory=list)
    # Tests replace time.monotonic, so look the function up whenever a search is created.
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    known: InitVar[Bound | None] = None
    proof: Bound = field(init=False)
    flag: I64 = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    children: "WeakSet[Search]" = field(default_factory=WeakSet)

    def __post_init__(self, known: Bound | None) -> None:
        """Compute the live-set bound unless it is `known`, and stop at once if it proves that nothing fits."""
        # A child reports to its parent while it holds its own lock, so what ends a search takes another lock.
        self._lock, self._ending = threading.RLock(), threading.RLock()
        self.proof = self._of_live_sets = lower_bound(self.instance) if known is None else known
        if self.proof.nothing_fits is not None:
            self.stop("proved")

    @property
    def infeasibility_witness(self) -> Witness | None:
        """The witness that proves the problem infeasible, or None without such a witness."""
        return self.proof.nothing_fits

    @property
    def bound(self) -> Score:
        """The best proved lower bound on the score of every plan."""
        return self.proof.score

    @property
    def is_over(self) -> bool:
        """True once the search must stop: by a proved or accepted plan, the time limit, or cancellation."""
        if self.stop_reason is None and self.clock() >= self.deadline:
            self.stop("time_limit")
        return self.stop_reason is not None

    @property
    def remaining_s(self) -> float:
        """The seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - self.clock())

    @property
    def counts_processor(self) -> bool:
        """True if the search's clock counts processor time, whereas engines measure the time of the wall clock."""
        return self.clock is not time.monotonic

    def stop(self, reason: StopReason) -> None:
        """End the search and its children for a reason, of which only the first one is recorded."""
        with self._ending:
            if self.stop_reason is None:
                self.stop_reason = reason
            self.flag[0] = 1
            children = list(self.children)
        for child in children:
            child.stop("cancelled")

    def child(self, instance: Instance, share: float = 1.0, work_limit: int | None = None) -> "Search":
        """Return a search of another instance, with a share of the remaining time and work; it ends with this search.

        With a `work_limit`, it counts work instead of time, so that its result does not depend on the machine's load.
        """
        inner = Search(
            instance,
            deadline=self.clock() + share * self.remaining_s,
            clock=self.clock,
            seed=self.seed,
            deterministic=self.deterministic or work_limit is not None,
            work_limit=max(1, int(share * self.work_limit)) if work_limit is None else work_limit,
            trusted=self.trusted,
            refusals=self.refusals,
        )
        with self._ending:
            self.children.add(inner)
            if self.stop_reason is not None:
                inner.stop("cancelled")
        return inner

    def offer(self, pool: I64, offset: I64, by: str) -> bool:
        """Accept an assignment (offsets in units) if it is better than the best one so far, and return True if so.

        Raises InvalidPlanError if the verdict on the assignment is that it is no valid plan.
        """
        value = score(self.instance, pool, offset)
        if not self._is_better(value):
            return False
        if (why := self.verdict(pool, offset)) is not None:
            raise self._refuse(by, f"its plan was refused: {why}")
        with self._lock:
            if not self._is_better(value):
                return False
            self.best = Assignment(column(pool), column(offset), value, by)
            self._drop_refuted_proof(value)
            self._report_and_stop(by)
        return True

    def _is_better(self, value: Score) -> bool:
        return self.best is None or (value < self.best.score and not self._is_settled)

    def _refuse(self, by: str, why: str) -> InvalidPlanError:
        self.refusals.append((by.partition(":")[0], why))
        return InvalidPlanError(f"{by}: {why}")

    def _drop_refuted_proof(self, value: Score) -> None:
        of, witness = self._of_live_sets, self.proof.nothing_fits or self.proof.witness
        if self.proof is not of and (self.proof.nothing_fits or exceeds(self.instance, self.proof.score, value)):
            self._refuse(str(witness.by), f"its proof was refused: a valid plan has the score {value}")
            self.proof, self.claims = of, {}
            self.stop_reason = "engine-failure" if self.stop_reason == "proved" else self.stop_reason

    def offer_bound(self, bound: Score, by: str) -> None:
        """Accept a lower bound on the score of all assignments if its solver is trusted or two engines agree on it."""
        with self._lock:
            if by in self.trusted:
                self._raise_bound(bound, by)
            elif self.claims.get(by, bound) is not None:
                self.claims[by] = max(bound, self.claims.get(by) or bound)
                agreed = sorted(claim for claim in self.claims.values() if claim is not None)[:-1]
                if agreed:
                    self._raise_bound(agreed[-1], by)

    def claim_infeasible(self, by: str) -> None:
        """Accept a claim that the problem is infeasible if its solver is trusted or two engines make it."""
        with self._lock:
            self.claims[by] = None
            says_so = sorted(name for name, claim in self.claims.items() if claim is None)
            if self.best is None and (by in self.trusted or len(says_so) > 1):
                kind: ProofKind = "search" if by in self.trusted else "engines"
                self.proof = self.proof._replace(nothing_fits=Witness(kind, by=" and ".join(says_so)))
                self.stop("proved")

    @property
    def _is_settled(self) -> bool:
        """True if a deterministic search has ended with an accepted plan, after which all further plans are refused.

        An engine that was not stopped in time could still offer a plan, and the result would depend on chance.
        """
        return self.deterministic and self.stop_reason == "accepted"

    @property
    def has_open_claims(self) -> bool:
        """True if an engine made a claim that ends the search as soon as another solver confirms the claim.

        Such a claim is a bound equal to the best score or, if there is no assignment, the claim of infeasibility.
        """
        score = None if self.best is None else self.best.score
        return not self.is_over and any(claim == score for claim in self.claims.values())

    def run_out_of_time(self) -> None:
        """Record that a solver's own clock ended its run before the deadline; all other solvers may continue."""
        self.is_out_of_time = True

    def log(self, line: str) -> None:
        """Store a line of an engine's log."""
        self.lines.append(line)

    def _raise_bound(self, bound: Score, by: str) -> None:
        """Record a lower bound if it is higher than the best one, together with the solvers that proved it.

        Raises InvalidPlanError for a bound above the score of the best plan.
        """
        if bound > self.proof.score:
            if self.best is not None and exceeds(self.instance, bound, self.best.score):
                raise self._refuse(by, f"its bound {bound} was refused: a valid plan has the score {self.best.score}")
            kind: ProofKind = "search" if by in self.trusted else "engines"
            # Several solvers may have proved this bound, so name all solvers that claim at least this bound.
            provers = {name for name, claim in self.claims.items() if claim is not None and claim >= bound} | {by}
            self.proof = self.proof._replace(score=bound, witness=Witness(kind, by=" and ".join(sorted(provers))))
            self._report_and_stop(by)

    def _report_and_stop(self, by: str) -> None:
        """Report progress, and stop the search if its plan is proved optimal or acceptable."""
        if self.on_progress is not None:
            self.on_progress(self.progress(by))
        if self.best is None:
            return
        if reaches(self.instance, self.best.score, self.proof.score):
            self.stop("proved")
        elif self.accept is not None:
            gap = self._gap(self.best)
            if self.accept.gap is None or (gap is not None and gap <= self.accept.gap):
                self.stop("accepted")

    def _gap(self, best: Assignment) -> float | None:
        """Return by what fraction the best plan's first goal exceeds the goal's bound; None if only the bound is 0."""
        if len(best.score) == 1:
            return self.progress().gap
        value, least = best.score[0], self.bound[0]
        return 0.0 if value <= least else value / least - 1 if least else None

    def progress(self, by: str = "") -> Progress:
        """Return the search's progress for a report; `by` names the solver that caused the change."""
        unit = self.instance.unit
        peaks = None if self.best is None else self.best.score[-len(self.instance.pools) :]
        peak = None if peaks is None else int(sum(peaks)) * unit
        return Progress(time.monotonic() - self.started, peak, peak_sum_bound(self.instance, self.proof) * unit, by)


def peak_sum_bound(instance: Instance, bound: Bound) -> int:
    """Return a lower bound on the sum of the peaks of all pools, in units."""
    # The bound on an end holds only for plans that are equal in all earlier goals, so the ends' sum may be no bound.
    # If each buffer has one possible pool, all plans fill the pools alike, so the sum of the ends' bounds is a bound.
    is_sum = instance.objective != "cost" and bool((instance.allowed.sum(axis=0) <= 1).all())
    ends = bound.score[-len(instance.pools) :] if is_sum else ()
    return max(int(bound.total), int(sum(ends)))
