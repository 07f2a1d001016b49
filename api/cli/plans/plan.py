"""`memplan plan`: from a problem to a verified plan."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from memplan.api.cli.arguments import (
    TABLE,
    Accepted,
    BundleFile,
    Capacities,
    CertificateFile,
    Deterministic,
    Eps,
    Inclusive,
    KeptPlan,
    OrderFile,
    PageFile,
    PictureFile,
    PlanFormat,
    PlanOutput,
    ProblemFile,
    ProfileName,
    Quiet,
    Reorder,
    ReorderedProblem,
    Seed,
    ServerUrl,
    SolverName,
    SweepOf,
    TimeLimit,
)
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.plans.certificates import certified
from memplan.api.cli.progress import ProgressLine, run_in_thread
from memplan.api.cli.streams import (
    STANDARD,
    format_for,
    is_terminal,
    problem_in,
    read_as,
    refuse_unwritable,
    say,
    warn,
    write,
)
from memplan.api.reports import picture
from memplan.api.reports.plan_formats import write_plan
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import OptionError
from memplan.planner.importers.imported import ImportOptions
from memplan.planner.lint.problems import lint
from memplan.planner.model.plan import KeptPlaces, Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl, SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference.table import PREFIX
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.studies.replay.source_file import SourceFile

if TYPE_CHECKING:
    from memplan.api.cli.plans.sweep import SweepRun

    from memplan.api.cli.plans.reorder import Reordering

NOTHING_FITS = 1


def plan(
    problem_file: ProblemFile,
    output: PlanOutput = None,
    capacity: Capacities = None,
    inclusive: Inclusive = None,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
    time_limit: TimeLimit = DEFAULT_TIME_LIMIT_S,
    solver: SolverName = "auto",
    accept: Accepted = None,
    shown: PlanFormat = None,
    seed: Seed = 0,
    deterministic: Deterministic = False,
    profile: ProfileName = None,
    picture_file: PictureFile = None,
    page_file: PageFile = None,
    certificate_file: CertificateFile = None,
    swept: SweepOf = None,
    keep: KeptPlan = None,
    eps: Eps = "2%",
    reorder: Reorder = False,
    order_file: OrderFile = None,
    reordered_file: ReorderedProblem = None,
    bundle_file: BundleFile = None,
    server: ServerUrl = None,
    quiet: Quiet = False,
) -> None:
    """Plan a problem: a pool and an offset for every buffer. With --sweep, tell what each size of a pool is worth.

    Exit status: 0 a plan was found, 1 none fits, 2 wrong input, 130 interrupted (the best plan so far is written).
    """
    started = time.monotonic()
    is_table = shown == TABLE or (shown is None and output is None and not quiet and is_terminal(sys.stdout))
    plan_format = format_for(output, None if shown == TABLE else shown)
    _refuse_unwritable(picture_file, output, page_file, bundle_file, certificate_file)
    others = {"sweep": ", ".join(swept) if swept else None, "keep": keep, "server": server, "inclusive": inclusive}
    reordering = _reordering(reorder, order_file, reordered_file, quiet, others)
    model = model_options(dim, views, alignment, scratch)
    file, problem = _read(problem_file, inclusive, capacity or [], model, is_put_off=reordering is not None)
    _refuse_together(solver, bundle=bundle_file, keep=keep, sweep=swept, server=server, reorder=reordering)
    sweep = _read_sweep(swept, problem, (output, plan_format, is_table, quiet, page_file), picture_file, server)
    line = ProgressLine(sys.stderr if is_terminal(sys.stderr) and not quiet else None)
    options = _options(deterministic, time_limit_s=time_limit, solver=solver, accept=accept, seed=seed, profile=profile)
    with graceful_interrupts() as cancelled:
        deadline = None if deterministic and reordering is None else Deadline.after(time_limit, started)
        control = SolveControl(deadline, cancelled, line.take)
        if sweep is not None:
            raise typer.Exit(sweep.run(problem, options, control, line))
        if reordering is not None:
            problem, control = reordering.run(problem_file, capacity, model, options, control)
        answer = _run(_planning(problem, options, control, server, keep, eps), line, started)
        answer = certified(problem, answer, certificate_file, time_limit, cancelled, quiet)
        if output is not None or not is_table:
            write(output, write_plan(answer, problem, plan_format))
        _draw(problem, answer, file, picture_file, page_file)
        _write_bundle(bundle_file, file, problem, options, answer)
    _show(problem, answer, file, is_table, quiet)
    raise typer.Exit(_status(answer, cancelled.is_set()))


def _reordering(
    is_asked: bool, order_file: str | None, problem_file: str | None, quiet: bool, others: Mapping[str, object]
) -> Reordering | None:
    """Return what is asked of the order, None where it stays; raises OptionError."""
    if not is_asked and order_file is None and problem_file is None:
        return None
    # Imported here: few plans are of another order.
    from memplan.api.cli.plans.reorder import Reordering

    return Reordering.asked(is_asked, order_file, problem_file, quiet, others)


def _refuse_unwritable(picture_file: str | None, *targets: str | None) -> None:
    """Raise InputError for a file that cannot be written, or a picture of no known format."""
    for target in (*targets, picture_file):
        refuse_unwritable(target)
    if picture_file is not None:
        picture.format_of_name(picture_file)


def _run(planning: Callable[[], Plan], line: ProgressLine, started: float) -> Plan:
    """Return the plan that a call makes, with its progress on a line meanwhile."""
    answer = run_in_thread(planning, lambda: line.draw(time.monotonic() - started))
    line.erase()
    return answer


def _options(deterministic: bool, **others: Any) -> dict[str, Any]:
    return {"deterministic": deterministic, **others}


def _refuse_together(solver: str, **given: object) -> None:
    """Raise OptionError where a bundle, or a sweep with an old plan, is asked for of plans made in other ways."""
    names = [name for name, value in given.items() if value is not None]
    is_own = ":" in solver and not solver.startswith(PREFIX)
    if is_own and (named := {"bundle", "keep", "server"}.intersection(names)):
        raise OptionError(f"{min(named)}: must not be given with a planner of your own, got solver {solver}")
    if len(names) > 1 and ("bundle" in names or {"keep", "sweep"} <= set(names)):
        raise OptionError(f"{names[0]}: must not be given with {' and '.join(names[1:])}")


def _read(
    path: str, inclusive: bool | None, capacity: list[str], model: ImportOptions, is_put_off: bool
) -> tuple[SourceFile, Problem]:
    """Return a file as a bundle keeps it, and the problem in it with the capacities; neither, where that is put off."""
    if is_put_off:
        return SourceFile(b""), Problem(buffers=[])
    data, problem = read_as(path, lambda data: (data, problem_in(data, path, model, inclusive)[0]))
    name = None if path == STANDARD else Path(path).name
    return SourceFile(data, name, tuple(capacity), inclusive, model), with_capacities(problem, capacity)


def _write_bundle(path: str | None, file: SourceFile, problem: Problem, options: dict[str, Any], answer: Plan) -> None:
    """Write the replay bundle of a plan, where one is asked for."""
    if path is None:
        return
    # Imported here: few plans are to be replayed.
    from memplan.solvers.studies.replay.bundle import write_bundle

    write(path, write_bundle(file, problem, SolveOptions.model_construct(**options), answer))


def _draw(problem: Problem, answer: Plan, file: SourceFile, picture_file: str | None, page_file: str | None) -> None:
    """Write the picture and the page of a plan, where they are asked for."""
    if picture_file is not None:
        write(picture_file, picture.draw(problem, answer, picture.format_of_name(picture_file)))
    if page_file is not None:
        # Imported here: few plans are looked into.
        from memplan.api.reports.page.file_page import plan_page
        from memplan.api.reports.page.program_names import names_in

        names = names_in(file.data, file.name, problem, file.model)
        write(page_file, plan_page(problem, answer, title=problem.name or file.name or "", names=names))


def _planning(
    problem: Problem, options: dict[str, Any], control: SolveControl, server: str | None, keep: str | None, eps: str
) -> Callable[[], Plan]:
    """Return the call that makes the plan: here, by a service, or with an old plan's places kept."""
    if keep is not None:
        # Imported here: few plans keep an older one.
        from memplan.api.cli.plans.keeping import keeping

        return keeping(keep, problem, eps, options, control, server)
    if server is not None:
        return partial(_ask, server, problem, control.cancelled or threading.Event(), options)
    return lambda: _with_reason(problem, solve(problem, **options, control=control), control)


