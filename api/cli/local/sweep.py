"""`memplan sweep`: plan problems over a range of sizes, and write JSON, a table, CSV or a page."""

import csv
import io
from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import Call, answer_of_call, end_call, read_call, write_answer, write_beside
from memplan.api.cli.flags import ON
from memplan.api.cli.local.several_files import files_argument, has_several, run_each
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import PAGE
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import size_text
from memplan.questions.sweep.combinations import QUESTION

_COLUMNS = ("status", "cost", "cost_lower_bound", "peak", "lower_bound")


@command_of(
    QUESTION,
    files_argument("Further problems, swept each by itself into -o FOLDER/."),
    ON,
    forms=(".csv",),
    beside=(PAGE,),
    needs_plans=(PAGE,),
)
def sweep(line: CommandLine) -> int:
    """Sweep one problem, or several problems independently of each other."""
    if has_several(line):
        return run_each(line)
    call = read_call(line)
    answer = answer_of_call(call)
    write_answer(call, answer, {".csv": lambda _path: _sweep_csv(answer)})
    write_beside(call, {PAGE: lambda _path: _chart_page(call, answer)})
    return end_call(call, answer)


def _chart_page(call: Call, answer: Any) -> bytes:
    """Return a sweep's page as HTML bytes: a chart with one point per plan.

    Its x-axis is the sum of the swept pool sizes; its y-axis is the cost if plans have costs, else the peak.
    """
    from memplan.api.reports.views import ChartAxis, ChartPoint, chart_page

    problem: Problem = call.values["problem"]
    plans = answer.plans or ()
    pool = " + ".join(answer.points[0].sizes if answer.points else ()) or "combination"
    is_priced = any(plan.cost for plan in plans)
    rows = []
    for k, (point, plan) in enumerate(zip(answer.points, plans, strict=True)):
        size = sum(point.sizes.values()) or k
        y, bound = (plan.cost, plan.cost_lower_bound) if is_priced else (plan.peak, plan.lower_bound)
        label = size_text(size) if point.sizes else f"{pool} {k}"
        rows.append(ChartPoint(size, y, label, plan.status, bound, point.problem_of(problem), plan))
    y_axis = ChartAxis("cost", "number") if is_priced else ChartAxis("peak of all pools")
    return chart_page(call.title(problem.name), ChartAxis(f"size of {pool}"), y_axis, rows)


def _sweep_csv(answer: Any) -> bytes:
    """Return a sweep's points (planned combinations) as CSV. Each pool has two columns: used bytes and lower bound."""
    text = io.StringIO(newline="")
    names = [use.name for use in answer.points[0].pools] if answer.points else []
    pools = list(answer.points[0].sizes) if answer.points else []
    swept = ["size"] if len(pools) == 1 else [f"{name} size" for name in pools]
    swept += [name for name in ("alignment", "changes") if answer.points and getattr(answer.points[0], name)]
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*swept, *_COLUMNS, *(f"{name} {what}" for name in names for what in ("used", "lower bound"))])
    for point in answer.points:
        uses = (value for use in point.pools for value in (use.used, use.lower_bound))
        others = [point.alignment] if point.alignment else []
        others += [", ".join(change.text for change in point.changes)] if point.changes else []
        out.writerow([*point.sizes.values(), *others, *(getattr(point, name) for name in _COLUMNS), *uses])
    return text.getvalue().encode()
