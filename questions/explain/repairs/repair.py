"""The search for repairs: fewest changes first, then cheapest; a verified plan proves each repair.

Sets of changes that leave a live set above the capacity are not planned. If a set covers all live sets and is still
infeasible, the new reason names buffers, and a larger set is tried only if it also changes one of these buffers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from memplan.planner.errors import OptionError
from memplan.planner.instance.audit import verify
from memplan.planner.model.plan import Explanation, Plan
from memplan.planner.model.problem import Problem
from memplan.questions.explain.questions.queries import Answer, Queries
from memplan.questions.explain.reasons.reasoning import Reasoning
from memplan.questions.explain.repairs.candidates import Candidates
from memplan.questions.explain.repairs.changed import ChangedProblems, original_id
from memplan.questions.explain.repairs.covers import MOST_COVERS, covers
from memplan.questions.explain.values import KINDS, ExplainOptions, Outcome, Repair, RepairChange, Repairs
from memplan.solvers.search.control import Control, ignore_report

MOST_BUFFERS = 10_000
"""The maximum number of buffers of a problem for which repairs are searched."""
_CALL_S, _REASON_S = 1.0, 0.3
"""The maximum seconds for planning one set of changes, and for finding one reason."""
_QUICK_SHARE, _SHARE = 0.1, 0.34
"""The maximum shares of the remaining time for one plan: in the first, quick pass, and in the second pass."""
_MOST_COMPARED = 4_000
"""The maximum number of sets of changes that are also ranked by the bytes they leave free."""


def repairs_of(problem: Problem, plan: Plan, options: ExplainOptions, control: Control) -> Repairs:
    """Return repairs for a problem that does not fit, or the result that no set of few changes is a repair.

    `plan` is the result of a solve. Raises OptionError for more than MOST_BUFFERS buffers.
    """
    if len(problem.buffers) > MOST_BUFFERS:
        raise OptionError(f"repairs: must be requested for at most {MOST_BUFFERS} buffers, got {len(problem.buffers)}")
    if plan.status in ("optimal", "feasible"):
        return Repairs(status="fits", proved=True, most_changes=options.most_changes)
    return _Search(problem, plan, options, control).result()


@dataclass(eq=False)
class _Search:
    """A running search for repairs.

    `failed` maps each insufficient set of candidates to those candidates that may affect the reason why the set fails.
    """

    problem: Problem
    plan: Plan
    options: ExplainOptions
    control: Control
    found: list[Repair] = field(default_factory=list)
    found_sets: list[frozenset[int]] = field(default_factory=list)
    failed: dict[frozenset[int], frozenset[int]] = field(default_factory=dict)
    cuts: list[tuple[frozenset[int], frozenset[int]]] = field(default_factory=list)
    tried: int = 0
    opens: int = 0
    is_cut_short: bool = False
    is_proved_below: bool = True

    def __post_init__(self) -> None:
        """Start the queries, list the candidate changes, and prepare the changed problems."""
        self.queries = Queries(self.control, _CALL_S)
        self.candidates = Candidates(self.problem, self.options.kinds or KINDS, lambda: self.queries.is_over)
        self.is_cut_short = not self.candidates.is_whole
        self.changed = ChangedProblems(self.problem)

    def result(self) -> Repairs:
        """Search with one change, then with two, and so on; return the repairs by number of changes and cost."""
        if not self.candidates.excess:
            self.failed[frozenset()] = self._candidates_of(self._reason_buffers(self.problem, self.plan))
        for count in range(1, self.options.most_changes + 1):
            self._try_sets_of(count)
            if len(self.found) >= self.options.repairs or self.queries.is_over:
                break
        self.found.sort(key=lambda repair: (len(repair.changes), repair.cost_bytes, repair.rank))
        self.found = [repair.model_copy(update={"rank": k + 1}) for k, repair in enumerate(self.found)]
        fewest = len(self.found[0].changes) if self.found else None
        is_proved = self.is_proved_below if self.found else self._is_complete
        status: Outcome = "repaired" if self.found else "none" if self._is_complete else "unknown"
        return Repairs.model_construct(
            status=status,
            repairs=tuple(self.found),
            fewest=fewest,
            proved=is_proved,
            most_changes=self.options.most_changes,
            candidates=len(self.candidates.found),
            tried=self.tried,
            open_questions=self.opens,
            wall_time_s=self.control.wall_time_s,
        )

    @property
    def _is_complete(self) -> bool:
        return self.opens == 0 and not self.is_cut_short and self.plan.status == "infeasible"

    def _try_sets_of(self, count: int) -> None:
        """Try promising sets of `count` changes, first in a quick pass, then longer, until enough repairs are found.

        Sets of low cost alternate with sets that leave many bytes free.
        """
        was_complete = self._is_complete
        sets = list(islice(self._sets_to_try(count), MOST_COVERS))
        is_whole = len(sets) < MOST_COVERS
        opened: list[frozenset[int]] = []
        # One hard plan could use up all the time, so each set of changes gets a short attempt first (decision 072).
        for is_quick, tried in ((True, self._trial_order(sets)), (False, opened)):
            for chosen in tried:
                if len(self.found) >= self.options.repairs:
                    return
                if self.queries.is_over:
                    self.is_cut_short = True
                    return
                if any(known_set <= chosen for known_set in self.found_sets):
                    continue
                if not self.found:
                    self.is_proved_below = was_complete
                if not self._try_set(chosen, is_quick=is_quick):
                    opened += [chosen] * is_quick
                    self.opens += not is_quick
        self.is_cut_short |= not is_whole

    def _trial_order(self, sets: list[frozenset[int]]) -> list[frozenset[int]]:
        cheap = sorted(sets, key=self._set_sort_key)
        if len(sets) > _MOST_COMPARED or not self.candidates.excess:
            return cheap
        saved, excess = self.candidates.saved, np.array(self.candidates.excess)
        # The cheapest sets often leave no bytes free and are hard to plan, so alternate them with roomier sets.
        roomy = sorted(cheap, key=lambda chosen: -int((saved[:, list(chosen)].sum(axis=1) - excess).min()))
        return list(dict.fromkeys(each for pair in zip(cheap, roomy, strict=True) for each in pair))

    def _sets_to_try(self, count: int) -> Iterator[frozenset[int]]:
        """Yield sets of `count` changes: covers of all live sets, and insufficient sets plus one change."""
        seen: set[frozenset[int]] = set()
        for cover in covers(self.candidates, count, lambda: self.queries.is_over):
            chosen = frozenset(cover)
            if chosen not in seen:
                seen.add(chosen)
                yield chosen
        if self.queries.is_over:
            self.is_cut_short = True
            return
        for base, touching in list(self.failed.items()):
            if len(base) != count - 1:
                continue
            used = {i for c in base for i in self.candidates.found[c].touched}
            for c in touching - base:
                chosen = base | {c}
                if chosen not in seen and not self.candidates.found[c].touched & used:
                    seen.add(chosen)
                    yield chosen

    def _set_sort_key(self, chosen: frozenset[int]) -> tuple[int, int, list[int]]:
        changes = [self.candidates.found[c].change for c in chosen]
        return sum(each.cost_bytes for each in changes), sum(KINDS.index(each.kind) for each in changes), sorted(chosen)

    def _try_set(self, chosen: frozenset[int], *, is_quick: bool) -> bool:
        """Plan the problem after some changes, and record the repair or the reason; return False if undecided."""
        for touching, value in self.cuts:
            # This set changes the buffers of an earlier reason in the same way, so the reason applies to this set too.
            if chosen & touching == value:
                self.failed[chosen] = touching
                return True
        changes = tuple(self.candidates.found[c].change for c in sorted(chosen))
        problem = self.changed.apply_changes(changes)
        answer: Answer = self.queries.fit_answer(problem, is_quick, _QUICK_SHARE if is_quick else _SHARE)
        self.tried += is_quick
        plan = self.queries.last
        if answer == "fits" and plan is not None and not verify(problem, plan):
            self.found_sets.append(chosen)
            repair = self._make_repair(changes, problem, self.queries.complete_plan(problem, plan))
            if not any(_is_within(other, repair) for other in self.found):
                self.found = [*(other for other in self.found if not _is_within(repair, other)), repair]
        elif answer == "no" and plan is not None:
            touching = self._candidates_of(self._reason_buffers(problem, plan))
            self.failed[chosen] = touching
            self.cuts.append((touching, chosen & touching))
        else:
            return False
        return True

    def _make_repair(self, changes: tuple[RepairChange, ...], problem: Problem, plan: Plan) -> Repair:
        """Return the repair by these changes, with their total cost and the peak of the plan that proves it."""
        assert plan.peak is not None, "a plan with placements has a peak"
        return Repair.model_construct(
            rank=len(self.found) + 1,
            changes=changes,
            cost_bytes=sum(each.cost_bytes for each in changes),
            peak_after=plan.peak,
            verified=True,
            status="optimal" if plan.status == "optimal" else "feasible",
            problem=problem if self.options.with_plans else None,
            plan=plan if self.options.with_plans else None,
        )

    def _reason_buffers(self, problem: Problem, plan: Plan) -> frozenset[int | str] | None:
        """Return the buffers in the reason why a problem does not fit; None if the reason may include any buffer."""
        first = plan.explanation
        if plan.status != "infeasible" or first is None:
            return None
        if first.missing_bytes is not None and first.buffers:
            return frozenset(first.buffers)
        if self.queries.is_over:
            return None
        control = replace(self.control.limit_to(_REASON_S), report=ignore_report)
        explanation: Explanation = Reasoning(problem, first, control, with_enough=False).explanation()
        return frozenset(explanation.buffers) if explanation.kind == "live-set" or explanation.calls else None

    def _candidates_of(self, names: frozenset[int | str] | None) -> frozenset[int]:
        """Return the candidates that affect the named buffers of a changed problem; all if `names` is None."""
        if names is None:
            return frozenset(range(len(self.candidates.found)))
        index = self.problem.index
        mine = {index[original_id(name, index)] for name in names}
        bodies = {int(self.candidates.body[i]) for i in mine}
        return frozenset(c for c, each in enumerate(self.candidates.found) if each.touched & bodies)


def _is_within(one: Repair, other: Repair) -> bool:
    alike = [[change.model_copy(update={"steps": None}) for change in each.changes] for each in (one, other)]
    steps = zip(one.changes, other.changes, strict=False)
    return alike[0] == alike[1] and all((a.steps or 0) <= (b.steps or 0) for a, b in steps)
