"""The portfolio: stages of solvers, which run one after another until the search is over.

Greedy orders come first; they solve most real problems with proof. Then the searches run side by side. Engines run
last, if the exact search does not suit the instance. Every stage starts from the best assignment so far, and all stages
stop when an assignment meets the bound. If an external engine makes a claim without a witness, another solver must
confirm it.
"""

import traceback
import warnings
from dataclasses import replace
from typing import NamedTuple

from memplan.planner.errors import InvalidPlanError, OptionError, UnbuiltError
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem_fields import counts_cost
from memplan.solvers.exact import MAX_LIFETIMES
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.processes.threads import solvers_beside
from memplan.solvers.search.incumbent import Search

PORTFOLIO = (
    ("greedy",),
    ("few",),
    ("parts",),
    ("lemmas", "exact", "memory-choice", "core", "local-search"),
    ("cp-sat", "highs"),
)
"""The stages of `auto` in order. The solvers of a stage run side by side."""
_OPENING = replace(registry.BY_NAME["greedy"], where="memplan.solvers.heuristics.greedy:begin")
"""The greedy orders before an exact search. They stop early on hard problems, on which the search gains more."""
_MANY_PRICES = 600
"""The limit of priced pairs above which a second solver improves bounds while the first one improves plans."""
_HEAD_START_S, _HEAD_START_S_A_BUFFER = 0.2, 4e-5
"""The time that an exact search runs alone, as other solvers would compete for the interpreter lock."""
SECOND_OPINIONS = ("exact", "memory-choice", "cp-sat", "highs")
"""The solvers that check an engine's claim, in the order in which they are tried."""


class SolverFaultWarning(RuntimeWarning):
    """The warning that a solver raised an exception, after which the search continues with the other solvers."""


_LONGEST_LINE = 200
"""The limit of characters of an error that a message quotes; the log has all of it."""


class Failure(NamedTuple):
    """A solver that failed, with its error as text: the last stack frames, and the exception's type and message."""

    solver: str
    error: str

    def __str__(self) -> str:
        """Return the solver's name and the text of the error."""
        return f"{self.solver}: {self.error}"

    @property
    def line(self) -> str:
        """The last line of the error's text, limited to 200 characters."""
        text = (self.error.strip().splitlines() or ["the solver did not say why"])[-1]
        return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 3]}..."


def stages_of_solver(instance: Instance, solver: str) -> list[list[SolverRow]]:
    """Return the stages to run for a value of the option `solver`; for "auto", they are those of the portfolio.

    For any other solver, they are the greedy orders and this solver. A stage is a list of solvers that may run side by
    side. Raises OptionError if the solver is unknown, cannot be imported, or does not support the instance.
    """
    if solver != "auto":
        row, first = registry.find(solver), registry.find("greedy")
        if missing := instance.features - row.can:
            raise OptionError(f"solver: {solver} does not support {', '.join(sorted(missing))}")
        if solver == "greedy":
            return [[first]]
        return [[first] if instance.features <= first.can else [], [row]]
    prices = registry.BY_NAME.get("prices")
    if len(instance.priced_pairs) and prices is not None and _suits(prices, instance) and prices.can_solve(instance):
        engines = [registry.BY_NAME[name] for name in PORTFOLIO[-1]]
        side = [registry.BY_NAME["price-bounds"]] if len(instance.priced_pairs) > _MANY_PRICES else []
        longer = [prices, *(row for row in side if _suits(row, instance))]
        few = [row for row in (registry.BY_NAME["few"],) if _suits(row, instance)]
        return [
            [replace(prices, where=prices.quick or prices.where)],
            few,
            longer,
            [row for row in engines if _suits(row, instance)],
        ]
    rows = [[registry.BY_NAME[name] for name in names] for names in PORTFOLIO]
    is_exact_next = _suits(registry.BY_NAME["exact"], instance)
    # The exact search uses all remaining time, so leave out the engines after it.
    if is_exact_next and instance.is_small_numbered and len(instance.start) <= MAX_LIFETIMES:
        rows = [[row for row in stage if not row.is_isolated] for stage in rows]
    if counts_cost(instance.objective) and len(instance.pools) > 1 and instance.is_small_numbered:
        # Beside the choice of pools, packing in orders would only take its processor time.
        rows = [[row for row in stage if row.name != "local-search"] for stage in rows]
    suited = [[row for row in stage if _suits(row, instance)] for stage in rows]
    if not any(suited):
        missing = instance.features - registry.BY_NAME["greedy"].can
        raise OptionError(f"solver: auto has no solver that supports {', '.join(sorted(missing))}")
    later = [stage for stage in suited[2 if is_exact_next else 1 :] if stage]
    return [[_OPENING] if is_exact_next else suited[0], *later]


