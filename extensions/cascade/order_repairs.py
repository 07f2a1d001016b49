"""Repairs of graphs that do not fit: in-place outputs, another order, recomputation, or stripes, each with a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memplan.extensions.cascade.cascade import CascadeOptions, cascade
from memplan.planner.errors import MemplanError, OptionError, excerpt
from memplan.planner.instance.audit import verify
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, replace_fields
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import allow_overwriting
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import recompute
from memplan.programs.order.placement import order_and_place
from memplan.questions.explain.values import ExplainOptions, OrderChange, OrderRepair, OrderRepairs, Outcome
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_CALL_S = 1.0
_MOST_CASCADES = 8
"""The maximum number of points (cascades) planned in the problem's pools; points of least work come first."""
_RULES = ("pools", "forbid_pools", "offset")
Row = dict[str, Any]


def repairs_of_graph(
    graph: OperationGraph, asked: Problem, options: ExplainOptions, control: Control, *, never_as_given: bool = False
) -> OrderRepairs:
    """Return changes that make a graph fit its pools, the smallest change first.

    The pools are those of the problem `asked`. The search tries the given graph, outputs in place, another order, the
    cheapest recomputation, and the cheapest cascade. If `never_as_given`, `asked` is proved infeasible, so a graph that
    fits unchanged yields no repair. Rules of `asked` on the pools and offsets of tensors hold in the repairs as well.
    """
    search = _OrderPlanner(graph, asked, rules_of_tensors(graph, asked), control)
    wanted, with_plans = options.repairs, options.with_plans
    start = search.plan_repair("none", list(range(len(graph.ops))), ())
    if start is not None and never_as_given:
        why = f"operations: their graph takes {start.peak_after} bytes as given, but the problem is proved to need more"
        return _repairs_answer((), start.live_peak, proved=False, with_plans=with_plans, left_out=(why,))
    if start is not None:
        return _repairs_answer((start,), start.live_peak, proved=True, with_plans=with_plans)
    graph_repairs = [*search.overwrites()]
    placed = order_and_place(graph, control.limit_to(0.3 * control.remaining_s), goal="placed")
    order = list(placed.order)
    moved = tuple(k for k, operation in enumerate(order) if operation != k)
    inside = replace(search, graph=placed.ordered or graph)
    if moved or placed.regions:
        other = inside.plan_repair("reorder", order, moved)
        graph_repairs += [] if other is None else [other.model_copy(update={"regions": placed.regions})]
    least = placed.lower_bound
    proved, left_out = not graph_repairs and least > search.capacity, []
    # Recomputation changes a program less than stripes do, so try recomputation first.
    for kind, repairs in (("recompute", search.clones), ("cascade", search.cascades)):
        if len(graph_repairs) >= wanted:
            break
        try:
            graph_repairs += repairs(max(0.05, 0.5 * control.remaining_s))
        except MemplanError as error:
            left_out.append(f"{kind}: {str(error).removeprefix(f'{kind}: ')}")
    return _repairs_answer(
        graph_repairs[:wanted], least, proved=proved, with_plans=with_plans, left_out=tuple(left_out)
    )


def rules_of_tensors(graph: OperationGraph, asked: Problem) -> dict[str, Row]:
    """Return a problem's rules for the pools and offsets of tensors, keyed by names as in `problem_of_order`."""
    rules = dict[str, Row]()
    tensors = {facts.name: f"tensor_{k}" for k, facts in enumerate(graph.tensors) if facts.name}
    for i, name in enumerate(asked.buffers.ids):
        row = asked.buffers.fields(i)
        if row.keys() & _RULES:
            own = next((tensors[text] for text in (str(name), str(name).partition("/")[2]) if text in tensors), name)
            rules[str(own)] = {rule: row[rule] for rule in _RULES if rule in row}
    return rules


def _repairs_answer(
    repairs: Sequence[OrderRepair], least: int, *, proved: bool, with_plans: bool, left_out: tuple[str, ...] = ()
) -> OrderRepairs:
    status: Outcome = "repaired" if repairs else "none" if proved else "unknown"
    rows = repairs if with_plans else [each.model_copy(update={"problem": None, "plan": None}) for each in repairs]
    return OrderRepairs.model_construct(
        status=status, repairs=tuple(rows), least_live_peak=least, proved=proved, left_out=left_out
    )


