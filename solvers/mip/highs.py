"""The integer program solved by HiGHS through the package highspy.

This module runs in a child process and imports highspy late, because highspy and OR-Tools cannot share a process.
"""

from math import inf
from typing import Any

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.mip.draft import IntegerProgram
from memplan.solvers.mip.stages import EngineEffort, EngineRun, Outcome, pursue
from memplan.solvers.search.incumbent import Search


def solve(instance: Instance, search: Search) -> None:
    """Solve the goals of an instance with HiGHS; offer each plan as soon as it is found, the bounds and the claims."""
    pursue(instance, search, "highs", solve_program)


def solve_program(run: EngineRun) -> Outcome:
    """Solve a program with HiGHS, pass on its solutions, and return the outcome of the run."""
    import highspy

    highs = highspy.Highs()
    _set_options(highs, run.effort)
    highs.cbLogging.subscribe(lambda event: run.log(f"highs: {event.message.rstrip()}"))
    highs.cbMipImprovingSolution.subscribe(lambda event: run.take(np.array(event.data_out.mip_solution)))
    for interrupted in (highs.cbMipInterrupt, highs.cbSimplexInterrupt):
        interrupted.subscribe(lambda event: event.interrupt(run.is_late()))
    _pass_model(highs, highspy, run.program)
    if run.start is not None:
        highs.setSolution(len(run.start), np.arange(len(run.start), dtype=np.int32), run.start)
    highs.run()
    status = highs.getModelStatus()
    if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        return Outcome("infeasible")
    info = highs.getInfo()
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        run.take(np.array(highs.getSolution().col_value))
    if status == highspy.HighsModelStatus.kOptimal:
        # HiGHS 1.15 may stop within the gap and report its best value as the bound, so subtract the gap.
        gap = run.effort.gap if run.program.is_whole.any() else 0.0
        return Outcome("optimal", float(info.objective_function_value) - gap)
    return Outcome("open", float(info.mip_dual_bound) if np.isfinite(info.mip_dual_bound) else -inf)


def _set_options(highs: Any, effort: EngineEffort) -> None:
    """Set the seed, the gap and the limits of a HiGHS run."""
    highs.setOptionValue("log_to_console", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("random_seed", effort.seed % 2**31)
    # A peak less than one unit above the bound is minimal, so set only the absolute gap.
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", effort.gap)
    # HiGHS 1.15 has claimed a start as optimal after a restart although it was not, so forbid restarts.
    highs.setOptionValue("mip_allow_restart", False)
    if effort.seconds is not None and not effort.counts_processor:
        highs.setOptionValue("time_limit", effort.seconds)
    if effort.nodes is not None:
        highs.setOptionValue("mip_max_nodes", effort.nodes)


def _pass_model(highs: Any, highspy: Any, program: IntegerProgram) -> None:
    """Pass the arrays of a program to HiGHS, which replaces infinite limits by its own infinity."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(program.cost), len(program.row_lower)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.cost, program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = program.first, program.index
    lp.a_matrix_.value_ = program.value
    kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
    if program.is_whole.any():
        lp.integrality_ = [kinds[is_whole] for is_whole in program.is_whole.tolist()]
    highs.passModel(lp)