def _read_sweep(
    texts: list[str] | None,
    problem: Problem,
    output: tuple[str | None, str, bool, bool, str | None],
    picture_file: str | None,
    server: str | None,
) -> SweepRun | None:
    """Return the sweep that is asked for, if any; `output` are the fields of SweepOutput. Raises OptionError."""
    if not texts:
        return None
    if server is not None:
        raise OptionError("server: must not be asked for a sweep, which is many plans")
    if picture_file is not None:
        raise OptionError("picture: must not be asked of a sweep, which is many plans")
    # Imported here: few plans are sweeps.
    from memplan.api.cli.plans.sweep import WRITERS, SweepOutput, SweepRequest, SweepRun

    if output[1] not in WRITERS:
        raise OptionError(f"format: must be json, csv or table for a sweep, got {output[1]}")
    return SweepRun(SweepRequest.read(texts, problem), SweepOutput(*output))


def _ask(server: str, problem: Problem, cancelled: threading.Event, options: dict[str, Any]) -> Plan:
    # Only a request over HTTP waits for these imports.
    from memplan.api.cli.plans.remote import ask
    from memplan.api.options import read_options

    return ask(server, problem, read_options(options), cancelled)


def _show(problem: Problem, answer: Plan, file: SourceFile, is_table: bool, quiet: bool) -> None:
    """Warn people of what lint finds, and show them a plan, or why there is none."""
    if not quiet:
        warn(lint(problem))
        _tell_kept(answer.kept)
    if is_table or (is_terminal(sys.stdout) and not quiet):
        _report(problem, answer, is_table)
    elif not quiet and answer.explanation is not None:
        say(f"memplan: {answer.explanation.message}")
    if answer.status == "infeasible" and not quiet:
        # Imported here: most problems fit.
        from memplan.api.cli.plans.cascade_hint import cascade_hint

        if (hint := cascade_hint(problem, file)) is not None:
            say(f"memplan: {hint}")