@dataclass(frozen=True)
class _OrderPlanner:
    """The planner that places a graph's tensors, in any order of operations, in the pools of the problem `asked`."""

    graph: OperationGraph
    asked: Problem
    rules: dict[str, Row]
    control: Control

    @property
    def capacity(self) -> int:
        """The total bytes of all pools; a pool without a size counts as the largest possible size."""
        sizes = [pool.size for pool in self.asked.pools]
        return min(MAX_BYTES, sum(MAX_BYTES if size is None else size for size in sizes))

    def overwrites(self) -> Iterator[OrderRepair]:
        """Yield the repair in which operations overwrite inputs in the given order, if its plan fits the pools."""
        over = replace(self, graph=allow_overwriting(self.graph))
        written = tuple(k for k, row in enumerate(over.graph.ops) if row.may_overwrite)
        if written and (found := over.plan_repair("in-place", list(range(len(self.graph.ops))), written)) is not None:
            yield found

    def plan_repair(self, kind: OrderChange, order: Sequence[int], operations: tuple[int, ...]) -> OrderRepair | None:
        """Return the repair that runs the operations in `order`; None if memplan finds no plan for this order."""
        live = peak_of(self.graph, order)
        if live > self.capacity:
            return None
        problem = self._limit_pool(problem_of_order(self.graph, order))
        plan = self._find_fitting_plan(problem)
        if plan is None:
            return None
        moves = sum(operation != k for k, operation in enumerate(order))
        repair = _build_repair(kind, tuple(order), operations, (0, 0, live), problem, plan)
        return repair.model_copy(update={"moves": moves})

    def clones(self, limit_s: float) -> Iterator[OrderRepair]:
        """Within `limit_s` seconds, find the cheapest recomputation that fits the pools and yield it as a repair."""
        self._refuse_rules()
        options = OrderOptions(recompute=True, within=self.capacity)
        answer = recompute(self.graph, options, self.control.limit_to(limit_s))
        for point in answer.recomputed.points if answer.recomputed else ():
            if point.peak > self.capacity or not point.clones or point.placed is None:
                continue
            problem = self._limit_pool(point.placed.problem)
            plan = self._find_fitting_plan(problem)
            if plan is not None:
                moved = sum(map(self._bytes_of, point.clones))
                costs = (point.extra_cost, moved, point.live_peak)
                repair = _build_repair("recompute", point.order, point.clones, costs, problem, plan)
                yield repair.model_copy(update={"regions": answer.regions})
                return

    def cascades(self, limit_s: float) -> Iterator[OrderRepair]:
        """Find the fitting cascade with the fewest multiplications, and yield it as a repair."""
        self._refuse_rules()
        options = CascadeOptions(fit=self.capacity, time_limit_s=limit_s)
        result = cascade(self.graph, options, Control(cancelled=self.control.cancelled))
        for point in result.points[:_MOST_CASCADES]:
            striped = (each for each in point.regions if each.kind != "whole")
            ends = tuple(v for each in striped for v in (each.first_operation, each.end - 1))
            problem = self._limit_pool(point.problem)
            plan = self._find_fitting_plan(problem, point.plan)
            if plan is not None:
                before = result.layers_macs or 0, result.layers_traffic or 0
                more = max(0, point.macs - before[0]), max(0, point.traffic - before[1])
                yield _build_repair("cascade", None, ends, (*more, point.estimate), problem, plan)
                return

    def _bytes_of(self, operation: int) -> int:
        row = self.graph.ops[operation]
        return sum(self.graph.size[tensor] for tensor in (*row.inputs, *row.outputs))

    def _refuse_rules(self) -> None:
        """Raise OptionError if a tensor has its own rule, because the tensor's parts or copies would break it."""
        if self.rules:
            raise OptionError(f"not tried, as {excerpt(next(iter(self.rules)))} has its own pool or offset")

    def _limit_pool(self, problem: Problem) -> Problem:
        rows = (problem.buffers.fields(i) for i in range(len(problem.buffers)))
        ruled = [row | self.rules.get(str(row["id"]), {}) for row in rows] if self.rules else problem.buffers
        return replace_fields(problem, pools=self.asked.pools, buffers=ruled)

    def _find_fitting_plan(self, problem: Problem, start: Plan | None = None) -> Plan | None:
        """Return a verified plan that fits the pools of a problem; None if no plan is found in time."""
        plan = solve(
            problem,
            time_limit_s=max(0.05, min(_CALL_S, self.control.remaining_s)),
            accept="fit",
            deterministic=self.control.counts_work,
            start=start,
            control=Control(cancelled=self.control.cancelled),
        )
        is_found = plan.status in ("optimal", "feasible") and not verify(problem, plan)
        return plan if is_found else None


def _build_repair(
    kind: OrderChange,
    order: tuple[int, ...] | None,
    operations: tuple[int, ...],
    costs: tuple[int, int, int],
    problem: Problem,
    plan: Plan,
) -> OrderRepair:
    """Return a repair; `costs` has its extra work, its extra traffic in bytes, and its live peak in bytes."""
    return OrderRepair.model_construct(
        kind=kind,
        operations=operations,
        order=order,
        moves=0,
        extra_cost=costs[0],
        extra_traffic=costs[1],
        live_peak=costs[2],
        peak_after=plan.peak or 0,
        problem=problem,
        plan=plan,
    )