def _suits(row: SolverRow, instance: Instance) -> bool:
    fits = row.at_least <= len(instance) and (row.at_most is None or len(instance) <= row.at_most)
    fits = fits and len(instance.pools) >= row.memories_at_least and row.must_have <= instance.features <= row.can
    if row.needs_mixed_alignments and not (fits and _has_mixed_alignments(instance)):
        return False
    return fits and (not row.needs or row.is_installed)


def _has_mixed_alignments(instance: Instance) -> bool:
    return "alignment" in instance.features and int(instance.alignment.min()) < int(instance.alignment.max())


def run(instance: Instance, search: Search, wanted: list[list[SolverRow]], named: str | None = None) -> list[Failure]:
    """Run the stages in `wanted` until the search is over, and return the failures of their solvers.

    If a solver raises an exception, a warning is given. For the solver `named`, the caller raises an error instead.
    """
    failures: list[Failure] = []
    for stage in wanted:
        if len(stage) > 1 and not search.deterministic and not search.is_over:
            _run_side_by_side(stage, instance, search, failures)
        else:
            for row in stage:
                _run_solver(row, instance, search, failures, named)
    for row in map(registry.BY_NAME.__getitem__, SECOND_OPINIONS if search.claims else ()):
        if search.has_open_claims and row.name not in search.claims and _suits(row, instance):
            _run_solver(row, instance, search, failures)
    return failures


def _run_side_by_side(stage: list[SolverRow], instance: Instance, search: Search, failures: list[Failure]) -> None:
    """Run the solvers of a stage in parallel. The first one gets a head start, which is often sufficient."""
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(solvers_beside(len(stage)), thread_name_prefix="memplan-stage") as pool:
        head_start_s = _HEAD_START_S + _HEAD_START_S_A_BUFFER * len(instance)
        running = [pool.submit(_run_solver, stage[0], instance, search, failures)]
        wait(running, timeout=0 if stage[0].is_isolated else head_start_s)
        running += [pool.submit(_run_solver, row, instance, search, failures) for row in stage[1:]]
        for done in running:
            done.result()


def _run_solver(
    row: SolverRow, instance: Instance, search: Search, failures: list[Failure], named: str | None = None
) -> None:
    """Run one solver unless the search is over, and add its failure to `failures`."""
    if search.is_over:
        return
    try:
        if row.is_isolated:
            _run_engine(row, instance, search, failures)
        else:
            row.function(instance, search)
    except UnbuiltError:  # Without the built core, no solver can run, so raise the error.
        raise
    except InvalidPlanError:  # The search has recorded why it refused the solver's result, so run the next solver.
        return
    except MemoryError as error:  # Other solvers may need less memory, so record a failure.
        failures.append(Failure(row.name, f"out of memory: {error}"))
    except Exception as error:  # noqa: BLE001 - a fault of one solver must not end the solve
        # Filters may turn warnings into errors, and the caller raises an error for the named solver, so do not warn.
        if row.name != named:
            message = f"a fault of solver {row.name}; the search continues without it: {type(error).__name__}: {error}"
            warnings.warn(message, SolverFaultWarning, stacklevel=2)
        failures.append(Failure(row.name, traceback.format_exc(limit=-3)))


def _run_engine(row: SolverRow, instance: Instance, search: Search, failures: list[Failure]) -> None:
    from memplan.solvers.portfolio.subprocess_solver import EngineError, run_isolated

    try:
        run_isolated(row, instance, search)
    except EngineError as error:
        failures.append(Failure(row.name, str(error).removeprefix(f"{row.name}: ")))
