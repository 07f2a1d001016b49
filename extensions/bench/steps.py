"""The steps of `memplan bench`: run jobs, write result rows, print a report, and compare two files of results."""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from memplan.api.cli.streams import print_message, write_output
from memplan.extensions.bench.comparison import compare
from memplan.extensions.bench.measuring import measure
from memplan.extensions.bench.results import Result, open_for_appending, read_results, write_result
from memplan.extensions.bench.running import remaining_tasks, run
from memplan.extensions.bench.summary import Summary, text_report
from memplan.extensions.bench.worker import BenchTask


def run_all(wanted: Sequence[BenchTask], at_once: int, output: Path | None, on: str | None = None) -> list[Result]:
    """Run the jobs that have no row in the file `output`, on this machine or on the cluster `on`; return all rows.

    New rows are appended to `output`, or written to standard output if `output` is None.
    """
    with ExitStack() as stack:
        results, file = stack.enter_context(open_for_appending(output)) if output else ([], sys.stdout.buffer)
        waiting = remaining_tasks(wanted, results)
        if len(waiting) < len(wanted):
            print_message(f"{len(wanted) - len(waiting)} of {len(wanted)} runs are in {output}")
        runs, began = (
            _run_locally(stack, waiting, at_once) if on is None else _run_on_cluster(stack, waiting, on),
            time.monotonic(),
        )
        for number, result in enumerate(runs, start=1):
            write_result(file, result)
            results.append(result)
            left = (len(waiting) - number) * (time.monotonic() - began) / number
            print_message(
                f"[{number}/{len(waiting)}] {_result_text(result)}{f'; {left:.0f} s left' if left >= 1 else ''}"
            )
        return results


def _run_locally(stack: ExitStack, waiting: Sequence[BenchTask], at_once: int) -> Iterator[Result]:
    executor, cancelled = stack.enter_context(ThreadPoolExecutor(at_once)), threading.Event()
    stack.callback(cancelled.set)  # Closing the executor waits for running jobs, so cancel the jobs before.
    runs = run(waiting, lambda task: executor.submit(measure, task, cancelled.is_set), lambda: at_once)
    return (future.result() for _, future in runs)


def _run_on_cluster(stack: ExitStack, waiting: Sequence[BenchTask], on: str) -> Iterator[Result]:
    """Run jobs on the cluster `on`; return an iterator over the results. Raises OptionError if it is not usable."""
    from memplan.extensions.bench import away
    from memplan.extensions.bench.clusters import executor_on

    executor = stack.enter_context(executor_on(on))
    executor.check(partial(away.missing_packages, away.required_packages([*{task.solver: None for task in waiting}])))
    runs = run(waiting, lambda task: away.begin(executor, task), executor.max_submitted)
    return (away.row_of(executor, task, future) for task, future in runs)


def _result_text(result: Result) -> str:
    what = result.status if result.outcome == "plan" else result.outcome
    peak = "" if result.peak is None else f", {result.counts or 'peak'} {result.peak}"
    time = "" if result.wall_time_s is None else f", {result.wall_time_s:.3f} s"
    return f"{result.solver} on {result.instance}, seed {result.seed}: {what}{peak}{time}"


def report(results: Sequence[Result]) -> bool:
    """Print the report; return True if all plans are valid and none contradicts a claimed bound or infeasibility."""
    summary = Summary(results)
    print_message(text_report(summary).rstrip("\n"))
    return not summary.false_claims() and all(row.outcome != "invalid" for row in summary.rows)


def tell_comparison(old: Path, new: Path) -> bool:
    """Print the changes between two results files, and return True if none of them is a regression."""
    comparison = compare(read_results(old), read_results(new))
    for note in comparison.notes:
        print_message(note)
    if not (comparison.improvements or comparison.regressions):
        print_message(f"no change: {comparison.compared} runs of both files agree, within the tolerances")
    changes = [f"better: {sentence}" for sentence in comparison.improvements]
    changes += [f"WORSE: {sentence}" for sentence in comparison.regressions]
    write_output(None, "".join(f"{change}\n" for change in changes).encode())
    return not comparison.regressions
