"""A child process of the pool: it runs one task at a time, reports progress, and ends when its parent ends.

Tasks arrive on standard input; the message True or False requests the running task to end early, True for other tasks.
"""

import faulthandler
import gc
import logging.config
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from typing import Any

import numpy as np

from memplan.api.logs import count_refusals, log_config, log_context
from memplan.api.readiness import load_all
from memplan.api.workers.task import Task, TaskControl, error_report
from memplan.api.workers.template import Line, fork_always
from memplan.solvers.processes.harden import forbid_file_writing, limit_memory
from memplan.solvers.processes.parent import Parent

Ids = tuple[str | None, str | None]
"""The ids of a task's request and job, which the lines of the log carry."""
_TASKS = "memplan.api.service.request_task"
"""The module that defines most tasks; its name is a string because this layer must not import a higher one."""
_REPORT_EVERY_S, _RESULT_EVERY_S = 0.25, 1.0


class _Reporter:
    """A thread that sends the parent a task's progress several times a second, and its best result now and then."""

    def __init__(self, send: Callable[[str, Any], None], first_s: float) -> None:
        """Start the thread, which sends messages by `send(kind, value)`, the best result after `first_s` seconds."""
        self._send, self._sent_at = send, time.monotonic() + first_s - _RESULT_EVERY_S
        self._reports: list[Any] = []
        self._best: Callable[[], Any] | None = None
        self._is_done = threading.Event()
        threading.Thread(target=self._send_periodically, daemon=True).start()

    def report(self, report: Any) -> None:
        """Store a progress report, which the thread sends together with the other stored ones."""
        self._reports.append(report)

    def watch(self, best: Callable[[], Any]) -> None:
        """Send the best result so far from now on; `best` is the function that returns it."""
        self._best = best

    def end(self) -> None:
        """Send the remaining reports, and end the thread."""
        self._is_done.set()
        if reports := self._take_reports():
            self._send("progress", (reports, None))

    def _send_periodically(self) -> None:
        has_better = False
        while not self._is_done.wait(_REPORT_EVERY_S):
            reports, result = self._take_reports(), None
            has_better |= bool(reports)
            if has_better and self._best is not None and time.monotonic() - self._sent_at >= _RESULT_EVERY_S:
                result, has_better, self._sent_at = self._best(), False, time.monotonic()
            if (reports or result is not None) and not self._is_done.is_set():
                self._send("progress", (reports, result))

    def _take_reports(self) -> list[Any]:
        taken, self._reports = self._reports, []
        return taken


class _Child:
    """The child's end of the connection to the pool: one thread receives tasks, and another runs them."""

    def __init__(self, parent: Parent) -> None:
        """Use the connection to the parent; no task is running yet."""
        self._parent, self._sending, self._is_trusted = parent, threading.Lock(), True
        self._tasks: SimpleQueue[tuple[Task, TaskControl, int, int, Ids]] = SimpleQueue()

    def listen(self) -> None:
        """Receive tasks until the parent is gone; then end this process and all processes that it started."""
        control = TaskControl()
        try:
            while True:
                if isinstance(received := self._parent.next_task(), bool):
                    if received:
                        control.is_cut.set()
                    control.cancelled.set()
                else:
                    task, due, *limits = received
                    control = TaskControl(due, note=lambda found: self.send("noted", found))
                    self._tasks.put((task, control, *limits))
        except (EOFError, pickle.UnpicklingError):
            if sys.platform == "win32":
                os._exit(1)
            os.killpg(0, signal.SIGKILL)

    def work(self) -> None:
        """Run the tasks that `listen` receives, one after another, until the process ends."""
        while True:
            self._run_task(*self._tasks.get())

    def _run_task(self, task: Task, control: TaskControl, most_bytes: int, niceness: int, ids: Ids) -> None:
        """Run a task until it ends or is due, within `most_bytes` of memory; send the answer or error to the parent."""
        limit_memory(most_bytes)
        if task.is_large:
            gc.disable()  # The child ends with this task, whose many objects it would look through again and again.
        if niceness:
            os.nice(niceness)
        # If a child ends late, its caller gets the last result, which takes long to write for a large problem.
        reporter = _Reporter(self.send, _RESULT_EVERY_S if task.is_large else 0.0)
        if task.file_bytes is None:
            control = replace(control, report=reporter.report, watch=reporter.watch)
        else:
            self._is_trusted = False
            forbid_file_writing()
            faulthandler.disable()
        try:
            with log_context(*ids):
                answer = task.run(control, *task.arguments)
        except Exception as error:  # noqa: BLE001 - the parent process receives every error
            reporter.end()
            self.send_plain(*error_report(error))
        else:
            reporter.end()
            self.send("answer", answer)

    def send(self, kind: str, value: Any) -> None:
        """Send the parent a message of this kind with a pickled value, or with a packed WorkAnswer."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL) if self._is_trusted else value.pack()
        self.send_plain(kind, np.frombuffer(data, np.uint8))

    def send_plain(self, *message: Any) -> None:
        """Send the parent a message of JSON values and arrays."""
        with self._sending:
            self._parent.send([*message])


def main() -> None:
    """Run the template process, whose standard input is a socket to the parent, and the children forked from it."""
    gc.disable()  # imports make no garbage, so only the forked children collect garbage
    logging.config.dictConfig(log_config("json" if os.environ.get("MEMPLAN_LOG_FORMAT") == "json" else "text"))
    load_all()
    import_module(_TASKS)
    fork_always(Line(fileno=0))
    gc.enable()
    child = _Child(Parent(is_kept=True))
    count_refusals(partial(child.send_plain, "refused"))
    threading.Thread(target=child.listen, daemon=True).start()
    child.work()


if __name__ == "__main__":
    main()