def _with_reason(problem: Problem, answer: Plan, control: SolveControl) -> Plan:
    if answer.status != "infeasible" or (control.cancelled is not None and control.cancelled.is_set()):
        return answer
    # Imported here: most problems fit.
    from memplan.solvers.studies.explanation.explain import with_reason
    from memplan.solvers.studies.explanation.options import ExplainOptions

    is_deterministic = answer.wall_time_s is None
    return with_reason(problem, answer, ExplainOptions(cancelled=control.cancelled, deterministic=is_deterministic))


def _report(problem: Problem, answer: Plan, is_answer: bool) -> None:
    # Tables for people need a library that a program's caller does not wait for.
    from memplan.api.cli.report import show_plan

    show_plan(problem, answer, sys.stdout if is_answer else sys.stderr)


def _tell_kept(kept: KeptPlaces | None) -> None:
    if kept is None:
        return
    rule = "proved to be the fewest" if kept.proved else f"at least {kept.least_moves:,} must"
    say(f"memplan: {kept.moved:,} of {kept.moved + kept.stayed:,} buffers moved, {kept.moved_bytes:,} bytes; {rule}")


def _status(answer: Plan, was_interrupted: bool) -> int:
    if was_interrupted and answer.stop_reason == "cancelled":
        return INTERRUPTED
    return 0 if answer.status in ("optimal", "feasible") else NOTHING_FITS
